"""Hidden by path, form field and cookie; the same value gets the same mark; an answer that carries a token is reported or stopped;
a long body keeps its length and digest; a client's proven identity is told."""

import gzip
import hashlib
import os
import threading
import zlib

import pytest

from client import Body, Client, Ended, get
from gateway import ENVELOPE, configuration, run_command
from upstream import STALL, Answer, chunk, script

TOKEN = "live-token-0123456789"


def gzipped(text): return gzip.compress(text, mtime=0)


def test_marks_tell_equal_values_and_nothing_else(gateway, upstream, tmp_path):
    upstream.on("POST", "/x", "ok")
    key = tmp_path / "redact.key"
    audit = {"bodies": "all", "redact": {"mode": "hmac", "hmac_key": str(key), "json": ["user.phone"], "cookies": ["sid"], "form": ["pin"]}}
    gw = gateway(configuration(upstream, audit=audit), secrets=["value-to-hide"])
    json_type, form_type = ("Content-Type", "application/json"), ("Content-Type", "application/x-www-form-urlencoded")
    get(gw, "/x?token=value-to-hide", [json_type, ("Cookie", "theme=dark; sid=value-to-hide")], "POST",
        b'{"user":{"phone":"value-to-hide"},"phone":"seen"}')
    get(gw, "/x", [form_type, ("Authorization", "Bearer value-to-hide")], "POST", b"pin=value-to-hide&x=1")
    first, second = gw.wait_audit(2)
    shown = run_command("audit", "mark", key, stdin="value-to-hide\n")
    assert shown.returncode == 0
    mark = shown.stdout.strip()
    assert mark.startswith("hmac:") and len(mark) == 37
    assert first["target"] == f"/x?token={mark}"
    assert first["request_body"] == '{"user":{"phone":"%s"},"phone":"seen"}' % mark
    assert ["Cookie", f"theme=dark; sid={mark}"] in first["request_headers"]
    assert second["request_body"] == f"pin={mark}&x=1"
    assert ["Authorization", f"Bearer {mark}"] in second["request_headers"]
    assert os.stat(key).st_mode & 0o777 == 0o600
    for words in (["--config", gw.config_file], ["--file", gw.audit_file, "--hmac-key", key]):
        found = run_command("audit", "grep", "--value-stdin", *words, stdin="value-to-hide\n")
        assert found.returncode == 0 and [line.split()[-1] for line in found.stdout.splitlines()] == ["hmac", "hmac"], found
    blind = run_command("audit", "grep", "--value-stdin", "--file", gw.audit_file, stdin="value-to-hide\n")
    assert blind.returncode == 1 and "not found" in blind.stderr
    lost = run_command("audit", "grep", "--value-stdin", "--file", gw.audit_file, "--hmac-key", "/nowhere/key", stdin="value-to-hide\n")
    assert lost.returncode == 1 and "the key of the marks, /nowhere/key" in lost.stderr and "value-to-hide" not in lost.stderr


def test_an_answer_that_carries_a_token_is_reported(gateway, upstream):
    upstream.on("GET", "/echo", Answer(200, body=f"your token is {TOKEN}".encode())).on("GET", "/quiet", "ok")
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": {"static": {"token": "env:T"}}}, secrets={"echo": "report"}),
                 env={"T": TOKEN}, secrets=[TOKEN])
    gw.expected_errors = [r"carried one of the gateway's secrets"]
    assert TOKEN.encode() in get(gw, "/echo").body
    get(gw, "/quiet")
    echoed, quiet = gw.wait_audit(2)
    assert echoed["secret_echoed"] is True and "secret_echoed" not in quiet
    assert "route api carried one of the gateway's secrets" in gw.stderr()


@pytest.mark.parametrize("mode", ["report", "block"])
@pytest.mark.parametrize("coding, encode", [("gzip", gzipped), ("deflate", zlib.compress), ("gzip, gzip", lambda text: gzipped(gzipped(text)))])
def test_a_token_behind_a_content_coding_is_seen(gateway, upstream, mode, coding, encode):
    text = ("x" * 50_000 + f" your token is {TOKEN} ").encode()
    headers = [("Content-Encoding", coding)]
    upstream.on("GET", "/echo", Answer(200, body=encode(text), headers=headers))
    upstream.on("GET", "/quiet", Answer(200, body=encode(b"x" * 50_000), headers=headers))
    upstream.on("GET", "/false", Answer(200, body=b"no such thing", headers=headers))
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": {"static": {"token": "env:T"}}}, secrets={"echo": mode}),
                 env={"T": TOKEN}, secrets=[TOKEN])
    gw.expected_errors = [r"carried one of the gateway's secrets"]
    echo = get(gw, "/echo")
    assert (echo.status, echo.body == encode(text)) == ((200, True) if mode == "report" else (502, False))
    assert get(gw, "/quiet").body == encode(b"x" * 50_000)
    assert get(gw, "/false").body == b"no such thing"
    assert [record.get("secret_echoed", False) for record in gw.wait_audit(3)] == [True, False, False]


def test_a_stream_that_is_compressed_is_cut_before_the_token_is_known(gateway, upstream):
    packer = zlib.compressobj(wbits=31)
    events = [packer.compress(text.encode()) + packer.flush(zlib.Z_SYNC_FLUSH)
              for text in ("data: one\n\n", f"data: {TOKEN[:5]}", f"{TOKEN[5:]}\n\n")]
    gate = threading.Event()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    upstream.on("GET", "/stream", script(head, chunk(events[0]), gate, chunk(events[1]), chunk(events[2]), STALL))
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": {"static": {"token": "env:T"}}}, secrets={"echo": "block"}),
                 env={"T": TOKEN}, secrets=[TOKEN])
    gw.expected_errors = [r"was stopped: it carried one of the gateway's secrets"]
    with Client(gw.port) as client:
        client.send_request("GET", "/stream")
        body = Body(client, client.read_final_head())
        assert body.at_least(len(events[0])) == events[0]
        gate.set()
        with pytest.raises(Ended):
            body.rest()
        assert bytes(body.content) == events[0]
    assert gw.wait_audit(1)[0]["secret_echoed"] is True


@pytest.mark.parametrize("policy", [None, "envelope"])
def test_an_answer_that_carries_a_token_is_stopped(gateway, upstream, policy):
    stream = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    half = len(TOKEN) // 2
    gate = threading.Event()
    upstream.on("GET", "/echo", Answer(200, json_body={"code": 0, "data": TOKEN})).on("GET", "/quiet", Answer(200, json_body={"code": 0}))
    upstream.on("GET", "/header", Answer(200, json_body={"code": 0, "data": 1}, headers=[("X-Token", TOKEN)]))
    upstream.on("GET", "/denied", Answer(403, json_body={"code": 1, "msg": TOKEN}, headers=[("Set-Cookie", f"t={TOKEN}")]))
    upstream.on("GET", "/stream", script(stream, chunk(b"data: one\n\n"), chunk(f"data: {TOKEN[:half]}".encode()), gate,
                                         chunk(f"{TOKEN[half:]}\n\n".encode()), STALL))
    route = {"token": "app", **({"policy": policy} if policy else {})}
    gw = gateway(configuration(upstream, route=route, policies={"envelope": ENVELOPE} if policy else {},
                               tokens={"app": {"static": {"token": "env:T"}}}, secrets={"echo": "block"}), env={"T": TOKEN}, secrets=[TOKEN])
    gw.expected_errors = [r"was stopped: it carried one of the gateway's secrets"]
    for target in ("/echo", "/header", "/denied"):
        response = get(gw, target)
        assert response.status == 502 and response.json()["reason"] == "secret_echoed", (target, response.body)
        assert response.complete and TOKEN.encode() not in response.body and TOKEN not in str(response.headers)
    assert get(gw, "/quiet").status == 200
    with Client(gw.port) as client:
        client.send_request("GET", "/stream")
        body = Body(client, client.read_final_head())
        assert body.at_least(17) == b"data: one\n\ndata: "
        gate.set()
        with pytest.raises(Ended):
            body.rest()
        assert bytes(body.content) == b"data: one\n\ndata: "
    records = gw.wait_audit(5)
    assert [record.get("secret_echoed", False) for record in records] == [True, True, True, False, True]
    assert [(record["failure"] or {}).get("reason") for record in records] == ["secret_echoed"] * 3 + [None, "secret_echoed"]
    assert [record["steps"]["reply"] for record in records] == ["sent"] * 4 + ["truncated"]


def test_a_long_body_keeps_its_length_and_digest(gateway, upstream):
    answer = b"y" * 9_000
    body = "ä".encode() * 5_000
    upstream.on("POST", "/x", Answer(200, body=answer))
    gw = gateway(configuration(upstream, audit={"bodies": "all", "max_body_bytes": 4095}))
    get(gw, "/x", method="POST", body=body)
    record = gw.wait_audit(1)[0]
    assert record["request_body"] == "ä" * 2047 and record["request_body_truncated"]
    assert (record["request_body_length"], record["request_body_sha256"]) == (10_000, hashlib.sha256(body).hexdigest())
    assert (record["response_body_length"], record["response_body_sha256"]) == (9_000, hashlib.sha256(answer).hexdigest())
    assert record["attempts"][0]["request_bytes"] == 10_000 and record["attempts"][0]["response_bytes"] == 9_000


def test_each_level_tells_what_it_should(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    for level, headers in (("basic", False), ("headers", True), ("bodies", False)):
        gw = gateway(configuration(upstream, audit={"level": level}))
        get(gw, "/x")
        record = gw.wait_audit(1)[0]
        assert ("request_headers" in record) == headers and "request_body" not in record
    gw = gateway(configuration(upstream, audit={"level": "off"}))
    assert get(gw, "/x").status == 200
    gw.term()
    assert gw.wait_exit() == 0
    assert gw.audit_text() == ""
