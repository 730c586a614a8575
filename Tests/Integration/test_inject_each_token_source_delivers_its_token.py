"""static, env, file (re-read on change), oauth2 client_credentials: each delivers the token; what fails is said in the table's words."""

import os
from urllib.parse import parse_qs

from client import get
from failures import assert_failure
from gateway import configuration
from upstream import Answer

TOKEN = "the-token-of-the-source-0123456789"


def authorization(gw, upstream):
    assert get(gw, "/x").status == 200
    return upstream.to("/x")[-1].header("Authorization")


def with_token(upstream, section):
    upstream.on("GET", "/x", "ok")
    return configuration(upstream, route={"token": "app"}, tokens={"app": section})


def test_static(gateway, upstream):
    gw = gateway(with_token(upstream, {"static": {"token": TOKEN}}), secrets=[TOKEN])
    gw.expected_errors = ["a literal secret"]
    assert authorization(gw, upstream) == f"Bearer {TOKEN}"


def test_env(gateway, upstream):
    gw = gateway(with_token(upstream, {"env": {"name": "MY_TOKEN"}}), env={"MY_TOKEN": TOKEN}, secrets=[TOKEN])
    assert authorization(gw, upstream) == f"Bearer {TOKEN}"


def test_a_file_is_read_again_when_it_changes(gateway, upstream, tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    gw = gateway(with_token(upstream, {"file": {"path": str(path)}}), secrets=[TOKEN, "second-" + TOKEN])
    assert authorization(gw, upstream) == f"Bearer {TOKEN}"
    fresh = tmp_path / "token.new"
    fresh.write_text("second-" + TOKEN)
    os.rename(fresh, path)
    from waiting import wait_until
    wait_until(lambda: authorization(gw, upstream) == f"Bearer second-{TOKEN}", 5, "the new token of the file")


def test_a_file_that_changed_repairs_a_401(gateway, upstream, tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN)
    fresh = "second-" + TOKEN
    config = with_token(upstream, {"file": {"path": str(path)}})

    def check(request):
        if request.header("Authorization") == f"Bearer {fresh}":
            return Answer(200, "in")
        replacement = tmp_path / "token.new"
        replacement.write_text(fresh)
        os.rename(replacement, path)
        return Answer(401, "dead")
    upstream.on("GET", "/x", check)
    gw = gateway(config, secrets=[TOKEN, fresh])
    assert get(gw, "/x").status == 200


def test_a_missing_file_is_token_unavailable(gateway, upstream, tmp_path):
    gw = gateway(with_token(upstream, {"file": {"path": str(tmp_path / "nothing")}}))
    gw.expected_errors = [r"token|nothing"]
    response = get(gw, "/x")
    assert response.status in (401, 502)
    assert_failure(response, response.status, "token_unavailable" if response.status == 502 else "token_missing",
                   "authenticationExpired", "inject")
    assert upstream.requests == []


def test_oauth2_client_credentials(gateway, upstream):
    seen = []

    def grant(request):
        seen.append((request, parse_qs(request.body.decode())))
        return Answer(json_body={"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600})
    upstream.on("POST", "/oauth/token", grant)
    section = {"oauth2": {"grant_type": "client_credentials", "token_endpoint": upstream.url + "/oauth/token", "client_id": "me",
                          "client_secret": "env:SECRET", "scopes": ["read", "write"]}}
    secret = "the-client-secret-0123456789"
    gw = gateway(with_token(upstream, section), env={"SECRET": secret}, secrets=[TOKEN, secret])
    assert authorization(gw, upstream) == f"Bearer {TOKEN}"
    assert authorization(gw, upstream) == f"Bearer {TOKEN}"
    assert len(seen) == 1
    request, form = seen[0]
    assert form["grant_type"] == ["client_credentials"] and form["scope"] == ["read write"]
    assert request.header("Content-Type").startswith("application/x-www-form-urlencoded")
    assert form.get("client_secret") == [secret] or (request.header("Authorization") or "").startswith("Basic ")


def test_a_token_endpoint_that_fails_is_token_unavailable(gateway, upstream):
    upstream.on("POST", "/oauth/token", Answer(500, "down"))
    section = {"oauth2": {"grant_type": "client_credentials", "token_endpoint": upstream.url + "/oauth/token", "client_id": "me",
                          "client_secret": "env:SECRET"}}
    gw = gateway(with_token(upstream, section), env={"SECRET": "the-client-secret-0123456789"}, secrets=["the-client-secret-0123456789"])
    gw.expected_errors = [r"token"]
    response = get(gw, "/x")
    assert_failure(response, 502, "token_unavailable", "authenticationExpired", "inject", attempts=0)
    assert response.header("Retry-After")
    assert upstream.to("/x") == []


def test_a_redirect_of_the_token_endpoint_gets_no_secret(gateway, make_upstream):
    upstream, thief = make_upstream(), make_upstream()
    thief.on("*", "/*", Answer(json_body={"access_token": "evil-token-0123", "token_type": "Bearer"}))
    upstream.on("POST", "/oauth/token", Answer(307, "", [("Location", thief.url + "/steal")]))
    section = {"oauth2": {"grant_type": "client_credentials", "token_endpoint": upstream.url + "/oauth/token", "client_id": "me",
                          "client_secret": "env:SECRET"}}
    gw = gateway(with_token(upstream, section), env={"SECRET": "the-client-secret-0123456789"}, secrets=["the-client-secret-0123456789"])
    gw.expected_errors = [r"token"]
    assert get(gw, "/x").status == 502
    assert thief.connections == []
