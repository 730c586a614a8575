"""A client key: every request carries it in one of two fields or gets 407; it goes nowhere, and health asks without it."""

import os

import pytest

from client import get
from failures import assert_failure
from gateway import configuration, run_command
from upstream import Answer

KEY = "key-of-the-gateway-1234567890"
FIELDS = {"own field": ("X-CryoNet-Key", KEY), "proxy field": ("Proxy-Authorization", f"Bearer {KEY}")}
WRONG = [[], [("X-CryoNet-Key", KEY[:-1])], [("X-CryoNet-Key", KEY + "0")], [("X-CryoNet-Key", KEY.upper())],
         [("Authorization", f"Bearer {KEY}")], [("Proxy-Authorization", KEY)], [("Proxy-Authorization", f"Basic {KEY}")]]


def guarded(upstream, route=None, **listen):
    return configuration(upstream, route, listen={"address": "127.0.0.1:0", "client_key": "env:THE_KEY", **listen})


@pytest.fixture
def start(gateway):
    return lambda config: gateway(config, env={"THE_KEY": KEY}, secrets=[KEY])


@pytest.mark.parametrize("name", FIELDS)
def test_the_key_opens_the_gateway_and_goes_nowhere(start, upstream, name):
    upstream.on("GET", "/x", "ok")
    gw = start(guarded(upstream))
    assert get(gw, "/x", [FIELDS[name]]).body == b"ok"
    assert KEY not in str(upstream.requests[0].headers)
    gw.wait_audit(1)


@pytest.mark.parametrize("fields", WRONG)
def test_a_client_without_the_key_is_refused(start, upstream, fields):
    upstream.on("*", "/x", "reached")
    gw = start(guarded(upstream))
    response = get(gw, "/x", fields)
    assert_failure(response, 407, "client_key_missing", "http", "route", route=None)
    assert response.header("Proxy-Authenticate").startswith("Bearer")
    assert upstream.requests == []
    assert gw.wait_audit(1)[0]["steps"]["route"] == "client_key_missing"


def test_a_path_without_a_route_is_no_secret_told(start, upstream):
    gw = start(guarded(upstream, {"path": "/known"}))
    assert_failure(get(gw, "/unknown"), 407, "client_key_missing")
    assert_failure(get(gw, "/unknown", [FIELDS["own field"]]), 404, "route_not_found")


def test_health_and_preflights_need_no_key(start, upstream):
    upstream.on("GET", "/x", Answer(200, "ok"))
    gw = start(guarded(upstream, {"cors": {"origins": ["https://app.example.com"]}}))
    assert run_command("health", gw.url).returncode == 0
    page = ("Origin", "https://app.example.com")
    asked = get(gw, "/x", [page, ("Access-Control-Request-Method", "GET"), ("Access-Control-Request-Headers", "x-cryonet-key")], "OPTIONS")
    assert asked.status == 204 and asked.header("Access-Control-Allow-Headers") == "x-cryonet-key"
    refused = get(gw, "/x", [page])
    assert_failure(refused, 407, "client_key_missing")
    assert refused.header("Access-Control-Allow-Origin") == page[1]
    assert get(gw, "/x", [page, FIELDS["own field"]]).body == b"ok"


def test_the_key_may_be_a_file_and_is_read_anew_on_hup(gateway, upstream, tmp_path):
    upstream.on("GET", "/x", "ok")
    path = os.path.join(tmp_path, "key")
    with open(path, "w", encoding="ascii") as file:
        file.write(KEY + "\n")
    config = configuration(upstream, listen={"address": "127.0.0.1:0", "client_key": f"file:{path}"})
    gw = gateway(config, secrets=[KEY])
    assert get(gw, "/x", [FIELDS["own field"]]).status == 200
    with open(path, "w", encoding="ascii") as file:
        file.write("another-key-of-the-gateway\n")
    gw.reload(gw.config)
    assert get(gw, "/x", [FIELDS["own field"]]).status == 407
    assert get(gw, "/x", [("X-CryoNet-Key", "another-key-of-the-gateway")]).status == 200


def test_with_a_key_another_address_needs_no_unsafe_listen(start, upstream):
    upstream.on("GET", "/x", "ok")
    gw = start(guarded(upstream, address="0.0.0.0:0"))
    gw.expected_errors = ["the client key travels in clear text"]
    assert get(gw, "/x", [FIELDS["own field"]]).status == 200
    assert get(gw, "/x").status == 407


def test_a_key_that_is_not_there_stops_the_start(upstream, tmp_path):
    path = os.path.join(tmp_path, "c.json")
    with open(path, "w", encoding="ascii") as file:
        file.write('{"listen":{"address":"127.0.0.1:0","client_key":"env:NOT_SET"},"upstreams":{"api":{"url":"%s"}},'
                   '"routes":[{"name":"r","path":"/*","upstream":"api"}]}' % upstream.url)
    result = run_command("run", "--config", path)
    assert result.returncode == 1 and "listen.client_key" in result.stderr
