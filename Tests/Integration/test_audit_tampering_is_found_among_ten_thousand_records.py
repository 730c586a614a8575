"""A file made by Audit.md's rules alone verifies, and each kind of change among ten thousand records is named where it is."""

import json

import pytest

import chained
from gateway import run_command

COUNT = 10_000


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("chain") / "audit.jsonl"
    head = chained.write(path, COUNT)
    return path, head


def test_what_was_not_changed_is_good(original):
    path, head = original
    outcome = run_command("audit", "verify", "--json", "--closed", "--head", f"{COUNT + 2}:{head}", path)
    assert outcome.returncode == 0, outcome.stdout
    assert json.loads(outcome.stdout)["records"] == COUNT


@pytest.mark.parametrize("kind", chained.KINDS)
def test_each_change_is_named(original, tmp_path, kind):
    changed = tmp_path / "audit.jsonl"
    expected = chained.tamper(original[0], changed, kind, 7_654)
    outcome = run_command("audit", "verify", "--json", "--closed", changed)
    assert outcome.returncode == 1
    findings = json.loads(outcome.stdout)["findings"]
    assert [(f["kind"], f["line"], f["first_seq"], f["last_seq"], f["id"]) for f in findings] == [expected]
