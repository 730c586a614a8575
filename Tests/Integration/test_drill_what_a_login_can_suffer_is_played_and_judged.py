"""`cryonet drill`: each drill against the embedded demo API passes, as a table, as JSON, and with two gateways that share a Redis. Against
a route that a configuration marks they pass too, beside a running gateway, and harm no login."""

import json

import pytest

from client import get
from gateway import configuration, is_sanitized, merged, run_command
from upstream import Answer

DRILLS = ["expire", "revoke", "idp-down", "idp-slow", "storm", "rotate-race"]
SECONDS = 300 if is_sanitized() else 60


@pytest.mark.deadline(SECONDS + 10)
@pytest.mark.parametrize("name", DRILLS)
def test_each_drill_passes(name):
    result = run_command("drill", name, "--json", timeout=SECONDS)
    report = json.loads(result.stdout)
    failed = [check for drill in report["drills"] for check in drill["checks"] if not check["passed"]]
    assert (result.returncode, failed, report["passed"]) == (0, [], True), (report, result.stderr)
    assert [drill["name"] for drill in report["drills"]] == [name]
    assert len(report["drills"][0]["checks"]) >= 3


@pytest.mark.deadline(SECONDS + 10)
def test_two_gateways_share_one_login(redis):
    server = redis()
    result = run_command("drill", "rotate-race", "--redis", server.address, timeout=SECONDS)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "pass  two gateways share the login" in result.stdout and "FAIL" not in result.stdout
    key, = [key for key in server.command("KEYS", "cryonet:drill:*") if not key.endswith(b":lease")]
    assert server.entry(key)["version"] == "50"


@pytest.mark.deadline(SECONDS + 10)
def test_without_their_store_the_drill_fails(redis):
    """The drill is worth something: two gateways that can't share present a refresh token twice."""
    server = redis(tcp=True)
    server.stop()
    result = run_command("drill", "rotate-race", "--redis", server.address, timeout=SECONDS)
    assert result.returncode == 1
    assert "FAIL  one refresh for each rotation" in result.stdout and "checks failed" in result.stdout


def test_an_unknown_drill_is_a_wrong_call():
    result = run_command("drill", "fire")
    assert result.returncode == 2 and "there is no drill fire" in result.stderr


@pytest.fixture
def marked(upstream, endpoint, tmp_path):
    """A configuration whose route is marked, on an API that rotates strictly, and the command on it."""
    upstream.on("GET", "/orders", endpoint.guard(Answer(200, json_body={"code": 0})))
    section = endpoint.configuration(tmp_path / "app.json")
    config = configuration(upstream, route={"token": "app", "drill": "/orders"}, tokens={"app": section})

    def drill(*words, change=None):
        file = tmp_path / "drill.json"
        file.write_text(json.dumps(merged(config, change or {})))
        return run_command("drill", *words, "--config", file, env=endpoint.environment(), timeout=SECONDS)
    drill.config = config
    return drill


@pytest.mark.deadline(SECONDS + 30)
@pytest.mark.parametrize("name", DRILLS)
def test_a_marked_route_stands_each_drill(gateway, marked, endpoint, name):
    gw = gateway(marked.config, endpoint=endpoint)
    assert get(gw, "/orders").status == 200
    result = marked(name, "--json")
    report = json.loads(result.stdout or "null")
    assert result.returncode == 0, (report, result.stderr)
    assert [drill["name"] for drill in report["drills"]] == [name] and len(report["drills"][0]["checks"]) >= 2
    # The gateway that runs beside it goes on with the login as the drill has left it.
    assert get(gw, "/orders").status == 200
    endpoint.revoke()
    assert get(gw, "/orders").status == 200
    assert endpoint.calls == endpoint.tokens[1:2 * len(endpoint.calls):2], "each refresh token once, in the order of their issue"


@pytest.mark.deadline(SECONDS + 10)
def test_a_drill_that_could_do_harm_or_prove_nothing_is_refused(marked, endpoint, upstream):
    for change, words, told in [
            ({"tokens": {"app": {"store": None}}}, ["revoke"], "keep the login in a store"),
            ({"tokens": {"app": {"login": {"refresh": {"headers": {"X-Old": "{token}"}}}}}}, ["revoke"], "presents the token itself"),
            ({"tokens": {"app": {"login": None, "initial": None, "store": None, "env": {"name": "APP_TOKEN"}}}}, ["storm"], "no refresh to drill"),
            ({}, ["revoke", "--route", "nobody"], "no route nobody is marked")]:
        result = marked(*words, change=change)
        assert result.returncode == 1 and told in result.stderr, result.stderr
    upstream.on("GET", "/orders", Answer(500))
    result = marked("revoke")
    assert result.returncode == 1 and "answered 500 × 1 before any fault" in result.stderr
    assert endpoint.calls == []
    assert run_command("drill", "--route", "api").returncode == 2


@pytest.mark.deadline(SECONDS + 10)
def test_an_api_that_knows_no_401_fails_the_drill(marked, endpoint, upstream):
    """The drill is worth something: a token that the API does not check is not renewed."""
    upstream.on("GET", "/orders", Answer(200))
    result = marked("revoke")
    assert result.returncode == 1 and "FAIL  one token comes from the source" in result.stdout
    assert endpoint.calls == []
