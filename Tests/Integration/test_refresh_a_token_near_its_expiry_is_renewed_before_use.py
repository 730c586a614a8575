"""before_expiry_s, at most a fifth of the life: a token in use is renewed in the background before it ends, an idle one is let end;
while the endpoint is down a valid token is used, an expired one never. (agent-vault and onecli in the list of peers' traps)"""

import time

from client import get
from failures import assert_failure
from gateway import configuration
from upstream import Answer
from waiting import wait_until

# The shortest life with an early refresh: one second before its end.
LIFE_SECONDS = 5


def start(gateway, upstream, endpoint, life=LIFE_SECONDS, **refresh):
    """A gateway whose first token comes from the endpoint at the first use."""
    endpoint.expires_in = life
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    section = endpoint.configuration(refresh=refresh, initial={"refresh_token": "env:APP_REFRESH_TOKEN"})
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": section}), endpoint=endpoint)
    gw.expected_errors = [r"token|refresh"]
    return gw


def test_a_used_token_is_renewed_without_another_request(gateway, upstream, endpoint):
    gw = start(gateway, upstream, endpoint)
    assert get(gw, "/x").status == 200
    issued = time.monotonic()
    wait_until(lambda: gw.stderr().count("renewed") >= 2, 20, "the renewal that nobody asked for")
    assert time.monotonic() - issued > 2, "a fifth of the life at most"
    assert get(gw, "/x").status == 200
    assert endpoint.refused == 0


def test_an_idle_token_is_let_end(gateway, upstream, endpoint):
    gw = start(gateway, upstream, endpoint)
    assert get(gw, "/x").status == 200
    # The renewed token is used by nobody: there is no third call.
    wait_until(lambda: len(endpoint.calls) == 2, 20, "the renewal of the used token")
    renewed = time.monotonic()
    wait_until(lambda: time.monotonic() - renewed > LIFE_SECONDS + 1.5, 20, "the idle token's end")
    assert len(endpoint.calls) == 2
    assert get(gw, "/x").status == 200
    assert len(endpoint.calls) == 3
    assert endpoint.refused == 0


def test_a_valid_token_is_used_while_the_endpoint_is_down_and_an_expired_one_never(gateway, upstream, endpoint):
    gw = start(gateway, upstream, endpoint)
    endpoint.answers = [None] + [Answer(500, "down")] * 200
    assert get(gw, "/x").status == 200
    issued = time.monotonic()
    # The early refresh fails, and the token goes on working.
    wait_until(lambda: len(endpoint.calls) >= 2, 20, "the early refresh")
    if time.monotonic() - issued < LIFE_SECONDS - 1.5:
        assert get(gw, "/x").status == 200
    response = wait_until(lambda: (r := get(gw, "/x")).status != 200 and r, 20, "the token's end")
    assert time.monotonic() - issued > 2
    assert_failure(response, 502, "token_unavailable", "authenticationExpired", "inject")
    sent = len(upstream.to("/x"))
    for _ in range(3):
        assert get(gw, "/x").status == 502
    assert len(upstream.to("/x")) == sent, "an expired token was sent"
    # It recovers by itself.
    endpoint.answers = []
    wait_until(lambda: get(gw, "/x").status == 200, 40, "the recovery")
    assert endpoint.refused == 0


def test_a_jwt_tells_its_own_end(gateway, upstream, endpoint):
    """Without expires_in; the endpoint's clock is an hour ahead of ours and the token's exp is by that clock."""
    import base64
    import json
    from email.utils import formatdate

    def jwt(end):
        claims = base64.urlsafe_b64encode(json.dumps({"exp": end, "n": len(endpoint.calls)}).encode()).decode().rstrip("=")
        return f"e30.{claims}.signature-{endpoint.label}"

    def grant(request):
        endpoint.calls.append(None)
        theirs = int(time.time()) + 3600
        endpoint.access = jwt(theirs + LIFE_SECONDS)
        endpoint.tokens.append(endpoint.access)
        return Answer(json_body={"access_token": endpoint.access}, headers=[("Date", formatdate(theirs, usegmt=True))])
    upstream.on("POST", "/token", grant)
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    section = {"oauth2": {"token_endpoint": upstream.url + "/token", "client_id": "me", "client_secret": "env:APP_TOKEN"}}
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": section}), endpoint=endpoint)
    assert get(gw, "/x").status == 200
    issued = time.monotonic()
    wait_until(lambda: len(endpoint.calls) >= 2, 20, "the renewal")
    assert time.monotonic() - issued > 2
