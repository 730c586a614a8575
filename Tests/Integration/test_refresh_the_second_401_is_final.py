"""A 401 that a refresh does not repair: two attempts, one refresh, the second 401 with its body; the new token is kept. (B-02)"""

from client import get
from failures import assert_failure, assert_passed
from gateway import ENVELOPE, configuration
from upstream import Answer

REFUSED = '{"e":"wrong tenant"}'


def start(gateway, upstream, endpoint, policy):
    upstream.on("GET", "/forbidden", Answer(401, json_body=REFUSED)).on("GET", "/ok", endpoint.guard(Answer(200, json_body='{"code":0}')))
    route = {"token": "app", "policy": "envelope"} if policy else {"token": "app"}
    return gateway(configuration(upstream, route=route, policies={"envelope": ENVELOPE},
                                 tokens={"app": endpoint.configuration()}), endpoint=endpoint)


def test_under_a_policy(gateway, upstream, endpoint):
    gw = start(gateway, upstream, endpoint, True)
    failure = assert_failure(get(gw, "/forbidden"), 401, "upstream_status", "authenticationExpired", statusCode=401, attempts=2,
                             origin="upstream", message="身份验证失败")
    assert failure["responseData"] == {"e": "wrong tenant"}
    assert len(upstream.to("/forbidden")) == 2 and len(endpoint.calls) == 1
    assert get(gw, "/ok").status == 200
    assert len(endpoint.calls) == 1, "the good token was thrown away"


def test_without_a_policy_the_upstream_s_own_answer_passes(gateway, upstream, endpoint):
    gw = start(gateway, upstream, endpoint, False)
    assert_passed(get(gw, "/forbidden"), 401, REFUSED)
    assert len(upstream.to("/forbidden")) == 2 and len(endpoint.calls) == 1


def test_useless_refreshes_are_bounded_by_the_window(gateway, upstream, endpoint):
    gw = start(gateway, upstream, endpoint, True)
    for _ in range(12):
        assert get(gw, "/forbidden").status == 401
    assert len(endpoint.calls) <= 5, f"{len(endpoint.calls)} refreshes within the window of 30 s"
    assert "window_exceeded" in [record["steps"]["refresh"] for record in gw.wait_audit(12)]
    assert get(gw, "/ok").status == 200
