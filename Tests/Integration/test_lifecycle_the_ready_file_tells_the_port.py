"""The ready file is JSON with the bound address and the process id, written when connections are accepted; no admin: null."""

import json
import os

from client import get
from gateway import configuration


def test_the_ready_file_tells_the_port(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    with open(gw.ready_file, encoding="utf-8") as file:
        ready = json.load(file)
    assert ready == {"listen": [f"127.0.0.1:{gw.port}"], "admin": None, "pid": gw.pid}
    assert gw.port > 0 and get(gw, "/x").status == 200
    assert not [name for name in os.listdir(gw.folder) if name.startswith("ready.json.")]
