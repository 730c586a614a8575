"""Two routes with the same path differ by host, two by method; no fitting method is 404 or 405 in words."""

from client import get
from gateway import configuration
from upstream import Answer


def test_host_and_method_choose_too(gateway, make_upstream):
    ups = [make_upstream() for _ in range(3)]
    for number, up in enumerate(ups):
        up.on("*", "/*", Answer(200, f"upstream {number}"))
    config = configuration(ups[0], listen={"hosts": ["127.0.0.1", "one.test", "two.test"]})
    config["upstreams"] = {f"u{number}": {"url": up.url} for number, up in enumerate(ups)}
    config["routes"] = [
        {"name": "one", "host": "one.test", "path": "/*", "upstream": "u0"},
        {"name": "reads", "path": "/m/*", "methods": ["GET", "HEAD"], "upstream": "u1"},
        {"name": "writes", "path": "/m/*", "methods": ["POST"], "upstream": "u2"},
    ]
    gw = gateway(config)
    assert get(gw, "/m/x", host="one.test").body in (b"upstream 0", b"upstream 1")
    assert get(gw, "/other", host=f"ONE.test:{gw.port}").body == b"upstream 0"
    assert get(gw, "/other", host="two.test").status == 404
    assert get(gw, "/m/x").body == b"upstream 1"
    assert get(gw, "/m/x", method="POST", body=b"a").body == b"upstream 2"
    assert get(gw, "/m/x", method="DELETE").status in (404, 405)
