"""TERM right after the last answer: every record is in the file when the process has ended."""

from client import Client
from gateway import configuration


def test_everything_is_flushed_at_the_exit(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        for _ in range(300):
            assert client.get("/x").status == 200
        gw.term()
        assert gw.wait_exit() == 0
    assert len(gw.audit()) == 300
    assert gw.audit_text().endswith("\n")
