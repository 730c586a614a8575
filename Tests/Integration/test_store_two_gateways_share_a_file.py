"""Two gateways that keep one login in the same file, without Redis: its lock makes them refresh it once for each rotation, a kill frees
it, and a logout of one is the other's."""

import json
import os
import threading

import pytest

from admin import Admin, with_admin
from client import Client, get
from gateway import configuration, is_sanitized
from rotations import rotate
from upstream import Answer
from waiting import wait_until

EXPECTED_LOG = [r"warning (token|session) "]

IS_LONG = os.environ.get("CRYONET_LONG") == "1"
ROTATIONS = 500 if IS_LONG else 50


@pytest.fixture
def pair(gateway, upstream, endpoint, tmp_path):
    """Starts gateways with one store file."""
    def make(count=2, **parts):
        upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
        section = endpoint.configuration(tmp_path / "app.json", refresh={"window": {"seconds": 1, "max": 1000}, "timeout_ms": 20000},
                                         **parts)
        config = with_admin(configuration(upstream, route={"token": "app"}, tokens={"app": section}))
        return [gateway(config, endpoint=endpoint) for _ in range(count)]
    return make


@pytest.mark.deadline(600 if IS_LONG or is_sanitized() else 90)
def test_one_refresh_for_each_rotation(pair, endpoint, tmp_path, capsys):
    both = pair()
    rotate(both, endpoint, ROTATIONS, capsys)
    held = json.loads((tmp_path / "app.json").read_text())
    assert (held["token"], held["refresh_token"]) == (endpoint.access, endpoint.refresh)
    assert [name for name in os.listdir(tmp_path) if name.startswith("app.json")] == ["app.json"]


def test_a_gateway_that_is_killed_while_it_refreshes_does_not_hold_up_the_other(pair, endpoint):
    first, second = pair()
    endpoint.answers = [Answer(script=["stall"])]
    endpoint.revoke()
    with Client(first.port) as client:
        client.send_request("GET", "/x")
        endpoint.wait_calls(1)
        first.kill()
    assert get(second, "/x").status == 200
    assert len(endpoint.calls) == 2
    assert second.stderr().count("the last process ended while it refreshed") == 1


def test_a_start_in_the_middle_of_a_refresh_of_the_other_takes_nothing_away(pair, endpoint):
    first, = pair(count=1)
    endpoint.gate = threading.Event()
    endpoint.revoke()
    with Client(first.port) as client:
        client.send_request("GET", "/x")
        endpoint.wait_calls(1)
        second, = pair(count=1)
        with Client(second.port) as other:
            other.send_request("GET", "/x")
            endpoint.gate.set()
            assert (client.read_response().status, other.read_response().status) == (200, 200)
    assert len(endpoint.calls) == 1
    assert "the last process ended" not in second.stderr()


def test_a_logout_of_one_is_the_others_and_a_login_too(pair, endpoint):
    first, second = pair()
    one, other = Admin(first), Admin(second)
    one.json("POST", "/api/sessions/app/logout")
    wait_until(lambda: one.session()["state"] == "unauthenticated", 10, "the end of the logout")
    endpoint.revoke()
    assert get(second, "/x").status == 401
    wait_until(lambda: other.session()["state"] == "unauthenticated", 10, "the end of the other's login")
    assert endpoint.calls == [], "nobody presents a refresh token of a login that is over"
    with endpoint.lock:
        endpoint.access, endpoint.refresh = endpoint.issue()
    one.json("PUT", "/api/tokens/app", {"token": endpoint.access, "refresh_token": endpoint.refresh})
    wait_until(lambda: get(second, "/x").status == 200, 60, "the other gateway has not taken the login over")
    assert endpoint.calls == []


def test_two_tokens_of_one_gateway_do_not_share_a_file(gateway, upstream, endpoint, tmp_path):
    section = endpoint.configuration(tmp_path / "app.json")
    config = configuration(upstream, route={"token": "app"}, tokens={"app": section, "other": section})
    gw = gateway(configuration(upstream), endpoint=endpoint)
    gw.expected_errors = [r"error reload refused", r"keeps its login there"]
    gw.reload(config, marker="reload refused")
    assert "tokens.other.store.file: tokens.app keeps its login there" in gw.stderr()
