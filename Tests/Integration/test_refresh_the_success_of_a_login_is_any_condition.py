"""login.success asks whatever a policy may ask; the codes of a refusal are where login.code says. A preset is enough, too."""

import pytest

from client import get
from gateway import configuration
from token_endpoint import TokenEndpoint
from upstream import Answer
from waiting import wait_until

EXPECTED_LOG = [r"warning (token|session) "]

CONDITION = {"all": [{"field": "status", "in": ["OK", "fine"]}, {"not": {"field": "error", "exists": True}},
                     {"field": "meta.load", "range": {"max": 9}, "missing": "success"}]}


class Wordy(TokenEndpoint):
    """Answers 200 to everything: whether it went well is told by several fields."""

    def grant(self):
        return Answer(json_body={"status": "fine", "meta": {"load": "3"}, "data": {
            "token": self.access, "refreshToken": self.refresh, "expiresIn": self.expires_in}})

    def section(self, **login):
        section = self.configuration()
        section["login"].update(login)
        return section


def start(gateway, upstream, endpoint, **login):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.section(**login)}), endpoint=endpoint)
    gw.expected_errors = [r"token|refresh"]
    return gw


def refused(status, code, **more):
    """It even holds a token: what counts is what the condition says."""
    return Answer(json_body={"status": status, "why": code, "data": {"token": "not-this-one"}, **more})


@pytest.mark.parametrize("answer", [refused("FAIL", 7), refused("OK", 7, error=None), refused("OK", 7, meta={"load": 10})])
def test_an_answer_that_fails_the_condition_ends_the_login(gateway, upstream, answer):
    endpoint = Wordy(upstream)
    gw = start(gateway, upstream, endpoint, success=CONDITION, code="why", transient_codes=[50301])
    assert get(gw, "/x").status == 200
    endpoint.answers = [None] * len(endpoint.calls) + [answer]
    endpoint.revoke()
    assert get(gw, "/x").header("CryoNet-Failure") == "authenticationExpired/refresh_rejected"
    wait_until(lambda: any("refused by its why 7 (code_refused)" in line for line in gw.stderr().splitlines()), 10, "no word of the refusal")


def test_a_transient_code_is_found_where_code_says(gateway, upstream):
    endpoint = Wordy(upstream)
    gw = start(gateway, upstream, endpoint, success=CONDITION, code="why", transient_codes=[50301])
    endpoint.answers = [refused("FAIL", 50301)]
    endpoint.revoke()
    assert get(gw, "/x").header("CryoNet-Failure") == "authenticationExpired/refresh_failed"
    wait_until(lambda: get(gw, "/x").status == 200, 20, "the login did not survive the transient code")


def test_a_preset_is_enough(gateway, upstream):
    endpoint = TokenEndpoint(upstream)
    section = endpoint.configuration()
    section["login"]["success"] = "code0_msg_data"
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": section}), endpoint=endpoint)
    gw.expected_errors = [r"token|refresh"]
    endpoint.revoke()
    assert get(gw, "/x").status == 200
    endpoint.answers = [None, endpoint.refusal()]
    endpoint.revoke()
    assert get(gw, "/x").header("CryoNet-Failure") == "authenticationExpired/refresh_rejected"
