"""Sessions: one end however many failures, late failures of an older login ignored, several tokens under one login. (V10, ledger §E)"""

import threading

from admin import Admin, with_admin
from client import Client, get
from failures import assert_failure
from gateway import ENVELOPE, configuration, together
from token_endpoint import DEAD, TokenEndpoint
from upstream import Answer
from waiting import wait_until

EXPECTED_LOG = [r"warning (token|session) ", r"a literal secret", r"NOT_SET is not set"]

REFUSAL = {"code": 40101, "msg": "no"}


def start(gateway, upstream, endpoint, **sections):
    config = configuration(upstream, route={"token": "app", "policy": "p"}, policies={"p": ENVELOPE},
                           tokens={"app": endpoint.configuration()}, **sections)
    gw = gateway(with_admin(config), endpoint=endpoint)
    return gw, Admin(gw)


def test_v10_a_many_failures_end_one_login_once(gateway, upstream, endpoint):
    upstream.on("GET", "/x", endpoint.guard(Answer(json_body={"code": 0})))
    gw, admin = start(gateway, upstream, endpoint)
    first = admin.session()
    endpoint.revoke()
    endpoint.answers = [Answer(json_body=REFUSAL)]
    endpoint.hold_refusals_until(5)
    answers = together(5, lambda _: get(gw, "/x"))
    for answer in answers:
        assert_failure(answer, 401, "refresh_rejected", authenticationRevision=first["revision"])
    wait_until(lambda: admin.session()["state"] == "unauthenticated", 5, "the end of the session")
    after = admin.session()
    assert after["events"]["session_expired"] == 1 and after["revision"] != first["revision"]
    assert gw.stderr().count("session app: expired") == 1
    assert len(endpoint.calls) == 1


def test_v10_b_a_late_failure_of_an_older_login_does_not_end_the_newer(gateway, upstream, endpoint):
    gate = threading.Event()
    upstream.on("GET", "/slow", Answer(401, json_body=DEAD, gate=gate))
    upstream.on("GET", "/x", lambda request: Answer(json_body={"code": 0, "seen": request.header("Authorization")}))
    gw, admin = start(gateway, upstream, endpoint)
    first = admin.session()["revision"]
    with Client(gw.port) as client:
        client.send_request("GET", "/slow")
        upstream.wait_requests(1, "/slow")
        admin.json("PUT", "/api/tokens/app", {"token": "the-token-of-the-second-login"})
        gw.secrets.add("the-token-of-the-second-login")
        second = admin.token()
        gate.set()
        failure = assert_failure(client.read_response(), 401)
    assert failure["authenticationRevision"] == first != second["session"]["revision"]
    after = admin.token()
    assert after["session"] == second["session"] and after["version"] == second["version"]
    assert admin.session()["events"] == {"session_began": 1, "session_expired": 0, "session_logged_out": 0}
    assert get(gw, "/x").json()["seen"] == "Bearer the-token-of-the-second-login"
    assert endpoint.calls == [], "an older login's failure asks for no refresh of the newer one"


def test_v10_c_a_failure_without_a_login_ends_nothing(gateway, upstream, endpoint):
    gate = threading.Event()
    upstream.on("GET", "/slow", Answer(401, json_body=DEAD, gate=gate))
    gw, admin = start(gateway, upstream, endpoint)
    first = admin.session()["revision"]
    with Client(gw.port) as client:
        client.send_request("GET", "/slow")
        upstream.wait_requests(1, "/slow")
        admin.json("POST", "/api/sessions/app/logout")
        gate.set()
        assert_failure(client.read_response(), 401, authenticationRevision=first)
    wait_until(lambda: admin.session()["state"] == "unauthenticated", 5, "the end of the logout")
    assert admin.session()["events"] == {"session_began": 0, "session_expired": 0, "session_logged_out": 1}


def test_a_logout_of_an_older_login_is_refused(gateway, upstream, endpoint):
    gw, admin = start(gateway, upstream, endpoint)
    first = admin.session()["revision"]
    admin.json("POST", "/api/sessions/app/login", {"token": "another-login-of-the-user"})
    gw.secrets.add("another-login-of-the-user")
    assert_failure(admin.call("POST", "/api/sessions/app/logout", {"revision": first}), 409, "admin_refused")
    current = admin.session()["revision"]
    admin.json("POST", "/api/sessions/app/logout", {"revision": current})
    assert_failure(admin.call("POST", "/api/sessions/app/logout"), 409, "admin_refused")
    assert_failure(admin.call("POST", "/api/sessions/nobody/logout"), 404, "route_not_found")


def shared(gateway, upstream):
    one, two = TokenEndpoint(upstream, "/auth/one"), TokenEndpoint(upstream, "/auth/two")
    upstream.on("GET", "/one", one.guard(Answer(json_body={"code": 0, "data": "one"})))
    upstream.on("GET", "/two", two.guard(Answer(json_body={"code": 0, "data": "two"})))
    tokens = {}
    for name, endpoint in (("one", one), ("two", two)):
        tokens[name] = endpoint.configuration(session="user", initial={
            "token": f"env:{name.upper()}_TOKEN", "refresh_token": f"env:{name.upper()}_REFRESH"})
    config = configuration(upstream, tokens=tokens, policies={"p": ENVELOPE})
    config["routes"] = [{"name": name, "path": f"/{name}", "upstream": "api", "token": name, "policy": "p"} for name in tokens]
    env = {"ONE_TOKEN": one.tokens[0], "ONE_REFRESH": one.tokens[1], "TWO_TOKEN": two.tokens[0], "TWO_REFRESH": two.tokens[1]}
    gw = gateway(with_admin(config), env=env, secrets=list(env.values()))
    return gw, Admin(gw), one, two


def test_tokens_of_one_session_share_its_revision_and_its_end(gateway, upstream):
    gw, admin, one, two = shared(gateway, upstream)
    session = admin.session("user")
    assert sorted(session["tokens"]) == ["one", "two"] and session["state"] == "authenticated"
    assert admin.token("one")["session"] == admin.token("two")["session"]
    assert get(gw, "/one").json()["data"] == "one" and get(gw, "/two").json()["data"] == "two"
    one.revoke()
    one.answers = [Answer(json_body=REFUSAL)]
    assert_failure(get(gw, "/one"), 401, "refresh_rejected", authenticationRevision=session["revision"])
    wait_until(lambda: admin.session("user")["state"] == "unauthenticated", 5, "the end of the session")
    assert admin.token("two")["state"] == "missing", "the login is over for all of its tokens"
    assert admin.session("user")["events"]["session_expired"] == 1


def test_one_login_call_sets_all_tokens_of_a_session(gateway, upstream):
    gw, admin, one, two = shared(gateway, upstream)
    before = admin.session("user")["revision"]
    for endpoint in (one, two):
        endpoint.access, endpoint.refresh = endpoint.issue()
        gw.secrets |= set(endpoint.tokens)
    after = admin.json("POST", "/api/sessions/user/login", {"tokens": {
        "one": {"token": one.access, "refresh_token": one.refresh}, "two": {"token": two.access, "refresh_token": two.refresh}}})
    assert after["revision"] != before and after["state"] == "authenticated"
    assert admin.token("one")["session"] == admin.token("two")["session"]
    assert get(gw, "/one").json()["data"] == "one" and get(gw, "/two").json()["data"] == "two"
    assert_failure(admin.call("POST", "/api/sessions/user/login", {"token": "whose"}), 400, "request_malformed")
    assert_failure(admin.call("POST", "/api/sessions/user/login", {"tokens": {"three": {"token": "x"}}}), 400, "request_malformed")


def test_a_token_set_alone_takes_its_siblings_along(gateway, upstream):
    gw, admin, one, two = shared(gateway, upstream)
    one.access, one.refresh = one.issue()
    gw.secrets |= set(one.tokens)
    admin.json("PUT", "/api/tokens/one", {"token": one.access, "refresh_token": one.refresh})
    assert admin.token("one")["session"] == admin.token("two")["session"]
    assert admin.token("two")["version"] == 1
    assert get(gw, "/two").json()["data"] == "two"
