"""exec: a command prints the token; what goes wrong with it is named in the log, and nothing it printed is."""

import json
import os
import stat
import time

import pytest

from client import get
from failures import assert_failure
from gateway import configuration
from upstream import Answer
from waiting import wait_until

TOKEN = "the-token-of-the-command-0123456789"


@pytest.fixture
def command(tmp_path):
    """Writes the script of a command; returns its path."""
    def make(text):
        path = tmp_path / "command"
        aside = tmp_path / "command.new"
        aside.write_text("#!/bin/sh\n" + text)
        aside.chmod(aside.stat().st_mode | stat.S_IXUSR)
        os.replace(aside, path)
        return str(path)
    return make


def start(gateway, upstream, path, variables=None, secrets=(), refresh=None, **section):
    upstream.on("GET", "/x", "ok")
    token = {"exec": {"command": [path, "an argument"], **section}}
    if refresh:
        token["refresh"] = refresh
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": token}), env=variables, secrets=[TOKEN, *secrets])
    gw.expected_errors = [r"token|refresh"]
    return gw


def sent(gw, upstream):
    assert get(gw, "/x").status == 200
    return upstream.to("/x")[-1].header("Authorization")


@pytest.mark.parametrize("output", [
    TOKEN, json.dumps({"token": TOKEN, "expires_at": int(time.time()) + 3600}),
    json.dumps({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
                "status": {"token": TOKEN, "expirationTimestamp": "2099-01-01T00:00:00Z"}}),
    json.dumps({"Version": 1, "AccessKeyId": "k", "SecretAccessKey": "s", "SessionToken": TOKEN}),
], ids=["bare", "ours", "kubectl", "aws"])
def test_the_forms_of_output(gateway, upstream, command, tmp_path, output):
    (tmp_path / "output").write_text(output + "\n")
    gw = start(gateway, upstream, command(f"cat {tmp_path}/output\n"))
    assert sent(gw, upstream) == f"Bearer {TOKEN}"
    assert sent(gw, upstream) == f"Bearer {TOKEN}"


def test_it_sees_its_argument_and_its_environment_and_nothing_of_ours(gateway, upstream, command, tmp_path):
    path = command(f'printf "%s\\n" "$#" "$1" "$KEY" > {tmp_path}/seen; env | cut -d= -f1 >> {tmp_path}/seen; echo {TOKEN}\n')
    key = "the-key-of-the-command-0123456789"
    gw = start(gateway, upstream, path, variables={"KEY_OF_OURS": key, "OTHER": "o"}, secrets=[key], env={"KEY": "env:KEY_OF_OURS"})
    assert sent(gw, upstream) == f"Bearer {TOKEN}"
    lines = (tmp_path / "seen").read_text().splitlines()
    assert lines[:3] == ["1", "an argument", key]
    assert set(lines[3:]) - {"PWD", "OLDPWD", "SHLVL", "_"} == {"PATH", "HOME", "KEY"}


@pytest.mark.parametrize("text, outcome, told", [
    ("exit 3\n", "command_failed", "ended with 3"),
    ("echo 'no account' >&2; exit 1\n", "command_failed", "no account"),
    (f"echo 'bad: {TOKEN}' >&2; exit 1\n", "command_failed", "ended with 1"),
    ("kill -9 $$\n", "command_killed", "signal 9"),
    ("exec sleep 600\n", "command_timed_out", "longer than 500 ms"),
    ("exec yes\n", "command_output_too_large", "more than 65536 bytes"),
    ("true\n", "answer_empty", "printed nothing"),
    (f"echo '{{\"token\": \"{TOKEN}'\n", "answer_not_json", "can't be read"),
    ("echo '{\"a\": 1}'\n", "token_absent", "without a token"),
    (f"echo '{{\"token\": \"{TOKEN}\", \"expires_at\": 5}}'\n", "token_expired", "already expired"),
])
def test_what_goes_wrong_is_named(gateway, upstream, command, text, outcome, told):
    # Only the command that hangs needs a short time.
    timeout = 500 if outcome == "command_timed_out" else 20_000
    gw = start(gateway, upstream, command(text), refresh={"timeout_ms": timeout})
    assert_failure(get(gw, "/x"), 502, "token_unavailable", "authenticationExpired", "inject", attempts=0)
    assert upstream.to("/x") == []
    line = wait_until(lambda: next((x for x in gw.stderr().splitlines() if f"({outcome})" in x), None), 5, f"{outcome} in the log")
    assert told in line


def test_a_401_runs_it_again_and_a_repaired_command_recovers(gateway, upstream, command):
    good = "second-" + TOKEN
    path = command(f"echo {TOKEN}\n")

    def check(request):
        return Answer(200, "in") if request.header("Authorization") == f"Bearer {good}" else Answer(401, "dead")
    upstream.on("GET", "/x", check)
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": {"exec": {"command": [path]}}}), secrets=[TOKEN, good])
    gw.expected_errors = [r"token|refresh"]
    # The same token again: there is no second attempt.
    assert get(gw, "/x").status == 401
    assert len(upstream.to("/x")) == 1
    gw.term()
    assert gw.wait_exit() == 0
    gw.start()
    command(f"echo {good}\n")
    assert get(gw, "/x").status == 200


def test_a_slow_command_holds_up_nobody_else(gateway, upstream, command, tmp_path):
    """The workers go on while the command runs."""
    gate = tmp_path / "gate"
    path = command(f"while [ ! -e {gate} ]; do sleep 0.05; done; echo {TOKEN}\n")
    upstream.on("GET", "/free", "free")
    upstream.on("GET", "/x", "ok")
    config = configuration(upstream, workers=1, tokens={"app": {"exec": {"command": [path]}}})
    config["routes"] = [{"name": "free", "path": "/free", "upstream": "api"}, {"name": "api", "path": "/*", "upstream": "api", "token": "app"}]
    gw = gateway(config, secrets=[TOKEN])
    import threading
    waiting = threading.Thread(target=lambda: get(gw, "/x"), daemon=True)
    waiting.start()
    for _ in range(5):
        assert get(gw, "/free").status == 200
    assert upstream.to("/x") == []
    gate.write_text("")
    waiting.join(20)
    assert not waiting.is_alive()
    assert upstream.to("/x")[0].header("Authorization") == f"Bearer {TOKEN}"
