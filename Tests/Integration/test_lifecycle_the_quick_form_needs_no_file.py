"""`cryonet proxy URL --bearer env:TOKEN --success code=0` forwards, injects and judges without a configuration file."""

import json
import subprocess

from client import Client
from failures import assert_failure
from gateway import binary
from upstream import Answer
from waiting import wait_until

TOKEN = "quick-token-0123456789"


def test_the_quick_form_needs_no_file(upstream, tmp_path):
    upstream.on("GET", "/ok", Answer(200, json_body='{"code":0}')).on("GET", "/bad", Answer(200, json_body='{"code":3,"msg":"no"}'))
    ready = tmp_path / "ready.json"
    with open(tmp_path / "out", "wb") as out:
        process = subprocess.Popen(
            [binary(), "proxy", upstream.url, "--bearer", "env:TOKEN", "--success", "code=0",
             "--listen", "127.0.0.1:0", "--ready-file", str(ready)],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TOKEN": TOKEN})
    try:
        wait_until(lambda: ready.exists() or process.poll() is not None, 10, "ready file")
        assert process.poll() is None, (tmp_path / "out").read_text()
        port = int(json.loads(ready.read_text())["listen"][0].rpartition(":")[2])
        with Client(port) as client:
            assert client.get("/ok").body == b'{"code":0}'
            assert_failure(client.get("/bad"), 422, "business_rejected", "business", businessCode=3)
        assert upstream.requests[0].all("Authorization") == [f"Bearer {TOKEN}"]
        process.terminate()
        assert process.wait(10) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert TOKEN not in (tmp_path / "out").read_text()
