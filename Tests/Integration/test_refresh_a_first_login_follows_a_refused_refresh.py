"""login.sign_in and the password grant: the first token needs no `initial`, and a refused refresh is followed by a login, unseen by
the clients; only a refused login ends the session. A transient code ends nothing."""

from urllib.parse import parse_qs

import pytest

from client import get
from gateway import configuration, together
from token_endpoint import DEAD, TokenEndpoint
from upstream import Answer
from waiting import wait_until

EXPECTED_LOG = [r"warning (token|session) "]

PASSWORD = 'the "password" of alice & bob'


class LoginEndpoint(TokenEndpoint):
    """Beside the refresh, a login that takes the password."""

    def __init__(self, upstream, style="login"):
        super().__init__(upstream, style=style)
        self.logins = []
        self.login_answers = []
        upstream.on("POST", "/auth/login", self.login)

    def login(self, request):
        with self.lock:
            number = len(self.logins)
            self.logins.append(request)
            if number < len(self.login_answers) and self.login_answers[number]:
                return self.login_answers[number]
            self.access, self.refresh = self.issue()
            return self.grant()

    def answer(self, request):
        if self.style == "oauth2" and parse_qs(request.body.decode())["grant_type"] == ["password"]:
            return self.login(request)
        return super().answer(request)

    def environment(self):
        return {**super().environment(), "APP_PASSWORD": PASSWORD, "CLIENT_SECRET": "the-client-secret-0123456789"}

    def section(self):
        section = self.configuration()
        del section["initial"]
        if self.style == "login":
            section["login"]["sign_in"] = {"url": self.upstream.url + "/auth/login",
                                           "json": {"user": "alice", "password": "env:APP_PASSWORD"}}
            section["login"]["transient_codes"] = [50301]
        else:
            section["oauth2"].update(grant_type="password", username="alice", password="env:APP_PASSWORD")
        return section


@pytest.fixture(params=["login", "oauth2"])
def endpoint(upstream, request):
    return LoginEndpoint(upstream, request.param)


def start(gateway, upstream, endpoint):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.section()}), endpoint=endpoint,
                 secrets=[PASSWORD, "the-client-secret-0123456789"])
    gw.expected_errors = [r"token|refresh"]
    return gw


def assert_original(response, reason):
    """The upstream's own 401, as there is no policy, with the reason in its header."""
    assert response.status == 401 and response.json() == DEAD
    assert response.header("CryoNet-Failure") == f"authenticationExpired/{reason}"


def test_the_first_request_logs_in_and_the_next_refreshes(gateway, upstream, endpoint):
    gw = start(gateway, upstream, endpoint)
    assert get(gw, "/x").status == 200
    assert len(endpoint.logins) == 1
    request = endpoint.logins[0]
    if endpoint.style == "login":
        import json
        assert json.loads(request.body) == {"user": "alice", "password": PASSWORD}
    else:
        form = parse_qs(request.body.decode())
        assert form["username"] == ["alice"] and form["password"] == [PASSWORD] and "scope" not in form
    endpoint.revoke()
    assert get(gw, "/x").status == 200
    assert len(endpoint.logins) == 1 and len(endpoint.calls) == 1


def test_a_refused_refresh_is_followed_by_one_login_for_everybody(gateway, upstream, endpoint):
    gw = start(gateway, upstream, endpoint)
    assert get(gw, "/x").status == 200
    endpoint.revoke()
    endpoint.refresh = f"another-refresh-token-{endpoint.label}"
    endpoint.hold_refusals_until(5)
    assert [answer.status for answer in together(5, lambda _: get(gw, "/x"))] == [200] * 5
    assert len(endpoint.calls) == 1 and len(endpoint.logins) == 2
    assert "expired, log in again" not in gw.stderr()


def test_a_refused_login_ends_the_session(gateway, upstream, endpoint):
    gw = start(gateway, upstream, endpoint)
    assert get(gw, "/x").status == 200
    endpoint.revoke()
    endpoint.refresh = f"another-refresh-token-{endpoint.label}"
    endpoint.login_answers = [None] + [endpoint.refusal()] * 20
    assert_original(get(gw, "/x"), "refresh_rejected")
    wait_until(lambda: "expired, log in again" in gw.stderr(), 5, "the end of the session in the log")


def test_a_transient_answer_ends_nothing(gateway, upstream, endpoint):
    gw = start(gateway, upstream, endpoint)
    assert get(gw, "/x").status == 200
    endpoint.revoke()
    busy = Answer(json_body={"code": 50301, "msg": "busy"}) if endpoint.style == "login" else \
        Answer(400, json_body={"error": "temporarily_unavailable"})
    endpoint.answers = [busy]
    assert_original(get(gw, "/x"), "refresh_failed")
    wait_until(lambda: get(gw, "/x").status == 200, 15, "the next try")
    assert len(endpoint.logins) == 1
    assert "expired, log in again" not in gw.stderr()
