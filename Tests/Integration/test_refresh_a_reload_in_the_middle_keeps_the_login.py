"""A login that is kept in memory survives a reload that changes how its token is used or refreshed, also in the middle of a refresh: no
refresh token is presented twice, and nobody falls back to `initial`, which is used up."""

import threading

import pytest

from admin import Admin, with_admin
from client import Client, get
from gateway import configuration, merged
from upstream import Answer
from waiting import wait_until

EXPECTED_LOG = [r"warning (token|session) "]


@pytest.fixture
def start(gateway, upstream, endpoint):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    config = with_admin(configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.configuration()}))
    return gateway(config, endpoint=endpoint)


def change(gw, number):
    gw.reload(merged(gw.config, {"tokens": {"app": {"refresh": {"before_expiry_s": number}}}}), marker="configuration reloaded")


def presented_once(endpoint):
    """Each refresh token once, in the order of their issue."""
    assert endpoint.calls == endpoint.tokens[1:2 * len(endpoint.calls):2]


def test_between_refreshes(start, endpoint):
    gw = start
    for number in range(1, 6):
        endpoint.revoke()
        assert get(gw, "/x").status == 200
        change(gw, number)
        assert get(gw, "/x").status == 200
    assert len(endpoint.calls) == 5
    presented_once(endpoint)
    assert Admin(gw).session()["events"] == {"session_began": 0, "session_expired": 0, "session_logged_out": 0}


def test_in_the_middle_of_a_refresh(start, endpoint):
    gw = start
    endpoint.revoke()
    assert get(gw, "/x").status == 200
    endpoint.revoke()
    endpoint.gate = threading.Event()
    with Client(gw.port) as old, Client(gw.port) as new:
        old.send_request("GET", "/x")
        endpoint.wait_calls(2)
        change(gw, 1)
        refused = endpoint.refused
        new.send_request("GET", "/x")
        wait_until(lambda: endpoint.refused > refused, 10, "the second request with the dead token")
        endpoint.gate.set()
        assert (old.read_response().status, new.read_response().status) == (200, 200)
    presented_once(endpoint)
    endpoint.revoke()
    assert get(gw, "/x").status == 200
    presented_once(endpoint)


def test_a_logout_stays_one(start, endpoint):
    gw = start
    admin = Admin(gw)
    admin.json("POST", "/api/sessions/app/logout")
    wait_until(lambda: admin.session()["state"] == "unauthenticated", 10, "the end of the logout")
    change(gw, 1)
    assert get(gw, "/x").status == 401
    assert admin.session()["state"] == "unauthenticated" and endpoint.calls == []


def test_another_login_begins_with_its_own(start, endpoint):
    """What the login is made of has changed: the old one is nothing to it."""
    gw = start
    endpoint.revoke()
    assert get(gw, "/x").status == 200
    config = merged(gw.config, {"tokens": {"app": {"initial": {"token": "env:NEXT_TOKEN", "refresh_token": "env:APP_REFRESH_TOKEN"}}}})
    gw.expected_errors = [r"NEXT_TOKEN is not set"]
    gw.reload(config, marker="configuration reloaded")
    assert Admin(gw).token()["state"] == "missing"
