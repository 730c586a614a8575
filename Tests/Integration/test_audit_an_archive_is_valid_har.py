"""audit export --har: valid by the schema of HAR 1.2, whatever the records hold; the times add up; the file is nobody else's."""

import json
import os
import stat

import jsonschema
import pytest

from client import Client, get
from gateway import ENVELOPE, configuration, run_command
from har_schema import HAR
from upstream import Answer


def validate(text):
    archive = json.loads(text)
    jsonschema.Draft7Validator.check_schema(HAR)
    jsonschema.validate(archive, HAR)
    for entry in archive["log"]["entries"]:
        phases = [entry["timings"][name] for name in ("blocked", "dns", "connect", "send", "wait", "receive")]
        assert abs(sum(phase for phase in phases if phase > 0) - entry["time"]) < 0.002, entry["timings"]
    return archive["log"]["entries"]


def test_what_a_gateway_wrote_becomes_an_archive(gateway, upstream, tmp_path):
    upstream.on("POST", "/api/ok", Answer(200, json_body='{"code":0}', headers=[("Set-Cookie", "a=b; HttpOnly"), ("X-Two", "1"), ("X-Two", "2")]))
    upstream.on("GET", "/api/bad", Answer(200, json_body='{"code":4,"msg":"余额"}'))
    gw = gateway(configuration(upstream, route={"path": "/api/*", "policy": "envelope"}, policies={"envelope": ENVELOPE}, audit={"bodies": "all"}))
    get(gw, "/api/ok?a=1&b=x%20y+z&c", method="POST", body=b"some=form", headers=[("Content-Type", "application/x-www-form-urlencoded"), ("Cookie", "k=v")])
    get(gw, "/api/bad")
    get(gw, "/nowhere")
    gw.wait_audit(3)
    with Client(gw.port) as client:
        client.send("BROKEN\r\n\r\n").read_response()
    records = gw.wait_audit(4)
    file = tmp_path / "all.har"
    result = run_command("audit", "export", "--har", file, "-c", gw.config_file)
    assert result.returncode == 0 and "4 records" in result.stderr, result.stderr
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600 and os.listdir(tmp_path / "gateway0") and len(list(tmp_path.glob("all.har*"))) == 1
    served, rejected, unrouted, malformed = validate(file.read_text(encoding="utf-8"))
    assert served["request"]["url"] == f"{gw.url}/api/ok?a=1&b=x%20y+z&c"
    assert served["request"]["queryString"] == [{"name": "a", "value": "1"}, {"name": "b", "value": "x y z"}, {"name": "c", "value": ""}]
    assert served["request"]["postData"] == {"mimeType": "application/x-www-form-urlencoded", "text": "some=form"}
    assert served["response"]["content"]["text"] == '{"code":0}' and served["startedDateTime"] == records[0]["time"]
    assert [pair["value"] for pair in served["response"]["headers"] if pair["name"] == "X-Two"] == ["1", "2"]
    assert (rejected["response"]["status"], rejected["_cryonet"]["business_code"], rejected["comment"].split(":")[0]) == (422, 4, "business_rejected")
    assert unrouted["response"]["statusText"] == "Not Found" and malformed["request"]["method"] == "UNKNOWN"
    only = run_command("audit", "export", "--har", "-", "-c", gw.config_file, "status=404")
    assert [entry["_cryonet"]["id"] for entry in validate(only.stdout)] == [records[2]["id"]]
    none = run_command("audit", "export", "--har", "-", "-c", gw.config_file, "status=299")
    assert none.returncode == 0 and validate(none.stdout) == []


@pytest.mark.parametrize("members", [
    {}, {"time": "never"}, {"time": 5}, {"target": "*"}, {"target": "http://h/x?y"}, {"target": None}, {"method": None, "target": "/\u0000\u001b\"<script>"},
    {"status": -5}, {"status": 10 ** 30}, {"status": "200"}, {"duration_us": -1}, {"duration_us": 1e300}, {"attempts": [{}]}, {"attempts": [5]},
    {"attempts": [{"duration_us": 5, "dns_us": 9, "connect_us": 1, "tls_us": 100, "first_byte_us": 50}], "duration_us": 3},
    {"request_headers": [["Host", "a b"], ["Cookie", "x=1; y; =z; q=w=e"], [], ["a"], [1, 2]], "response_headers": [["Set-Cookie", "***"], ["Location", "/x"]]},
    {"request_headers": "***", "request_body": 5, "response_body": {"a": 1}}, {"request_bytes": -7, "response_bytes": -1}, {"failure": "x", "steps": None},
    {"request_body": "\ud83d", "request_body_truncated": True, "response_body": "", "response_body_truncated": True},
])
def test_any_record_becomes_a_valid_entry(tmp_path, members):
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps({"id": "01JDX", "time": "2026-11-30T07:00:00.000000Z", "method": "GET", "target": "/x", "status": 200, **members}) + "\n")
    result = run_command("audit", "export", "--har", "-", "--file", file)
    assert result.returncode == 0, result.stderr
    assert len(validate(result.stdout)) == 1


def test_an_archive_that_cannot_be_written_leaves_nothing(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"id":"x"}\n')
    result = run_command("audit", "export", "--har", tmp_path / "no" / "x.har", "--file", file)
    assert result.returncode == 1 and "can't write" in result.stderr
    (tmp_path / "folder").mkdir()
    result = run_command("audit", "export", "--har", tmp_path / "folder", "--file", file)
    assert result.returncode == 1 and sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "folder"]
