"""explain METHOD URL: the route and why the others are passed over, token, headers, policy; refusals; nothing is sent."""

import json

import pytest

from gateway import run_command

CONFIG = {
    "listen": {"address": "127.0.0.1:8080"},
    "upstreams": {"api": {"url": "https://api.example.com/v1", "headers": {"X-App": "1"}}, "files": {"url": "http://files.example.com:9000"}},
    "tokens": {"app": {"static": {"token": "secret-token-abcdef"}, "refresh": {"on_business_codes": [10001]}}},
    "policies": {"envelope": {"success": {"field": "code", "equals": 0}, "failure": {"status": 422, "session_expired": [10001]}}},
    "routes": [
        {"name": "login", "path": "/auth/*", "upstream": "api", "token": "none", "methods": ["POST"]},
        {"name": "files", "path": "/files/*", "upstream": "files", "strip_prefix": "/files", "token": "none"},
        {"name": "all", "path": "/*", "upstream": "api", "token": "app", "policy": "envelope", "retry": {"limit": 2}},
    ],
}


@pytest.fixture
def explain(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(json.dumps(CONFIG))

    def run(*words):
        result = run_command("explain", "-c", file, *words)
        assert "secret-token" not in result.stdout + result.stderr
        return result
    return run


def test_the_route_token_and_policy_are_told(explain):
    result = explain("get", "/news/list?page=2")
    assert result.returncode == 0, result.stderr
    for part in ("login (/auth/*): no, the path is another", "all (/*): yes", "api: https://api.example.com/v1/news/list?page=2",
                 "app (static) as header Authorization: Bearer …", "on 401, code 10001", "X-App: set to 1", "envelope: envelopes are judged",
                 "codes that end the login: 10001", "up to 2 times"):
        assert part in result.stdout, (part, result.stdout)


def test_methods_prefixes_and_own_values_count(explain):
    assert "login (/auth/*): no, only POST" in explain("GET", "/auth/x").stdout
    login = explain("POST", "http://127.0.0.1:8080/auth/x").stdout
    assert "login (/auth/*): yes" in login and "all (/*): not looked at" in login and "none is injected" in login
    assert "files: http://files.example.com:9000/a%20b?c" in explain("/files/a%20b?c").stdout
    kept = explain("/x", "-H", "Authorization: mine", "-H", "X-App: 2").stdout
    assert "the client's own Authorization: replace" in kept and "X-App: the client's is kept" in kept


def test_a_proxys_target_goes_to_its_upstream(explain):
    result = explain("http://files.example.com:9000/files/plain")
    assert result.returncode == 0 and "files: http://files.example.com:9000/files/plain" in result.stdout, result.stdout
    assert "all (/*): no, the target names another upstream" in explain("http://files.example.com:9000/plain").stdout
    assert explain("http://elsewhere.example.com/x").returncode == 1


@pytest.mark.parametrize("words,status,part", [
    (["/x", "-H", "Host: evil.example.com"], 1, "host_denied"), (["/x", "-H", "Origin: https://evil.example.com"], 1, "origin_denied"),
    (["/a/../b"], 1, "request_malformed"), (["TRACE", "/x"], 1, "501"), (["G@T", "/x"], 1, "refused with"), (["x"], 2, "begins with /"), ([], 2, "URL is missing"),
    (["OPTIONS", "*"], 0, "204 by the gateway itself"), (["/x", "-H", "nocolon"], 2, "Name: value"),
])
def test_what_is_refused_is_told(explain, words, status, part):
    result = explain(*words)
    assert result.returncode == status and part in result.stdout + result.stderr, result


def test_json_holds_the_same(explain):
    told = json.loads(explain("--json", "/news").stdout)
    assert told["taken"] is True and {"about": "route", "text": "all (/*): yes"} in told["explanation"]
