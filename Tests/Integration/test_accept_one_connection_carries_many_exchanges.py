"""Keep-alive: three requests with different methods on one client connection, one upstream connection is enough.

The gateway must not close, must not announce a close, and must use its pooled upstream connection again.
"""

from client import Client
from gateway import configuration
from upstream import Answer


def test_one_connection_carries_many_exchanges(gateway, upstream):
    upstream.on("GET", "/a", "one").on("POST", "/b", Answer(201, "two")).on("DELETE", "/c", Answer(204))
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        first, second = client.get("/a"), client.request("POST", "/b", body="x=1")
        third = client.request("DELETE", "/c")
        assert [(r.status, r.body) for r in (first, second, third)] == [(200, b"one"), (201, b"two"), (204, b"")]
        assert not any(r.closes() for r in (first, second, third))
    assert [r.connection for r in upstream.requests] == [1, 1, 1]
    records = gw.wait_audit(3)
    assert [r["attempts"][0]["reused"] for r in records] == [False, True, True]
