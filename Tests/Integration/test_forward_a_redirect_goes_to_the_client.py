"""3xx answers are passed as they are; the place they point to is never called, the credential never leaves the upstream."""

import pytest

from client import get
from gateway import ENVELOPE, configuration
from upstream import Answer

TOKEN = "the-static-token-0123456789"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("policy", [False, True])
def test_a_redirect_goes_to_the_client(gateway, make_upstream, status, policy):
    first, thief = make_upstream(), make_upstream()
    thief.on("*", "/*", "stolen")
    location = f"{thief.url}/steal"
    first.on("*", "/x", Answer(status, "moved", [("Location", location)]))
    route = {"token": "app", "policy": "envelope"} if policy else {"token": "app"}
    gw = gateway(configuration(first, route=route, policies={"envelope": ENVELOPE},
                               tokens={"app": {"static": {"token": "env:APP_TOKEN"}}}), env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])
    for method in ("GET", "POST"):
        response = get(gw, "/x", method=method, body=b"b" if method == "POST" else b"")
        assert (response.status, response.header("Location"), response.body) == (status, location, b"moved")
    assert thief.connections == []
