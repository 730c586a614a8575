"""The token endpoint refuses or is broken: the client sees the original 401 and its body; a refusal is asked for only once. (V3, B-03)"""

import pytest

from client import get
from failures import assert_failure, assert_passed
from gateway import ENVELOPE, configuration, together
from token_endpoint import DEAD, TokenEndpoint
from upstream import CLOSE, Answer, script

EXPECTED_LOG = [r"warning (token|session) "]

REJECTED = Answer(json_body={"code": 40101, "msg": "gone", "data": None})
BROKEN = {
    "500": Answer(500, "oops"), "429": Answer(429, "slow down"), "empty": Answer(200, ""), "not JSON": Answer(200, "<html>"),
    "closed": script(CLOSE), "no token in it": Answer(200, json_body={"code": 0, "data": {}}),
}


def start(gateway, upstream, endpoint, policy=True):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, json_body='{"code":0}')))
    route = {"token": "app", "policy": "envelope"} if policy else {"token": "app"}
    gw = gateway(configuration(upstream, route=route, policies={"envelope": ENVELOPE},
                               tokens={"app": endpoint.configuration()}), endpoint=endpoint)
    gw.expected_errors = [r"token|refresh"]
    endpoint.revoke()
    return gw


def test_a_refusal_is_final_for_this_token(gateway, upstream, endpoint):
    endpoint.answers = [REJECTED] * 10
    gw = start(gateway, upstream, endpoint)
    failure = assert_failure(get(gw, "/x"), 401, "refresh_rejected", "authenticationExpired", statusCode=401, message="身份验证失败")
    assert failure["responseData"] == DEAD
    assert failure["retryable"] is False
    # The session has ended and its token is cleared: nothing is sent with a dead token any more.
    sent = len(upstream.requests)
    for _ in range(3):
        assert_failure(get(gw, "/x"), 401, "token_missing", "authenticationExpired", statusCode=None, message="身份验证失败")
    assert len(upstream.requests) == sent
    assert len(endpoint.calls) == 1, "a refused refresh was tried again"
    assert {record["steps"]["refresh"] for record in gw.wait_audit(4)} == {"rejected"}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_endpoint_fails_this_exchange_only(gateway, upstream, endpoint, name):
    endpoint.answers = [BROKEN[name]]
    gw = start(gateway, upstream, endpoint)
    failure = assert_failure(get(gw, "/x"), 401, "refresh_failed", "authenticationExpired", statusCode=401)
    assert failure["responseData"] == DEAD
    assert gw.wait_audit(1)[0]["steps"]["refresh"] == "failed"


def test_concurrent_requests_share_one_failed_refresh(gateway, upstream, endpoint):
    endpoint.answers = [REJECTED] * 10
    gw = start(gateway, upstream, endpoint)
    endpoint.hold_refusals_until(5)
    answers = together(5, lambda _: get(gw, "/x"))
    assert [a.status for a in answers] == [401] * 5
    assert all(a.json()["responseData"] == DEAD for a in answers)
    assert len(endpoint.calls) == 1


def test_without_a_policy_the_401_itself_is_passed(gateway, upstream, endpoint):
    endpoint.answers = [REJECTED] * 10
    gw = start(gateway, upstream, endpoint, policy=False)
    response = get(gw, "/x")
    assert_passed(response, 401, '{"e": "token is dead"}')
    assert response.header("WWW-Authenticate") == "Bearer"
    assert response.header("CryoNet-Failure") == "authenticationExpired/refresh_rejected"


def test_a_token_endpoint_that_is_silent_is_given_up_in_time(gateway, upstream, endpoint):
    from upstream import STALL
    endpoint.answers = [script(STALL)]
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    config = configuration(upstream, route={"token": "app", "policy": "envelope"}, policies={"envelope": ENVELOPE},
                           tokens={"app": endpoint.configuration(refresh={"timeout_ms": 300})})
    gw = gateway(config, endpoint=endpoint)
    gw.expected_errors = [r"token|refresh"]
    endpoint.revoke()
    assert_failure(get(gw, "/x"), 401, "refresh_failed", "authenticationExpired")


def test_invalid_grant_is_a_refusal(gateway, upstream):
    endpoint = TokenEndpoint(upstream, style="oauth2")
    endpoint.answers = [Answer(400, json_body={"error": "invalid_grant", "error_description": "revoked"})] * 10
    upstream.on("GET", "/x", endpoint.guard(Answer(200, json_body='{"code":0}')))
    secret = "the-client-secret-0123456789"
    gw = gateway(configuration(upstream, route={"token": "app", "policy": "envelope"}, policies={"envelope": ENVELOPE},
                               tokens={"app": endpoint.configuration()}),
                 endpoint=endpoint, env={"CLIENT_SECRET": secret}, secrets=[secret])
    gw.expected_errors = [r"token|refresh"]
    endpoint.revoke()
    failure = assert_failure(get(gw, "/x"), 401, "refresh_rejected", "authenticationExpired", statusCode=401)
    assert failure["responseData"] == DEAD
    for _ in range(2):
        assert_failure(get(gw, "/x"), 401, "token_missing", "authenticationExpired")
    assert len(endpoint.calls) == 1


def test_the_very_same_token_again_is_no_new_token(gateway, upstream, endpoint):
    dead = endpoint.access
    endpoint.answers = [Answer(json_body={"code": 0, "data": {"token": dead, "refreshToken": endpoint.refresh, "expiresIn": 60}})]
    gw = start(gateway, upstream, endpoint)
    assert get(gw, "/x").status == 401
    assert len(upstream.to("/x")) == 1


def test_a_403_never_refreshes(gateway, upstream, endpoint):
    upstream.on("GET", "/no", Answer(403, json_body='{"e":1}'))
    gw = gateway(configuration(upstream, route={"token": "app", "policy": "envelope"}, policies={"envelope": ENVELOPE},
                               tokens={"app": endpoint.configuration()}), endpoint=endpoint)
    assert_failure(get(gw, "/no"), 403, "upstream_status", "http", message="访问被拒绝")
    assert endpoint.calls == []


def test_a_static_token_is_never_refreshed(gateway, upstream):
    upstream.on("GET", "/x", Answer(401, json_body='{"e":1}'))
    gw = gateway(configuration(upstream, route={"token": "app", "policy": "envelope"}, policies={"envelope": ENVELOPE},
                               tokens={"app": {"static": {"token": "env:T"}}}),
                 env={"T": "static-token-01234"}, secrets=["static-token-01234"])
    failure = assert_failure(get(gw, "/x"), 401, kind="authenticationExpired", statusCode=401)
    assert failure["responseData"] == {"e": 1} and len(upstream.to("/x")) == 1
