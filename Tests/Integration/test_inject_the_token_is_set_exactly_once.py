"""Whatever the client sends, the upstream sees one Authorization field with the configured token, also under `Connection` tricks."""

import pytest

from client import get
from gateway import configuration, merged
from upstream import Answer

TOKEN = "the-static-token-0123456789"
TOKENS = {"app": {"static": {"token": "env:APP_TOKEN"}}}
CLIENT_FIELDS = {
    "nothing": [],
    "other case": [("authorization", "x")],
    "two of them": [("Authorization", "Bearer a"), ("AUTHORIZATION", "Basic b")],
    "named by Connection": [("Authorization", "Bearer a"), ("Connection", "Authorization")],
    "empty": [("Authorization", "")],
}


@pytest.mark.parametrize("name", CLIENT_FIELDS)
def test_the_token_is_set_exactly_once(gateway, upstream, name):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens=TOKENS), env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])
    assert get(gw, "/x", CLIENT_FIELDS[name]).status == 200
    assert upstream.requests[0].all("Authorization") == [f"Bearer {TOKEN}"]
    assert gw.wait_audit(1)[0]["steps"]["inject"] == "injected"


def test_another_header_and_format(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    tokens = merged(TOKENS, {"app": {"inject": {"header": "X-Api-Key", "format": "{token}"}}})
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens=tokens), env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])
    get(gw, "/x", [("x-api-key", "mine"), ("Authorization", "Bearer client")])
    assert upstream.requests[0].all("X-Api-Key") == [TOKEN]


def test_the_client_s_value_can_be_kept(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    tokens = merged(TOKENS, {"app": {"inject": {"on_client_value": "keep"}}})
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens=tokens), env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])
    get(gw, "/x", [("Authorization", "Bearer of-the-client")])
    get(gw, "/x")
    assert [r.all("Authorization") for r in upstream.requests] == [["Bearer of-the-client"], [f"Bearer {TOKEN}"]]
    assert [r["steps"]["inject"] for r in gw.wait_audit(2)] == ["kept_client_value", "injected"]
    assert "of-the-client" not in gw.audit_text()


def test_a_route_without_a_token_injects_nothing(gateway, upstream):
    upstream.on("GET", "/x", Answer(200, "ok"))
    gw = gateway(configuration(upstream, route={"token": "none"}, tokens=TOKENS), env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])
    get(gw, "/x")
    get(gw, "/x", [("Authorization", "Bearer of-the-client")])
    assert [r.all("Authorization") for r in upstream.requests] == [[], ["Bearer of-the-client"]]
    assert gw.wait_audit(2)[0]["steps"]["inject"] == "not_applicable"
