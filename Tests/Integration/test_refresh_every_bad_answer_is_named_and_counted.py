"""What a token endpoint, a file, a command and a store file may do wrong: each has a name in the log and a counter in the metrics, costs
the exchange at hand and nothing else, and the token comes when it is mended."""

import json
import os
import socket
import stat
import threading

import pytest

from admin import Admin, sample, with_admin
from client import get
from gateway import configuration
from redis_server import free_port
from token_endpoint import TokenEndpoint
from upstream import Answer, CLOSE, script
from waiting import wait_until

EXPECTED_LOG = [r"warning (token|session) "]

TOKEN = "the-token-at-last-0123456789"


def good(**members):
    return Answer(json_body={"code": 0, "data": {"token": TOKEN, **members}})


# What the endpoint answers, and the name of that.
ANSWERS = {
    "empty": (Answer(200, ""), "answer_empty"),
    "html": (Answer(200, "<html><body>Sign in to the hotel's network</body></html>", [("Content-Type", "text/html")]), "answer_not_json"),
    "cut off": (Answer(200, '{"code":0,"data":{"token":"the-tok'), "answer_not_json"),
    "huge": (Answer(json_body={"code": 0, "data": {"token": TOKEN}, "filler": "x" * 300_000}), "answer_too_large"),
    "huge beyond all bounds": (Answer(json_body={"filler": "x" * 3_000_000}), "answer_too_large"),
    "without token": (Answer(json_body={"code": 0, "data": {}}), "token_absent"),
    "null token": (Answer(json_body={"code": 0, "data": {"token": None}}), "token_absent"),
    "number token": (Answer(json_body={"code": 0, "data": {"token": 7}}), "token_wrong_type"),
    "list token": (Answer(json_body={"code": 0, "data": {"token": [TOKEN]}}), "token_wrong_type"),
    "token with a line break": (Answer(json_body={"code": 0, "data": {"token": "a\r\nX: y"}}), "token_unusable"),
    "already over": (good(expiresAt=1000), "token_expired"),
    "status 500": (Answer(500, "down"), "answer_status"),
    "redirect": (Answer(307, "", [("Location", "/elsewhere")]), "answer_status"),
    "transient code": (Answer(json_body={"code": 50301}), "answer_code"),
    "hangs up": (script(CLOSE), "call_failed"),
    "hangs up in the middle": (script(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"code\":", CLOSE), "call_failed"),
    "no HTTP": (script(b"SSH-2.0-OpenSSH_9.2\r\n", CLOSE), "call_failed"),
    "silence": (Answer(script=["stall"]), "timed_out"),
}


def login(url, timeout_ms=20_000):
    """A source that begins without a token."""
    fields = {"token": "data.token", "refresh_token": "data.refreshToken", "expires_in": "data.expiresIn", "expires_at": "data.expiresAt"}
    return {"login": {"sign_in": {"url": url, "json": {"user": "alice"}}, "fields": fields, "success": {"field": "code", "equals": 0},
                      "transient_codes": [50301]}, "refresh": {"timeout_ms": timeout_ms}}


def start(gateway, upstream, section, **options):
    upstream.on("GET", "/x", lambda request: Answer(200, "in"))
    gw = gateway(with_admin(configuration(upstream, route={"token": "app"}, tokens={"app": section})), secrets=[TOKEN], **options)
    return gw, Admin(gw)


def assert_named(gw, admin, outcome):
    """One failed exchange: 502 or 401 with the reason, the name in the log, the counter in both places."""
    response = get(gw, "/x")
    assert response.header("CryoNet-Failure") == "authenticationExpired/token_unavailable", response.body
    wait_until(lambda: f"({outcome})" in gw.stderr(), 5, f"{outcome} in the log")
    assert admin.token()["asked"] == {outcome: 1}
    assert sample(admin.metrics(), "cryonet_token_source_outcomes_total", token="app", outcome=outcome) == 1


def assert_mended(gw):
    """The back-off is a second."""
    wait_until(lambda: get(gw, "/x").status == 200, 30, "the token at last")


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_of_an_endpoint(gateway, upstream, case):
    answer, outcome = ANSWERS[case]
    upstream.on("POST", "/login", answer, good())
    gw, admin = start(gateway, upstream, login(upstream.url + "/login", timeout_ms=700 if outcome == "timed_out" else 20_000))
    assert_named(gw, admin, outcome)
    assert_mended(gw)
    assert admin.token()["asked"]["issued"] == 1


def test_an_endpoint_that_nobody_serves(gateway, upstream):
    gw, admin = start(gateway, upstream, login(f"http://127.0.0.1:{free_port()}/login"))
    assert_named(gw, admin, "connect_failed")


def test_an_endpoint_whose_certificate_nobody_vouches_for(gateway, upstream, make_upstream, leaf):
    secure = make_upstream(tls=leaf)
    gw, admin = start(gateway, upstream, login(f"https://localhost:{secure.port}/login"))
    assert_named(gw, admin, "tls_failed")
    assert secure.requests == []


def test_an_endpoint_that_speaks_no_tls(gateway, upstream):
    with socket.create_server(("127.0.0.1", 0)) as server:
        def greet():
            connection, _ = server.accept()
            connection.sendall(b"220 mail.example.com ESMTP\r\n")
            connection.recv(65536)
            connection.close()
        threading.Thread(target=greet, daemon=True).start()
        gw, admin = start(gateway, upstream, login(f"https://127.0.0.1:{server.getsockname()[1]}/login"))
        assert_named(gw, admin, "tls_failed")


@pytest.mark.parametrize("told, is_believed", [("3600", True), (3600, True), (3600.5, True), (-3600, False), ("soon", False), (0, False),
                                               (10 ** 12, False), (True, False), ([3600], False)])
def test_lifetimes(gateway, upstream, told, is_believed):
    """A token is taken whatever is said of its life; what can't be is not believed, and counted."""
    upstream.on("POST", "/login", good(expiresIn=told))
    gw, admin = start(gateway, upstream, login(upstream.url + "/login"))
    assert get(gw, "/x").status == 200
    token = admin.token()
    assert token["asked"] == ({"issued": 1} if is_believed else {"issued": 1, "lifetime_ignored": 1})
    assert (token["expiresAt"] is not None) == is_believed


def test_a_secret_that_is_not_there(gateway, upstream, tmp_path):
    section = login(upstream.url + "/login")
    section["login"]["sign_in"]["json"]["password"] = f"file:{tmp_path}/password"
    upstream.on("POST", "/login", good())
    gw, admin = start(gateway, upstream, section)
    assert_named(gw, admin, "secret_unavailable")
    assert upstream.to("/login") == []
    (tmp_path / "password").write_text("p\n")
    assert_mended(gw)


def test_a_key_that_signs_nothing(gateway, upstream, tmp_path):
    (tmp_path / "key.pem").write_text("-----BEGIN NOTHING-----\n")
    section = {"oauth2": {"token_endpoint": upstream.url + "/token", "client_id": "me", "auth_method": "private_key_jwt",
                          "private_key": f"file:{tmp_path}/key.pem"}}
    gw, admin = start(gateway, upstream, section)
    assert_named(gw, admin, "key_unusable")


def test_nothing_to_refresh_with(gateway, upstream):
    section = {"login": {"refresh": {"url": upstream.url + "/r", "form": {"rt": "{refresh_token}"}}, "fields": {"token": "t"}},
               "initial": {"token": "env:APP_TOKEN"}}
    gw, admin = start(gateway, upstream, section, env={"APP_TOKEN": TOKEN})
    upstream.on("GET", "/x", Answer(401, "no"))
    assert get(gw, "/x").status == 401
    assert admin.token()["asked"] == {"no_credential": 1} and upstream.to("/r") == []


# Files

def unreadable(path):
    os.symlink(path.name, path)


FILES = {
    "missing": (lambda path: None, "file_missing"),
    "a directory": (lambda path: path.mkdir(), "file_not_regular"),
    "a pipe": (lambda path: os.mkfifo(path), "file_not_regular"),
    "empty": (lambda path: path.write_text(""), "file_empty"),
    "only a line break": (lambda path: path.write_text("\r\n"), "file_empty"),
    "half written": (lambda path: path.write_bytes(b"the-tok\x00\x00\x00"), "token_unusable"),
    "too large": (lambda path: path.write_text("x" * 2_000_000), "file_too_large"),
    "unreadable": (unreadable, "file_unreadable"),
}


@pytest.mark.parametrize("case", FILES)
def test_files(gateway, upstream, tmp_path, case):
    make, outcome = FILES[case]
    path = tmp_path / "token"
    make(path)
    gw, admin = start(gateway, upstream, {"file": {"path": str(path)}})
    assert_named(gw, admin, outcome)
    fresh = tmp_path / "fresh"
    fresh.write_text(TOKEN + "\n")
    if path.is_dir():
        path.rmdir()
    os.rename(fresh, path)
    assert_mended(gw)


def test_a_file_without_permission(gateway, upstream, tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user reads every file")
    gw, admin = start(gateway, upstream, {"file": {"path": str(path)}})
    assert_named(gw, admin, "file_unreadable")
    path.chmod(0o600)
    assert_mended(gw)


# Commands

COMMANDS = {
    "hangs": ("exec sleep 600", "command_timed_out"),
    "prints megabytes": ("exec yes", "command_output_too_large"),
    "fails": ("exit 3", "command_failed"),
    "is killed": ("kill -9 $$", "command_killed"),
    "prints nothing": ("true", "answer_empty"),
    "prints half of it": ("echo '{\"token\": \"the-tok'", "answer_not_json"),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_commands(gateway, upstream, tmp_path, case):
    text, outcome = COMMANDS[case]
    path, gate = tmp_path / "command", tmp_path / "gate"
    path.write_text(f"#!/bin/sh\nif [ -e {gate} ]; then echo {TOKEN}; exit 0; fi\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    timeout = 700 if outcome == "command_timed_out" else 20_000
    gw, admin = start(gateway, upstream, {"exec": {"command": [str(path)]}, "refresh": {"timeout_ms": timeout}})
    assert_named(gw, admin, outcome)
    gate.write_text("")
    assert_mended(gw)


def test_a_command_that_is_not_there(gateway, upstream, tmp_path):
    gw, admin = start(gateway, upstream, {"exec": {"command": [str(tmp_path / "nothing")]}})
    assert_named(gw, admin, "command_not_started")


# Stores: what they may do wrong is in test_store_what_can_go_wrong_with_the_file_is_named.py; here, that it is counted.

@pytest.mark.parametrize("text", ['{"version":2,"token":"t","refresh_token":"r","expires_at":null}\n', '{"version":1,"token":"t","re', ""])
def test_store_files(gateway, upstream, tmp_path, text):
    endpoint = TokenEndpoint(upstream)
    store = tmp_path / "app.json"
    store.write_text(text)
    gw, admin = start(gateway, upstream, endpoint.configuration(store), endpoint=endpoint)
    assert admin.token()["store"]["events"] == {"corrupt_kept_aside": 1}
    assert sample(admin.metrics(), "cryonet_token_store_events_total", token="app", event="corrupt_kept_aside") == 1
    assert (tmp_path / "app.json.corrupt").read_text() == text
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    endpoint.revoke()
    assert get(gw, "/x").status == 200
    assert json.loads(store.read_text())["token"] == endpoint.access
