"""CryoNet-Token and CryoNet-Policy choose by name where the route allows it; they never go to the upstream, and never to another one."""

import pytest

from client import get
from failures import assert_failure, assert_passed
from gateway import ENVELOPE, configuration
from upstream import Answer

TOKENS = {"app": {"static": {"token": "env:APP_TOKEN"}}, "second": {"static": {"token": "env:SECOND_TOKEN"}}}
ENV = {"APP_TOKEN": "the-app-token-0123456789", "SECOND_TOKEN": "the-second-token-0123456789"}
REJECTED = '{"code":7,"msg":"no"}'


def start(gateway, upstream, route=None, **sections):
    upstream.on("GET", "/x", Answer(200, json_body=REJECTED))
    sections.setdefault("tokens", TOKENS)
    config = configuration(upstream, route={"token": "app", "allow_override": ["token", "policy"], **(route or {})},
                           policies={"envelope": ENVELOPE}, **sections)
    return gateway(config, env=ENV, secrets=ENV.values())


def test_the_named_token_and_policy_are_used(gateway, upstream):
    gw = start(gateway, upstream)
    assert_passed(get(gw, "/x"), 200, REJECTED)
    assert_failure(get(gw, "/x", [("CryoNet-Token", "second"), ("cryonet-policy", "envelope")]), 422, "business_rejected")
    assert [r.all("Authorization") for r in upstream.requests] == [[f"Bearer {ENV['APP_TOKEN']}"], [f"Bearer {ENV['SECOND_TOKEN']}"]]
    assert all(not name.lower().startswith("cryonet-") for r in upstream.requests for name, _ in r.headers)


@pytest.mark.parametrize("fields", [[("CryoNet-Token", "third")], [("CryoNet-Policy", "third")],
                                    [("CryoNet-Token", "app"), ("CryoNet-Token", "second")]])
def test_an_unknown_name_is_a_failure_of_its_own(gateway, upstream, fields):
    gw = start(gateway, upstream)
    assert_failure(get(gw, "/x", fields), 400, "override_unknown", "http", "route", route="api")
    assert upstream.requests == []
    assert gw.wait_audit(1)[0]["steps"]["route"] == "override_unknown"


def test_where_it_is_not_allowed_it_means_nothing(gateway, upstream):
    gw = start(gateway, upstream, route={"allow_override": []})
    assert_passed(get(gw, "/x", [("CryoNet-Token", "second"), ("CryoNet-Policy", "envelope")]), 200, REJECTED)
    assert upstream.requests[0].all("Authorization") == [f"Bearer {ENV['APP_TOKEN']}"]
    assert upstream.requests[0].all("CryoNet-Token") == [] and upstream.requests[0].all("CryoNet-Policy") == []


def test_a_token_of_another_upstream_is_not_taken_to_this_one(gateway, upstream, make_upstream):
    other = make_upstream()
    other.on("GET", "/x", "ok")
    upstream.on("GET", "/x", "ok")
    config = configuration(upstream, route={"token": "app", "allow_override": ["token"]}, tokens=TOKENS)
    config["upstreams"]["other"] = {"url": other.url}
    config["routes"].append({"name": "other", "path": "/other/*", "strip_prefix": "/other", "upstream": "other", "token": "second"})
    gw = gateway(config, env=ENV, secrets=ENV.values())
    assert_failure(get(gw, "/x", [("CryoNet-Token", "second")]), 400, "override_unknown")
    assert get(gw, "/other/x").status == 200
    assert upstream.requests == [] and other.requests[0].all("Authorization") == [f"Bearer {ENV['SECOND_TOKEN']}"]


def test_the_chosen_token_is_refreshed_and_the_other_is_not(gateway, upstream, endpoint):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "fine")))
    endpoint.revoke()
    tokens = {"app": TOKENS["app"], "session": endpoint.configuration()}
    config = configuration(upstream, route={"token": "app", "allow_override": ["token"]}, tokens=tokens)
    gw = gateway(config, endpoint=endpoint, env=ENV, secrets=ENV.values())
    assert get(gw, "/x").status == 401
    assert_passed(get(gw, "/x", [("CryoNet-Token", "session")]), 200, "fine")
    assert len(endpoint.calls) == 1
    assert [r.all("CryoNet-Token") for r in upstream.to("/x")] == [[], [], []]
