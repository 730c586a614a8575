"""`cryonet proxy URL --bearer env:TOKEN --success code=0` forwards, injects and judges without a configuration file; HUP opens its audit
file anew; a second TERM ends it at once.
"""

import contextlib
import json
import os
import signal
import subprocess
import threading

from client import Client
from failures import assert_failure
from gateway import binary, records_of, instrument_environment
from upstream import Answer
from waiting import wait_until

TOKEN = "quick-token-0123456789"


@contextlib.contextmanager
def proxy(upstream, folder, *arguments):
    """The running process, its port and a function that reads its output."""
    ready, out = folder / "ready.json", folder / "out"
    with open(out, "wb") as file:
        process = subprocess.Popen(
            [binary(), "proxy", upstream.url, "--bearer", "env:TOKEN", "--success", "code=0",
             "--listen", "127.0.0.1:0", "--ready-file", str(ready), *arguments],
            stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=folder,
            env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "TOKEN": TOKEN, **instrument_environment()})
    try:
        wait_until(lambda: ready.exists() or process.poll() is not None, 10, "ready file")
        assert process.poll() is None, out.read_text()
        yield process, int(json.loads(ready.read_text())["listen"][0].rpartition(":")[2]), out.read_text
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_the_quick_form_needs_no_file(upstream, tmp_path):
    upstream.on("GET", "/ok", Answer(200, json_body='{"code":0}')).on("GET", "/bad", Answer(200, json_body='{"code":3,"msg":"no"}'))
    with proxy(upstream, tmp_path) as (process, port, output):
        with Client(port) as client:
            assert client.get("/ok").body == b'{"code":0}'
            assert_failure(client.get("/bad"), 422, "business_rejected", "business", businessCode=3)
        assert upstream.requests[0].all("Authorization") == [f"Bearer {TOKEN}"]
        process.terminate()
        assert process.wait(10) == 0
        assert TOKEN not in output()


def test_hup_opens_the_audit_file_anew(upstream, tmp_path):
    upstream.on("GET", "/ok", Answer(200, json_body='{"code":0}'))
    audit, moved = tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.1"
    with proxy(upstream, tmp_path, "--audit", str(audit)) as (process, port, output):
        with Client(port) as client:
            client.get("/ok")
            wait_until(lambda: len(records_of(audit.read_text())) == 1, 5, "the first record")
            os.rename(audit, moved)
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: "audit file reopened" in output(), 5, "a line about the audit file")
            client.get("/ok")
        process.terminate()
        assert process.wait(10) == 0
    assert len(records_of(moved.read_text())) == 1 and len(records_of(audit.read_text())) == 1


def test_a_second_term_ends_at_once(upstream, tmp_path):
    never = threading.Event()
    upstream.on("GET", "/slow", Answer(200, json_body='{"code":0}', gate=never))
    with proxy(upstream, tmp_path) as (process, port, output):
        with Client(port) as client:
            client.send_request("GET", "/slow")
            upstream.wait_requests(1)
            process.terminate()
            wait_until(lambda: "draining" in output(), 5, "a line about the drain")
            assert process.poll() is None
            process.terminate()
            assert process.wait(10) == 0
            client.assert_closed()
    never.set()
