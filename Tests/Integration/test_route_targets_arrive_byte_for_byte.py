"""Percent-encoding, empty segments, `;` and a bare `?` are not changed; what would leave the prefix once decoded is refused."""

import pytest

from client import get
from failures import assert_failure
from gateway import configuration
from upstream import Answer

KEPT = ["/api/queues/%2F/q", "/api/a//b", "/api/x%2520y", "/api/%E4%BD%A0", "/api/s%3Ab?q=a+b%26c", "/api/t;v=1", "/api/t?",
        "/api/a%2Fb?next=https%3A%2F%2Fh%2F", "/api/~u/!$&'()*+,=:@"]
REFUSED = ["/api/../admin", "/api/%2e%2e/admin", "/api/%2E%2e%2fadmin", "/api/x/../../admin", "/api/..%2Fadmin", "/api/%252e%252e/admin",
           "/api/a%00b", "/api/%zz"]


def test_targets_arrive_byte_for_byte(gateway, upstream):
    upstream.on("*", "/*", Answer(200, "ok"))
    gw = gateway(configuration(upstream, route={"path": "/api/*"}))
    for target in KEPT:
        assert get(gw, target).status == 200, target
    assert [request.target for request in upstream.requests] == KEPT


@pytest.mark.parametrize("target", REFUSED)
def test_what_would_leave_the_prefix_is_refused(gateway, upstream, target):
    upstream.on("*", "/*", Answer(200, "reached"))
    gw = gateway(configuration(upstream, route={"path": "/api/*"}))
    assert_failure(get(gw, target), 400, "request_malformed", "http")
    assert upstream.requests == []
