"""The upstream's `headers` are defaults: the client's value wins, whatever its case."""

from client import get
from gateway import configuration


def test_default_headers_are_set_only_if_absent(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    config = configuration(upstream)
    config["upstreams"]["api"]["headers"] = {"X-App-Version": "1.0", "Accept-Language": "zh"}
    gw = gateway(config)
    get(gw, "/x")
    get(gw, "/x", [("x-app-version", "2.0")])
    assert [r.header("X-App-Version") for r in upstream.requests] == ["1.0", "2.0"]
    assert [r.header("Accept-Language") for r in upstream.requests] == ["zh", "zh"]
