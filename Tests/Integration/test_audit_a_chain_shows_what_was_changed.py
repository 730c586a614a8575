"""The records of a run are tied together and signed; `cryonet audit verify` names each kind of change, offline, by its exit code too."""

import json
import os
import stat

import pytest

from client import Client
from gateway import configuration, run_command

COUNT = 60


@pytest.fixture
def written(gateway, upstream, tmp_path):
    """(audit file, public key file) of a gateway that has ended."""
    upstream.on("GET", "/x", "ok")
    key = tmp_path / "audit.key"
    gw = gateway(configuration(upstream, audit={"signing_key": str(key), "checkpoint_records": 20}))
    with Client(gw.port) as client:
        for number in range(COUNT):
            assert client.get("/x").status == 200
            if number % 20 == 10:
                gw.wait_audit(number + 1)
    gw.term()
    assert gw.wait_exit() == 0
    assert stat.S_IMODE(os.stat(key).st_mode) == 0o600
    public = tmp_path / "audit.pub"
    shown = run_command("audit", "key", key)
    assert shown.returncode == 0 and shown.stdout.startswith("-----BEGIN PUBLIC KEY-----")
    public.write_text(shown.stdout)
    return gw.audit_file, public


def verify(*arguments):
    outcome = run_command("audit", "verify", "--json", *arguments)
    assert outcome.returncode in (0, 1), outcome.stderr
    result = json.loads(outcome.stdout)
    assert result["good"] == (outcome.returncode == 0)
    return result


def kinds(result):
    return [finding["kind"] for finding in result["findings"]]


def test_what_was_written_is_good(written):
    path, public = written
    result = verify("--public-key", public, "--closed", path)
    assert result["good"] and result["records"] == COUNT and result["closed"]
    assert result["signatures"] >= 2 and result["signed_up_to"] == result["head"]["seq"] - 1
    head = f"{result['head']['seq']}:{result['head']['hash']}"
    assert verify("--head", head, path)["good"]
    text = run_command("audit", "verify", path)
    assert text.returncode == 0 and f"head {head}" in text.stdout and text.stdout.startswith("note:")


@pytest.mark.parametrize("kind", ["edited", "removed", "inserted", "reordered", "truncated", "forged"])
def test_each_kind_of_change_is_named(written, tmp_path, kind):
    path, public = written
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    place = next(index for index, line in enumerate(lines) if index > 10 and not line.startswith('{"audit"'))
    identity = json.loads(lines[place])["id"]
    sequence = json.loads(lines[place])["chain"]["seq"]
    if kind == "edited":
        lines[place] = lines[place].replace('"status":200', '"status":500', 1)
    elif kind == "removed":
        del lines[place]
    elif kind == "inserted":
        lines.insert(place + 3, lines[place])
    elif kind == "reordered":
        lines[place], lines[place + 1] = lines[place + 1], lines[place]
    elif kind == "truncated":
        del lines[-4:]
    else:
        lines[-1] = lines[-1].replace('"signature":"', '"signature":"00', 1)
    changed = tmp_path / "changed.jsonl"
    changed.write_text("".join(line + "\n" for line in lines))
    result = verify("--public-key", public, "--closed", changed)
    finding = result["findings"][0]
    assert kind in kinds(result)
    assert finding["file"] == str(changed)
    if kind in ("edited", "inserted", "reordered"):
        assert finding["id"] == identity and finding["first_seq"] == finding["last_seq"] == sequence
    if kind == "removed":
        assert (finding["first_seq"], finding["last_seq"], finding["line"]) == (sequence, sequence, place + 1)
    outcome = run_command("audit", "verify", "--public-key", public, "--closed", changed)
    assert outcome.returncode == 1 and kind in outcome.stdout and str(changed) in outcome.stdout


def test_what_can_not_be_read_is_another_exit_code(tmp_path):
    for arguments in (["audit", "verify", tmp_path / "none"], ["audit", "verify"], ["audit", "nothing"], ["audit"],
                      ["audit", "key", tmp_path / "none"], ["audit", "verify", "--head", "x", __file__],
                      ["audit", "verify", "--public-key", __file__, __file__]):
        outcome = run_command(*arguments)
        assert outcome.returncode == 2 and outcome.stderr, arguments
    plain = tmp_path / "plain.jsonl"
    plain.write_text('{"id":"1"}\n')
    assert kinds(verify(plain)) == ["unchained"]


def test_terminal_escapes_in_a_file_do_not_reach_the_terminal(tmp_path):
    hostile = tmp_path / "hostile\x1b[2J.jsonl"
    hostile.write_text('{"id":"\x1b]0;x\x07"}\n')
    assert "\x1b" not in run_command("audit", "verify", hostile).stdout
