"""An audit file that takes nothing and refuses nothing: traffic goes on, HUP takes the rest of the configuration, TERM ends the gateway."""

import os

from client import Client, get
from gateway import configuration, merged
from waiting import wait_until


def test_a_disk_that_hangs_holds_up_no_reload(gateway, make_upstream, tmp_path):
    one, two = make_upstream(), make_upstream()
    one.on("*", "/*", "one")
    two.on("*", "/*", "two")
    # A pipe that somebody has open and nobody reads: when it is full, a write waits for ever.
    pipe = str(tmp_path / "audit.pipe")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    elsewhere = str(tmp_path / "elsewhere.jsonl")
    gw = gateway(configuration(one, audit={"file": pipe}))
    try:
        gw.expected_errors = [r"its disk hangs", r"lines (were )?dropped"]
        with Client(gw.port) as client:
            for _ in range(200):
                assert client.get("/x").body == b"one"
        changed = merged(gw.config, {"upstreams": {"api": {"url": two.url}}})
        gw.write_config(changed)
        gw.hup()
        wait_until(lambda: get(gw, "/x").body == b"two", 5, "the new upstream")
        wait_until(lambda: "its disk hangs; it is opened anew" in gw.stderr(), 5, "a word about the disk")
        # Another file is what an operator would try next.
        gw.write_config(merged(changed, {"audit": {"file": elsewhere}}))
        gw.hup()
        wait_until(lambda: get(gw, "/x").body == b"two" and os.path.exists(elsewhere) and os.path.getsize(elsewhere), 10, "records elsewhere")
        gw.term()
        gw.wait_exit(20)
    finally:
        # What is looked through in the end; nobody can read the pipe.
        gw.config = merged(gw.config, {"audit": {"file": elsewhere}})
        os.close(reader)
