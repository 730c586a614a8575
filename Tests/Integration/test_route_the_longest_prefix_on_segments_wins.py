"""Routing by path: exact before prefix, longer before shorter, only on segment borders; nothing fits: 404 in words."""

import pytest

from client import get
from failures import assert_failure
from gateway import configuration
from upstream import Answer

TABLE = {
    "/api": "api", "/api/": "api", "/api/x": "api", "/api/v2": "v2", "/api/v2/x?y=1": "v2", "/api/v22": "api",
    "/exact": "exact", "/apix": None, "/exact/x": None, "/": None,
}


@pytest.fixture
def routed(gateway, make_upstream):
    ups = {name: make_upstream() for name in ("api", "v2", "exact")}
    for name, up in ups.items():
        up.on("*", "/*", lambda request, name=name: Answer(200, f"{name} {request.target}"))
    config = configuration(ups["api"])
    config["upstreams"] = {name: {"url": up.url} for name, up in ups.items()}
    config["routes"] = [
        {"name": "api", "path": "/api/*", "upstream": "api"},
        {"name": "v2", "path": "/api/v2/*", "upstream": "v2"},
        {"name": "exact", "path": "/exact", "upstream": "exact"},
    ]
    return gateway(config)


def test_the_longest_prefix_on_segments_wins(routed):
    for target, name in TABLE.items():
        response = get(routed, target)
        if name:
            assert response.body.decode() == f"{name} {target}", target
        else:
            failure = assert_failure(response, 404, "route_not_found", "http", "route", statusCode=None, attempts=0)
            assert failure["route"] is None
    records = routed.wait_audit(len(TABLE))
    assert {r["target"]: r["route"] for r in records} == TABLE
