"""`strip_prefix: /api`: the rest of the target goes on byte for byte, `/api` alone becomes `/`."""

from client import get
from gateway import configuration
from upstream import Answer

TARGETS = {
    "/api": "/", "/api/": "/", "/api?a=1": "/?a=1", "/api/x/y?q=%2F": "/x/y?q=%2F",
    "/api/a//b": "/a//b", "/api/%2F/q": "/%2F/q", "/api/x%2520y": "/x%2520y",
}


def test_strip_prefix_changes_only_the_prefix(gateway, upstream):
    upstream.on("*", "/*", Answer(200, "ok"))
    gw = gateway(configuration(upstream, route={"path": "/api/*", "strip_prefix": "/api"}))
    for target in TARGETS:
        assert get(gw, target).status == 200, target
    assert [request.target for request in upstream.requests] == list(TARGETS.values())
