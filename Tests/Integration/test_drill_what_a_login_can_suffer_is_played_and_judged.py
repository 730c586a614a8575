"""`cryonet drill`: each drill against the embedded demo API passes, as a table, as JSON, and with two gateways that share a Redis."""

import json

import pytest

from gateway import is_sanitized, run_command

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
