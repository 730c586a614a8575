"""A route that needs a token and has none answers 401 token_missing itself; the upstream is not called."""

import pytest

from client import get
from failures import assert_failure
from gateway import configuration


@pytest.mark.parametrize("environment", [{}, {"APP_TOKEN": ""}], ids=["unset", "empty"])
def test_a_missing_token_is_told_before_the_upstream(gateway, upstream, environment):
    upstream.on("GET", "/x", "reached")
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": {"env": {"name": "APP_TOKEN"}}}), env=environment)
    gw.expected_errors = ["APP_TOKEN is not set"]
    assert_failure(get(gw, "/x"), 401, "token_missing", "authenticationExpired", "inject", statusCode=None, attempts=0)
    assert upstream.requests == []
    assert gw.wait_audit(1)[0]["steps"]["inject"] == "token_missing"
