"""curl ID and replay ID: the same request byte for byte, through the gateway or to the upstream; nothing that was taken out is sent."""

import json
import subprocess

import pytest

from client import get
from gateway import configuration, run_command
from upstream import Answer

TOKEN = "live-token-5f1c9a"
TRICKY = b"it's \"quoted\" $(id) `id` \\n @file\n%s{a,b}\t\xe4\xbd\x99"


def recording(upstream, **sections):
    return configuration(upstream, route={"path": "/api/*", "token": "app", "strip_prefix": "/api"},
                         tokens={"app": {"env": {"name": "APP_TOKEN"}}}, audit={"bodies": "all"}, **sections)


@pytest.fixture
def recorded(gateway, upstream):
    upstream.on("POST", "/x", Answer(200, json_body='{"ok":true}')).on("GET", "/plain", Answer(200, json_body="{}"))
    gw = gateway(recording(upstream), env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])
    get(gw, "/api/x?q=[1]{a,b}'$(id)", method="POST", body=TRICKY, headers=[("X-Odd", "a'b\"c $HOME `id`"), ("Content-Type", "text/plain")])
    return gw, gw.wait_audit(1)[0]


def sent(upstream, count):
    upstream.wait_requests(count)
    return upstream.requests[count - 1]


def same(first, second):
    assert (first.line, first.body) == (second.line, second.body)
    for name in ("X-Odd", "Content-Type", "Authorization"):
        assert first.header(name) == second.header(name), name


def shell(text, env=None):
    return subprocess.run(["sh"], input=text, capture_output=True, text=True, timeout=30, env={"PATH": "/usr/bin:/bin", **(env or {})})


def test_a_curl_command_repeats_the_request(recorded, upstream):
    gw, record = recorded
    command = run_command("curl", record["id"], "-c", gw.config_file, "--ready-file", gw.ready_file)
    assert command.returncode == 0 and TOKEN not in command.stdout, command.stderr
    done = shell(command.stdout)
    assert done.returncode == 0 and done.stdout == '{"ok":true}', done.stderr
    same(sent(upstream, 1), sent(upstream, 2))
    gw.wait_audit(2)


def test_a_direct_command_has_the_token_as_a_variable(recorded, upstream):
    gw, record = recorded
    direct = run_command("curl", "--direct", record["id"], "-c", gw.config_file, env={"APP_TOKEN": TOKEN})
    assert direct.returncode == 0 and TOKEN not in direct.stdout + direct.stderr and '"$TOKEN"' in direct.stdout
    assert upstream.url in direct.stdout and shell(direct.stdout, {"TOKEN": TOKEN}).returncode == 0
    same(sent(upstream, 1), sent(upstream, 2))
    revealed = run_command("curl", "--direct", "--reveal", record["id"], "-c", gw.config_file, env={"APP_TOKEN": TOKEN})
    assert TOKEN in revealed.stdout and shell(revealed.stdout).returncode == 0
    same(sent(upstream, 1), sent(upstream, 3))
    assert run_command("curl", "--reveal", record["id"], "-c", gw.config_file).returncode == 2


def test_a_replay_goes_through_the_gateway(recorded, upstream):
    gw, record = recorded
    result = run_command("replay", record["id"], "-c", gw.config_file, "--ready-file", gw.ready_file)
    assert (result.returncode, result.stdout, result.stderr) == (0, '{"ok":true}', "200\n")
    same(sent(upstream, 1), sent(upstream, 2))
    assert gw.wait_audit(2)[1]["request_id"] == f"replay-{record['id']}"
    as_json = run_command("replay", "--json", record["id"][-10:], "-c", gw.config_file, "--gateway", gw.url)
    assert json.loads(as_json.stdout) == {"status": 200, "body": '{"ok":true}'}
    gw.wait_audit(3)


def test_a_verbatim_replay_asks_the_upstream(recorded, upstream):
    gw, record = recorded
    result = run_command("replay", "--verbatim", "--header", "Authorization: Bearer other", record["id"], "-c", gw.config_file)
    assert result.returncode == 0, result.stderr
    first, second = sent(upstream, 1), sent(upstream, 2)
    assert (first.line, first.body, first.header("X-Odd")) == (second.line, second.body, second.header("X-Odd"))
    assert second.header("Authorization") == "Bearer other" and len(gw.audit()) == 1
    assert not [value for _, value in second.headers if "***" in value]


def test_an_answer_that_is_a_failure_fails(recorded, upstream):
    gw, record = recorded
    upstream.on("POST", "/x", Answer(500, body=b"no"))
    result = run_command("replay", record["id"], "-c", gw.config_file, "--gateway", gw.url)
    assert result.returncode == 1 and result.stderr.startswith("500")
    gw.wait_audit(2)
    nobody = run_command("replay", record["id"], "-c", gw.config_file, "--gateway", "http://127.0.0.1:1")
    assert nobody.returncode == 1 and "no answer" in nobody.stderr


@pytest.mark.parametrize("members,part", [
    ({}, "keeps no request headers"), ({"request_headers": [], "request_bytes": 7}, "a body of 7 bytes"),
    ({"request_headers": [], "request_body": "abc", "request_body_truncated": True, "request_bytes": 9}, "only the first 3 bytes"),
    ({"request_headers": [], "request_body": '{"password":"***"}', "request_bytes": 9}, "a value in the body"),
    ({"request_headers": [["Cookie", "***"]]}, "the header Cookie"), ({"request_headers": [["X-Key", "hmac:" + "0f" * 16]]}, "the header X-Key"),
    ({"request_headers": [], "target": "/a?token=***"}, "a value in the target"), ({"request_headers": [["X-A", "a\r\nEvil: 1"]]}, "can't be sent"),
    ({"request_headers": [], "method": "OPTIONS", "target": "*"}, "asked the server itself"), ({"method": None}, "no request that could be sent"),
    ({"method": "CONNECT", "target": "a:443"}, "no request that could be sent"),
])
def test_what_is_not_whole_is_not_replayed(tmp_path, upstream, members, part):
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps({"id": "01JDX7", "method": "POST", "target": "/x", "upstream": "api", **members}) + "\n")
    result = run_command("replay", "01JDX7", "--file", file, "--gateway", upstream.url)
    assert result.returncode == 1 and part in result.stderr and result.stdout == ""
    assert upstream.requests == []


def test_a_masked_field_may_be_named_anew(tmp_path, upstream):
    upstream.on("GET", "/x", "ok")
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps({"id": "01JDX7", "method": "GET", "target": "/x", "request_headers": [["Cookie", "***"], ["Authorization", "***"]]}) + "\n")
    result = run_command("replay", "01JDX7", "--file", file, "--gateway", upstream.url, "--header", "Cookie: a=b")
    assert (result.returncode, result.stdout) == (0, "ok"), result.stderr
    request = sent(upstream, 1)
    assert request.header("Cookie") == "a=b" and request.header("Authorization") is None


def test_a_socket_file_is_reached_too(gateway, upstream, tmp_path):
    upstream.on("GET", "/plain", "yes")
    config = recording(upstream, listen={"address": f"unix:{tmp_path}/s"})
    gw = gateway(config, env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps({"id": "01JDX7", "method": "GET", "target": "/api/plain", "request_headers": [["Host", "localhost"]]}) + "\n")
    result = run_command("replay", "01JDX7", "--file", file, "-c", gw.config_file)
    assert (result.returncode, result.stdout) == (0, "yes"), result.stderr
    command = run_command("curl", "01JDX7", "--file", file, "-c", gw.config_file)
    assert shell(command.stdout).stdout == "yes"
    gw.wait_audit(2)
