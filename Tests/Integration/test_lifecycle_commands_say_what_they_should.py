"""check, config, health, version, --help, and run with a broken file: texts, places, exit codes, no port opened, no secret shown."""

import json
import re

import pytest

from gateway import configuration, run_command

BAD = """listen: { address: 127.0.0.1:0 }
upstreams:
  api:
    ulr: http://127.0.0.1:9
routes:
  - { name: api, path: /*, upstream: nobody }
  - { name: two, path: relative, upstream: api }
retries: 3
"""


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "cryonet.yaml"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path
    return write


def test_check_prints_every_problem_with_its_place(file):
    path = file(BAD)
    result = run_command("check", path)
    assert result.returncode == 1
    places = re.findall(r"^(.*):(\d+):(\d+): (.+)$", result.stdout + result.stderr, re.MULTILINE)
    assert {int(line) for _, line, _, _ in places} >= {4, 6, 7, 8}, result.stdout + result.stderr
    assert all(name.endswith("cryonet.yaml") for name, *_ in places)
    assert any("ulr" in message and "url" in message for *_, message in places), "did you mean"


@pytest.mark.parametrize("text", ["a: [", "", "[]", "listen: 3", "\x00", "a: &a [*a]", "listen: {address: 127.0.0.1:0, address: x}"])
def test_check_survives_any_file(file, text):
    result = run_command("check", file(text))
    assert result.returncode == 1 and (result.stdout + result.stderr).strip()


def test_check_of_a_missing_file(tmp_path):
    result = run_command("check", tmp_path / "nothing.yaml")
    assert result.returncode in (1, 2) and "nothing.yaml" in result.stdout + result.stderr


def test_check_of_a_good_file(file):
    result = run_command("check", file(configuration("http://127.0.0.1:9")))
    assert result.returncode == 0, result.stderr


def test_run_with_a_broken_file_opens_no_port(file, tmp_path):
    path, ready = file(BAD), tmp_path / "ready.json"
    result = run_command("run", "--config", path, "--ready-file", ready)
    assert result.returncode == 1 and not ready.exists()
    assert len(re.findall(r"cryonet\.yaml:\d+:\d+: ", result.stdout + result.stderr)) >= 4


def test_config_masks_secrets(file):
    config = configuration("http://127.0.0.1:9", route={"token": "app"}, tokens={"app": {"static": {"token": "literal-secret-0123"}}})
    result = run_command("config", "--config", file(config))
    assert result.returncode == 0, result.stderr
    assert "127.0.0.1:9" in result.stdout and "literal-secret-0123" not in result.stdout + result.stderr


def test_a_literal_secret_is_warned_about(file):
    config = configuration("http://127.0.0.1:9", route={"token": "app"}, tokens={"app": {"static": {"token": "literal-secret-0123"}}})
    result = run_command("check", file(config))
    assert result.returncode == 0 and "literal" in (result.stdout + result.stderr).lower().replace("literal-secret", "")
    assert "literal-secret-0123" not in result.stdout + result.stderr


def test_an_open_address_must_be_asked_for(file):
    config = configuration("http://127.0.0.1:9", listen={"address": "0.0.0.0:0"})
    result = run_command("check", file(config))
    assert result.returncode == 1 and "unsafe_listen" in result.stdout + result.stderr


def test_health_asks_the_listener(gateway, upstream):
    gw = gateway(configuration(upstream))
    good = run_command("health", gw.url)
    if good.returncode == 2:
        good = run_command("health", "--config", gw.config_file, env={"CRYONET_LISTEN_ADDRESS": gw.authority})
    assert good.returncode == 0, good.stderr
    assert upstream.requests == []


def test_health_of_nobody(upstream):
    from upstream import closed_port
    assert run_command("health", f"http://127.0.0.1:{closed_port()}").returncode == 1


def test_version_and_help():
    version = run_command("version")
    assert version.returncode == 0 and re.search(r"\d+\.\d+", version.stdout)
    text = run_command("--help")
    assert text.returncode == 0
    for command in ("run", "proxy", "demo", "check", "config", "health", "version"):
        assert command in text.stdout, command
        help_text = run_command(command, "--help")
        assert help_text.returncode == 0 and help_text.stdout.strip(), command


@pytest.mark.parametrize("arguments", [["nonsense"], ["run", "--nonsense"], ["check"]])
def test_wrong_use_is_2(arguments, tmp_path):
    result = run_command(*arguments, folder=tmp_path)
    assert result.returncode == 2 and result.stderr.strip() and "Fatal" not in result.stderr
