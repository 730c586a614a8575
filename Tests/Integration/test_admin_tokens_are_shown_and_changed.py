"""/api/tokens: state without values, refresh, login by PUT, clear; ETag on lists; every fault of a body named. (peers B28)"""

import json
import re
import threading

import pytest

from admin import Admin, sample, with_admin
from client import get
from failures import assert_failure
from gateway import configuration
from upstream import Answer
from waiting import wait_until

EXPECTED_LOG = [r"warning (token|session) ", r"a literal secret", r"NOT_SET is not set"]


def start(gateway, upstream, endpoint, tmp_path, **parts):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "ok")))
    config = configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.configuration(tmp_path / "app.json", **parts)})
    gw = gateway(with_admin(config), endpoint=endpoint)
    return gw, Admin(gw)


def test_the_list_tells_states_and_no_values(gateway, upstream, endpoint, tmp_path):
    gw, admin = start(gateway, upstream, endpoint, tmp_path)
    answer = admin.get("/api/tokens")
    [token] = answer.json()["tokens"]
    assert token["name"] == "app" and token["source"] == "login" and token["state"] == "valid" and token["version"] == 1
    assert token["routes"] == ["api"] and token["canRefresh"] is True and token["hasRefreshToken"] is True
    assert token["session"]["state"] == "authenticated" and re.match(r"^[0-9a-f-]{36}$", token["session"]["revision"])
    assert re.match(r"^[0-9a-f]{8}$", token["fingerprint"]) and token["expiresAt"] is None
    assert token["refreshes"] == {"renewed": 0, "rejected": 0, "failed": 0, "dropped": 0}
    assert token["asked"] == {} and token["store"] == {"kind": "file", "place": str(tmp_path / "app.json"), "trouble": None, "events": {}}
    for secret in endpoint.tokens:
        assert secret.encode() not in answer.body
    assert admin.token() == token


def test_a_list_that_has_not_changed_is_not_sent_again(gateway, upstream, endpoint, tmp_path):
    gw, admin = start(gateway, upstream, endpoint, tmp_path)
    for path in ("/api/tokens", "/api/sessions", "/api/config", "/api/openapi.json"):
        tag = admin.get(path).header("ETag")
        same = admin.get(path, headers=[("If-None-Match", f'"other", W/{tag}')])
        assert same.status == 304 and same.body == b"" and same.header("ETag") == tag
    tag = admin.get("/api/tokens").header("ETag")
    admin.json("POST", "/api/tokens/app/refresh")
    assert admin.get("/api/tokens", headers=[("If-None-Match", tag)]).status == 200


def test_a_refresh_on_demand_waits_for_its_end(gateway, upstream, endpoint, tmp_path):
    gw, admin = start(gateway, upstream, endpoint, tmp_path)
    before = admin.token()
    after = admin.json("POST", "/api/tokens/app/refresh")
    assert after["version"] == 2 and after["refreshes"]["renewed"] == 1 and len(endpoint.calls) == 1
    assert after["fingerprint"] != before["fingerprint"] and after["session"] == before["session"]
    assert after["expiresAt"] is not None
    assert after["asked"] == {"renewed": 1} and after["store"]["events"] == {"written": 1}
    assert get(gw, "/x").status == 200


def test_a_store_that_can_t_be_written_and_a_source_that_fails_are_told(gateway, upstream, endpoint, tmp_path):
    gw, admin = start(gateway, upstream, endpoint, tmp_path)
    (tmp_path / "app.json").mkdir()
    endpoint.answers = [Answer(200, "<html>", [("Content-Type", "text/html")])]
    assert admin.call("POST", "/api/tokens/app/refresh").status == 502
    admin.json("POST", "/api/tokens/app/refresh")
    token = admin.token()
    assert token["asked"] == {"renewed": 1, "answer_not_json": 1}
    assert token["store"]["trouble"] and token["store"]["events"]["write_failed"] >= 1
    metrics = admin.metrics()
    assert sample(metrics, "cryonet_token_store_working", token="app") == 0
    ready = admin.get("/readyz", key=False)
    assert ready.status == 503 and ready.json()["checks"]["stores"] == "failing"
    assert sample(metrics, "cryonet_token_source_outcomes_total", token="app", outcome="answer_not_json") == 1
    assert sample(metrics, "cryonet_token_store_events_total", token="app", event="write_failed") >= 1


def test_a_refused_refresh_is_told_and_ends_the_session_once(gateway, upstream, endpoint, tmp_path):
    gw, admin = start(gateway, upstream, endpoint, tmp_path)
    endpoint.answers = [Answer(json_body={"code": 40101, "msg": "no"})]
    assert_failure(admin.call("POST", "/api/tokens/app/refresh"), 409, "refresh_rejected")
    token = admin.token()
    assert token["state"] == "missing" and token["version"] is None
    wait_until(lambda: admin.session()["state"] == "unauthenticated", 5, "the end of the session")
    assert admin.session()["events"]["session_expired"] == 1


def test_an_endpoint_that_fails_leaves_the_token_and_is_asked_again_at_once(gateway, upstream, endpoint, tmp_path):
    gw, admin = start(gateway, upstream, endpoint, tmp_path)
    endpoint.answers = [Answer(503), Answer(503)]
    for number in (1, 2):
        assert_failure(admin.call("POST", "/api/tokens/app/refresh"), 502, "refresh_failed")
        assert admin.token()["refreshes"]["failed"] == number, "a person's wish does not wait for the back-off"
    assert admin.token()["version"] == 1
    assert admin.json("POST", "/api/tokens/app/refresh")["version"] == 2
    assert get(gw, "/x").status == 200


def test_what_has_no_other_token_can_not_be_refreshed(gateway, upstream):
    gw = gateway(with_admin(configuration(upstream, tokens={"app": {"env": {"name": "APP_TOKEN"}}})), env={"APP_TOKEN": "a-fixed-token"})
    assert_failure(Admin(gw).call("POST", "/api/tokens/app/refresh"), 409, "admin_refused")


def test_a_login_is_injected_kept_and_a_new_revision(gateway, upstream, endpoint, tmp_path):
    gw, admin = start(gateway, upstream, endpoint, tmp_path)
    before = admin.token()
    access, refresh = endpoint.issue()
    endpoint.access, endpoint.refresh = access, refresh
    after = admin.json("PUT", "/api/tokens/app", {"token": access, "refresh_token": refresh, "expires_in": 3600})
    assert after["version"] == before["version"] + 1 and after["session"]["revision"] != before["session"]["revision"]
    assert after["session"]["state"] == "authenticated" and after["expiresAt"] is not None
    assert get(gw, "/x").status == 200 and endpoint.calls == []
    with open(tmp_path / "app.json", encoding="utf-8") as file:
        kept = json.load(file)
    assert kept["token"] == access and kept["refresh_token"] == refresh, "a login outlives the process"
    # The next refresh uses the login's refresh token.
    endpoint.revoke()
    assert get(gw, "/x").status == 200
    assert endpoint.calls == [refresh]


def test_a_login_helps_where_there_was_no_token_at_all(gateway, upstream):
    upstream.on("GET", "/x", lambda request: Answer(200, request.header("Authorization") or "none"))
    config = configuration(upstream, route={"token": "app"}, tokens={"app": {"env": {"name": "NOT_SET"}}})
    gw = gateway(with_admin(config), secrets=["a-token-by-hand"])
    admin = Admin(gw)
    assert admin.token()["state"] == "missing" and admin.get("/readyz", key=False).status == 503
    assert_failure(get(gw, "/x"), 401, "token_missing")
    admin.json("PUT", "/api/tokens/app", {"token": "a-token-by-hand"})
    assert get(gw, "/x").body == b"Bearer a-token-by-hand"
    assert admin.get("/readyz", key=False).status == 200


@pytest.mark.parametrize("body, cause", [
    (b"", "token is missing"), (b"[]", "not a JSON object"), (b"{", "not a JSON object"), (b'{"token":""}', "is empty"),
    (b'{"token":1}', "is no text"), (b'{"token":"a\\nb"}', "control character"), (b'{"token":"a","refresh_token":""}', "is empty"),
    (b'{"token":"a","expires_in":-1}', "expires_in"), (b'{"token":"a","expires_in":true}', "expires_in"),
    (b'{"token":"a","expires_in":1e12}', "expires_in"), (b'{"token":"a","expires_in":"soon"}', "expires_in"),
])
def test_a_bad_body_changes_nothing_and_is_not_repeated(gateway, upstream, endpoint, tmp_path, body, cause):
    gw, admin = start(gateway, upstream, endpoint, tmp_path)
    before = admin.token()
    failure = assert_failure(admin.call("PUT", "/api/tokens/app", body), 400, "request_malformed")
    assert cause in failure["message"], failure["message"]
    assert admin.token() == before


def test_clear_forgets_the_token_also_on_the_disk(gateway, upstream, endpoint, tmp_path):
    gw, admin = start(gateway, upstream, endpoint, tmp_path)
    admin.json("POST", "/api/tokens/app/refresh")
    assert (tmp_path / "app.json").exists()
    after = admin.json("POST", "/api/tokens/app/clear")
    assert after["state"] == "missing" and after["session"]["state"] == "unauthenticated"
    kept = (tmp_path / "app.json").read_text()
    assert "logged_out" in kept and not any(token in kept for token in endpoint.tokens)
    assert_failure(admin.call("POST", "/api/tokens/app/clear"), 409, "admin_refused")
    # The refresh token is forgotten as well: there is nothing to ask with.
    answer = get(gw, "/x")
    assert answer.status in (401, 502) and upstream.to("/x") == []
    assert (tmp_path / "app.json").read_text() == kept


def test_a_login_during_a_refresh_wins_over_its_result(gateway, upstream, endpoint, tmp_path):
    gw, admin = start(gateway, upstream, endpoint, tmp_path)
    endpoint.gate = threading.Event()
    results = []
    waiting = threading.Thread(target=lambda: results.append(admin.call("POST", "/api/tokens/app/refresh").status), daemon=True)
    waiting.start()
    endpoint.wait_calls(1)
    admin.json("PUT", "/api/tokens/app", {"token": "the-login-of-the-user", "refresh_token": "its-refresh-token"})
    gw.secrets |= {"the-login-of-the-user", "its-refresh-token"}
    endpoint.gate.set()
    waiting.join(10)
    assert results == [200], "whoever waited has a newer token"
    token = admin.token()
    assert token["version"] == 2 and token["refreshes"]["dropped"] == 1
    with open(tmp_path / "app.json", encoding="utf-8") as file:
        kept = json.load(file)
    assert kept["token"] == "the-login-of-the-user" and kept["refresh_token"] == "its-refresh-token"
