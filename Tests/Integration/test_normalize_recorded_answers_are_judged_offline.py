"""`cryonet test` judges what an audit file or an HTTP archive holds by the policies of a configuration, and says what differs. (design §9)"""

import json
import os

import pytest

from client import get
from gateway import ENVELOPE, configuration, run_command
from upstream import Answer

ANSWERS = {"/good": {"code": 0, "data": 1}, "/denied": {"code": 10001, "msg": "no"}, "/odd": {"code": 7, "msg": "odd"}}


@pytest.fixture
def recorded(gateway, upstream, tmp_path):
    """A gateway that has judged some answers, and how its configuration is written with another policy."""
    for path, body in ANSWERS.items():
        upstream.on("GET", path, Answer(200, json_body=body))
    upstream.on("GET", "/page", Answer(200, "<html>", headers=[("Content-Type", "text/html")]))
    upstream.on("GET", "/error", Answer(500, json_body={"code": 1})).on("GET", "/long", Answer(200, json_body={"code": 0, "data": "x" * 9000}))
    gw = gateway(configuration(upstream, route={"policy": "envelope"}, policies={"envelope": ENVELOPE}, audit={"bodies": "all"}))
    for path in (*ANSWERS, "/page", "/error", "/long"):
        get(gw, path)
    gw.wait_audit(6)

    def changed(**policy):
        config = json.loads(json.dumps(gw.config))
        config["policies"]["envelope"].update(policy)
        file = tmp_path / "changed.yaml"
        file.write_text(json.dumps(config))
        os.chmod(file, 0o600)
        return file
    return gw, changed


def judge(config, *words):
    result = run_command("test", "--config", config, "--json", *words)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert lines, result
    return result.returncode, {line["target"].rsplit("/", 1)[1]: line for line in lines[:-1]}, lines[-1]


def brief(judged):
    return {name: (line["outcome"], line["business_code"], line["status"], line["message"]) for name, line in judged.items()}


def test_the_same_policy_judges_the_same(recorded):
    gw, _ = recorded
    code, judged, total = judge(gw.config_file, gw.audit_file)
    assert code == 0 and not any(line["differs"] for line in judged.values())
    assert brief(judged) == {"good": ("accepted", None, 200, None), "denied": ("business_rejected", "10001", 401, "no"),
                             "odd": ("business_rejected", "7", 422, "odd"),
                             "page": ("not_json", None, 502, "The upstream's answer is not JSON.")}
    assert (total["judged"], total["differing"]) == (4, 0)
    assert sum(total["skipped"].values()) == 2 and total["skipped"]["the body was cut"] == 1


def test_another_policy_is_told_where_it_differs(recorded):
    gw, changed = recorded
    codes = {"10001": {"status": 403, "name": "Denied", "message": "not you"}}
    success = {"field": "code", "in": [0, 7]}
    config = changed(failure={"status": 422, "codes": codes}, success=success, non_json="pass")
    code, judged, total = judge(config, gw.audit_file)
    assert code == 1 and total["differing"] == 3
    assert {name for name, line in judged.items() if line["differs"]} == {"denied", "odd", "page"}
    assert brief(judged)["denied"] == ("business_rejected", "10001", 403, "not you") and judged["denied"]["code_name"] == "Denied"
    assert judged["denied"]["recorded"] == {"outcome": "business_rejected", "status": 401, "business_code": "10001"}
    assert judged["odd"]["outcome"] == "accepted" and brief(judged)["page"] == ("not_json", None, 200, None)
    # For people.
    result = run_command("test", "--config", config, gw.audit_file)
    assert result.returncode == 1 and '→ 403 Denied "not you"; recorded: business_rejected 10001 → 401' in result.stdout
    assert "4 judged, 3 otherwise than recorded" in result.stdout


def test_an_archive_is_judged_too(recorded, upstream, tmp_path):
    gw, changed = recorded
    archive = tmp_path / "own.har"
    assert run_command("audit", "export", "--har", archive, "--file", gw.audit_file).returncode == 0
    code, judged, total = judge(gw.config_file, archive)
    assert code == 0 and total["judged"] == 4 and judged["denied"]["status"] == 401 and judged["denied"]["recorded"]["status"] == 401
    # One of a browser: no route, no outcome.
    entry = {"request": {"method": "GET", "url": f"http://127.0.0.1:{upstream.port}/denied"},
             "response": {"status": 200, "content": {"mimeType": "application/json", "text": json.dumps(ANSWERS["/denied"])}}}
    other = tmp_path / "other.har"
    other.write_text(json.dumps({"log": {"version": "1.2", "entries": [entry]}}, indent=2))
    code, judged, total = judge(gw.config_file, other)
    assert code == 0 and judged["denied"]["recorded"] is None and judged["denied"]["id"] == "entry-1"
    assert brief(judged)["denied"] == ("business_rejected", "10001", 401, "no")


@pytest.mark.parametrize("words,status,part", [
    ([], 2, "the file with the recorded answers is missing"), (["--policy", "none-such", "/dev/null"], 1, "there is no policy none-such"),
    (["/nowhere/a.jsonl"], 1, "can't read"), (["/nowhere/a.har"], 1, "no HTTP archive"),
])
def test_what_can_not_be_done_is_said(recorded, words, status, part):
    gw, _ = recorded
    result = run_command("test", "--config", gw.config_file, *words)
    assert result.returncode == status and part in result.stderr, result


def test_a_file_that_is_no_archive(recorded, tmp_path):
    gw, _ = recorded
    for number, text in enumerate(["", "{}", "[1", '{"log":{"entries":{}}}', '{"log":{"entries":[1,{},null]}}']):
        file = tmp_path / f"{number}.har"
        file.write_text(text)
        result = run_command("test", "--config", gw.config_file, file)
        assert (result.returncode == 0) == (number == 4), (text, result)
