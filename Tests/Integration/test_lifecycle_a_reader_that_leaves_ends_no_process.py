"""SIGPIPE ends nothing: clients that leave in the middle of much, an upstream that closes under an upload, a log whose reader has gone; the
commands end silently when their reader does. (B-28, A24)
"""

import os
import subprocess

import pytest

from client import Client, get
from gateway import Gateway, binary, configuration, sanitizer_environment, together
from upstream import CLOSE, Answer, script

TEN_MEGABYTES = 10 << 20


def test_two_hundred_clients_that_ask_for_much_and_leave(gateway, upstream):
    # No answer is written before its client has gone: every write meets a closed connection.
    upstream.on("GET", "/ten", Answer(200, bytes(TEN_MEGABYTES))).on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    assert get(gw, "/x").status == 200

    def leave(index):
        for turn in range(10):
            client = Client(gw.port)
            client.send_request("GET", "/ten")
            if turn % 2:
                client.receive()
            client.reset() if (index + turn) % 3 else client.close()
    together(20, leave)
    records = gw.wait_audit(201, 30)
    assert {record["failure"]["reason"] for record in records[1:]} == {"client_gone"}
    assert get(gw, "/x").status == 200


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_an_upstream_that_closes_under_an_upload(gateway, upstream, framing):
    upstream.on("POST", "/up", script(CLOSE), early=True).on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, workers=1))
    field = ("Content-Length", str(TEN_MEGABYTES)) if framing == "length" else ("Transfer-Encoding", "chunked")
    for _ in range(20):
        with Client(gw.port) as client:
            client.send_request("POST", "/up", [field])
            try:
                if framing == "chunked":
                    client.send(b"%x\r\n" % TEN_MEGABYTES)
                client.send(bytes(TEN_MEGABYTES))
            except ConnectionError:
                pass
    assert get(gw, "/x").status == 200
    records = gw.wait_audit(21, 10)
    assert all(record["status"] in (502, 499) for record in records[:20])


def test_a_log_whose_reader_has_gone(upstream, tmp_path):
    upstream.on("GET", "/x", "ok")
    gw = Gateway(configuration(upstream), tmp_path, start=False)
    command = [binary(), "run", "--config", gw.config_file, "--ready-file", gw.ready_file]
    gw.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=gw.env,
                                  cwd=gw.folder)
    gw.wait_ready()
    gw.process.stdout.close()
    gw.process.stderr.close()
    for _ in range(3):
        # Each one is a line for nobody.
        gw.hup()
        assert get(gw, "/x").body == b"ok"
    gw.finish()
    assert len(gw.audit()) == 3


@pytest.mark.parametrize("arguments", [["schema"], ["config", "--config", "{config}"], ["--help"]], ids=lambda arguments: arguments[0])
def test_a_command_whose_reader_has_gone_ends_silently(upstream, tmp_path, arguments):
    gw = Gateway(configuration(upstream), tmp_path, start=False)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        process = subprocess.run([binary(), *(part.format(config=gw.config_file) for part in arguments)], stdout=writing,
                                 stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=20,
                                 env={"PATH": "/usr/bin:/bin", "HOME": gw.folder, **sanitizer_environment()})
    finally:
        os.close(writing)
    # Ended by the signal, or by itself: without a word about it, and without a trap.
    assert process.returncode in (0, 1, -13), process.stderr
    assert process.stderr == b""
