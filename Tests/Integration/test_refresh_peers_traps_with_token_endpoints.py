"""What other gateways do wrong with token endpoints, each as a test: dapr, envoy, agent-vault, x/oauth2."""

from urllib.parse import parse_qs

from client import get
from failures import assert_failure
from gateway import configuration
from upstream import Answer
from waiting import wait_until

SECRET = "the-client-secret-0123456789"


def section(url, **keys):
    return {"oauth2": {"token_endpoint": url, "client_id": "me", "client_secret": "env:SECRET", **keys}}


def start(gateway, config, *secrets):
    gw = gateway(config, env={"SECRET": SECRET}, secrets=[SECRET, *secrets])
    gw.expected_errors = [r"token|refresh"]
    return gw


def test_tokens_that_differ_in_their_endpoint_only_are_never_shared(gateway, upstream):
    """dapr: the key of the cache lacks the token URL."""
    for name in ["a", "b"]:
        upstream.on("POST", f"/token-{name}", Answer(json_body={"access_token": f"token-of-{name}-0123456789", "expires_in": 3600}))
        upstream.on("GET", f"/{name}", "ok")
    config = configuration(upstream, tokens={name: section(f"{upstream.url}/token-{name}") for name in ["a", "b"]})
    config["routes"] = [{"name": name, "path": f"/{name}", "upstream": "api", "token": name} for name in ["a", "b"]]
    gw = start(gateway, config)
    for _ in range(2):
        for name in ["a", "b"]:
            assert get(gw, f"/{name}").status == 200
            assert upstream.to(f"/{name}")[-1].all("Authorization") == [f"Bearer token-of-{name}-0123456789"]
    assert len(upstream.to("/token-a")) == len(upstream.to("/token-b")) == 1


def test_a_bad_answer_of_the_endpoint_is_asked_for_again(gateway, upstream):
    """envoy: one 200 without a token, or an empty one, and it never asks again."""
    upstream.on("POST", "/token", Answer(json_body={}), Answer(200, ""),
                Answer(json_body={"access_token": "token-at-last-0123456789", "expires_in": "3600"}))
    upstream.on("GET", "/x", "ok")
    gw = start(gateway, configuration(upstream, route={"token": "app"}, tokens={"app": section(upstream.url + "/token")}))
    response = get(gw, "/x")
    assert_failure(response, 502, "token_unavailable", "authenticationExpired", "inject")
    assert int(response.header("Retry-After")) >= 1
    wait_until(lambda: get(gw, "/x").status == 200, 20, "the recovery by itself")
    assert len(upstream.to("/token")) == 3
    log = gw.stderr()
    assert "(token_absent)" in log and "(answer_empty)" in log


def test_a_revoked_token_is_replaced_whatever_the_clock_says(gateway, upstream):
    """agent-vault: the refresh after a 401 looks at the clock, and the same dead token goes out again. (B-03)"""
    issued = []

    def grant(_):
        issued.append(f"token-{len(issued)}-0123456789")
        return Answer(json_body={"access_token": issued[-1], "expires_in": 3600})
    upstream.on("POST", "/token", grant)
    upstream.on("GET", "/x", lambda request: Answer(200, "in") if request.header("Authorization") == "Bearer token-1-0123456789"
                else Answer(401, "dead"))
    gw = start(gateway, configuration(upstream, route={"token": "app"}, tokens={"app": section(upstream.url + "/token")}))
    assert get(gw, "/x").status == 200
    assert [request.header("Authorization") for request in upstream.to("/x")] == [f"Bearer {token}" for token in issued]
    assert len(issued) == 2


def test_the_same_token_again_is_no_new_one(gateway, upstream):
    """The original 401 is the answer, and the endpoint is not asked in a circle. (B-03, A03)"""
    upstream.on("POST", "/token", Answer(json_body={"access_token": "token-for-ever-0123456789", "expires_in": 3600}))
    upstream.on("GET", "/x", Answer(401, "no"))
    gw = start(gateway, configuration(upstream, route={"token": "app"}, tokens={"app": section(upstream.url + "/token")}))
    for _ in range(3):
        response = get(gw, "/x")
        assert response.status == 401 and response.body == b"no"
    assert len(upstream.to("/x")) == 3
    assert len(upstream.to("/token")) == 2, "the first token, and one refresh for its version"


def test_a_static_token_is_never_retried(gateway, upstream):
    upstream.on("GET", "/x", Answer(401, "no"))
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": {"static": {"token": "env:SECRET"}}}),
                 env={"SECRET": SECRET}, secrets=[SECRET])
    assert get(gw, "/x").status == 401
    assert len(upstream.to("/x")) == 1


def test_empty_scopes_send_no_parameter(gateway, upstream):
    """x/oauth2 in KrakenD and Dapr: an empty list becomes `scope=`."""
    upstream.on("POST", "/token", Answer(json_body={"access_token": "token-0123456789"}))
    upstream.on("GET", "/x", "ok")
    config = configuration(upstream, route={"token": "app"}, tokens={"app": section(upstream.url + "/token", scopes=[], audience="")})
    assert get(start(gateway, config), "/x").status == 200
    form = parse_qs(upstream.to("/token")[0].body.decode(), keep_blank_values=True)
    assert set(form) == {"grant_type"}


def test_a_slow_endpoint_costs_its_timeout_and_names_it(gateway, upstream):
    import threading
    gate = threading.Event()
    upstream.on("POST", "/token", Answer(json_body={"access_token": "token-0123456789"}, gate=gate))
    upstream.on("GET", "/x", "ok")
    config = configuration(upstream, route={"token": "app"}, tokens={"app": {**section(upstream.url + "/token"), "refresh": {"timeout_ms": 200}}})
    gw = start(gateway, config)
    assert_failure(get(gw, "/x"), 502, "token_unavailable", "authenticationExpired", "inject")
    gate.set()
    assert "(timed_out)" in gw.stderr()
