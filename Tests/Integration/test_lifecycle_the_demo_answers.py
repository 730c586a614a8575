"""`cryonet demo` starts its own upstream and the gateway; what it prints can be tried; TERM ends it with 0."""

import json
import subprocess

from client import Client
from gateway import binary
from waiting import wait_until


def test_the_demo_answers(tmp_path):
    ready = tmp_path / "ready.json"
    with open(tmp_path / "out", "wb") as out:
        process = subprocess.Popen([binary(), "demo", "--listen", "127.0.0.1:0", "--ready-file", str(ready)], stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=out, cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    try:
        wait_until(lambda: ready.exists() or process.poll() is not None, 10, "ready file")
        assert process.poll() is None, (tmp_path / "out").read_text()
        port = int(json.loads(ready.read_text())["listen"][0].rpartition(":")[2])
        with Client(port) as client:
            assert client.get("/").status in (200, 404)
        wait_until(lambda: "curl" in (tmp_path / "out").read_text(), 5, "commands to try")
        process.terminate()
        assert process.wait(10) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
