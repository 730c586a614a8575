"""The admin listener: its key for /api, its Host and Origin rules for everything, open health and metrics, strict framing. (design §10)"""

import json
import os
import stat

import pytest

from admin import Admin, with_admin
from client import Client
from failures import assert_failure
from gateway import configuration, run_command


@pytest.fixture
def admin(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(with_admin(configuration(upstream, route={"token": "app"}, tokens={"app": {"env": {"name": "APP_TOKEN"}}})),
                 env={"APP_TOKEN": "the-value-of-the-token"}, secrets=["the-value-of-the-token"])
    return Admin(gw)


def test_the_key_is_in_a_file_of_the_user_alone_and_in_the_log(admin):
    assert stat.S_IMODE(os.stat(admin.key_file).st_mode) == 0o600
    with open(admin.key_file, encoding="utf-8") as file:
        content = json.load(file)
    assert content == {"admin": admin.gateway.ready["admin"], "key": admin.key, "pid": admin.gateway.pid}
    assert len(admin.key) == 64
    assert f"admin key {admin.key}" in admin.gateway.stderr()
    admin.gateway.finish()
    assert not os.path.exists(admin.key_file)


@pytest.mark.parametrize("path", ["/api/tokens", "/api/sessions", "/api/config", "/api/openapi.json", "/api/nothing"])
def test_nothing_below_api_without_the_key(admin, path):
    for key in (False, "wrong", admin.key[:-1], admin.key + "0", admin.key.upper() + "x"):
        answer = admin.get(path, key=key)
        assert_failure(answer, 401, "admin_key_missing", "http", "route")
        assert answer.header("WWW-Authenticate") == 'Bearer realm="cryonet admin"'
    assert admin.get(path).status == (404 if path == "/api/nothing" else 200)


def test_calls_that_change_need_the_key_too(admin):
    for method, path in [("PUT", "/api/tokens/app"), ("POST", "/api/tokens/app/clear"), ("POST", "/api/sessions/app/logout"),
                         ("POST", "/api/reload"), ("POST", "/api/drain")]:
        assert_failure(admin.call(method, path, {}, key=False), 401, "admin_key_missing")
    assert admin.token()["version"] == 1
    assert admin.get("/readyz", key=False).status == 200


def test_health_and_metrics_are_open(admin):
    for path in ("/livez", "/readyz", "/startupz"):
        answer = admin.get(path, key=False)
        assert answer.status == 200 and answer.json()["status"] == "ok"
        # A probe names whatever address it has found.
        assert admin.get(path, key=False, host="10.1.2.3:8081").status == 200
    assert admin.get("/metrics", key=False).status == 200


@pytest.mark.parametrize("path", ["/metrics", "/api/tokens", "/"])
def test_a_rebound_name_gets_nothing(admin, path):
    assert_failure(admin.get(path, host="evil.example"), 421, "host_denied", step="route")
    assert admin.get(path, host=f"localhost:{admin.port}").status != 421


@pytest.mark.parametrize("path", ["/metrics", "/api/tokens", "/livez"])
def test_a_page_of_another_site_gets_nothing(admin, path):
    for field in [("Origin", "https://evil.example"), ("Origin", "null"), ("Origin", "http://localhost:1"),
                  ("Sec-Fetch-Site", "cross-site")]:
        assert_failure(admin.get(path, headers=[field]), 403, "origin_denied", step="route")
    assert admin.get(path, headers=[("Origin", admin.url)]).status == 200


def test_unknown_paths_and_methods_are_told(admin):
    assert_failure(admin.get("/api/tokens/nobody"), 404, "route_not_found", message="there is no token of that name")
    assert_failure(admin.get("/nothing"), 404, "route_not_found")
    answer = admin.call("DELETE", "/api/tokens")
    assert_failure(answer, 405, "request_malformed")
    assert answer.header("Allow") == "GET, HEAD"
    assert_failure(admin.call("GET", "/api/reload"), 405, "request_malformed")
    head = admin.call("HEAD", "/api/tokens")
    assert head.status == 200 and head.body == b"" and int(head.header("Content-Length")) > 0


def test_framing_is_as_strict_as_on_the_data_side(admin):
    with Client(admin.port) as client:
        client.send(b"PUT /api/tokens/app HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert_failure(client.read_response(), 400, "request_malformed", step="read")
        client.assert_closed()
    with Client(admin.port) as client:
        answer = client.request("PUT", "/api/tokens/app", [("Authorization", f"Bearer {admin.key}")], b"x" * 300_000)
        assert_failure(answer, 413, "request_too_large")


def test_a_configured_key_is_written_nowhere(gateway, upstream):
    key = "a-key-that-the-configuration-names"
    gw = gateway(with_admin(configuration(upstream), key="env:ADMIN_KEY"), env={"ADMIN_KEY": key}, secrets=[key])
    admin = Admin(gw)
    assert admin.key is None
    admin.key = key
    assert admin.get("/api/tokens").status == 200
    assert key.encode() not in admin.get("/api/config").body
    listed = run_command("token", "list", "--ready-file", gw.ready_file, env={"CRYONET_ADMIN_KEY": key})
    assert listed.returncode == 0, listed.stderr
    refused = run_command("token", "list", "--ready-file", gw.ready_file)
    assert refused.returncode == 1 and "admin_key_missing" in refused.stderr


def test_a_unix_socket_works_as_well(gateway, upstream, tmp_path):
    path = tmp_path / "admin.sock"
    gw = gateway(with_admin(configuration(upstream), address=f"unix:{path}"))
    assert gw.ready["admin"] == f"unix:{path}"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    listed = run_command("token", "list", "--json", "--ready-file", gw.ready_file)
    assert listed.returncode == 0 and json.loads(listed.stdout) == {"tokens": []}
