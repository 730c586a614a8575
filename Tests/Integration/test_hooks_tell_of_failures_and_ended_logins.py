"""Hooks: a signed webhook or a command is told of failures and of ended logins, without secrets; it never delays or changes a reply."""

import hashlib
import hmac
import json
import os
import threading

from client import get
from failures import assert_failure
from gateway import ENVELOPE, configuration, merged
from upstream import Answer
from waiting import wait_until

SECRET = "the-hook-secret-0123456789"


def start(gateway, upstream, endpoint, token_hooks=(), policy_hooks=(), **options):
    tokens = {"app": endpoint.configuration(hooks=list(token_hooks))}
    policies = {"envelope": merged(ENVELOPE, {"hooks": list(policy_hooks)})}
    config = configuration(upstream, route={"token": "app", "policy": "envelope"}, tokens=tokens, policies=policies)
    return gateway(config, endpoint=endpoint, env={"HOOK_SECRET": SECRET}, secrets=[SECRET], **options)


def webhook(receiver, *events):
    return {"webhook": {"url": receiver.url + "/hook", "secret": "env:HOOK_SECRET"}, "events": list(events)}


def told(receiver, count):
    wait_until(lambda: len(receiver.requests) >= count, 10, f"{count} calls of the hook")
    assert len(receiver.requests) == count
    for request in receiver.requests:
        timestamp, signature = (part.partition("=")[2] for part in request.header("CryoNet-Signature").split(","))
        expected = hmac.new(SECRET.encode(), timestamp.encode() + b"." + request.body, hashlib.sha256).hexdigest()
        assert hmac.compare_digest(signature, expected)
        assert len(request.header("CryoNet-Delivery")) == 26
    return receiver.requests


def test_a_webhook_is_told_of_a_policy_s_failures(gateway, upstream, endpoint, make_upstream):
    receiver = make_upstream()
    receiver.on("POST", "/hook", Answer(204))
    upstream.on("GET", "/x", lambda r: Answer(200, json_body={"code": 7, "msg": "no", "echo": r.header("Authorization"), "password": "p-1"}))
    upstream.on("GET", "/fine", Answer(200, json_body={"code": 0}))
    gw = start(gateway, upstream, endpoint, policy_hooks=[webhook(receiver, "failure")])
    assert get(gw, "/fine").status == 200
    failure = assert_failure(get(gw, "/x"), 422, "business_rejected")
    request = told(receiver, 1)[0]
    assert request.header("CryoNet-Event") == "failure" and request.header("Content-Type") == "application/problem+json"
    body = json.loads(request.body)
    assert body["requestId"] == failure["requestId"] and body["responseData"]["code"] == 7
    assert endpoint.access.encode() not in request.body and b"p-1" not in request.body


def test_an_ended_login_is_told_once_however_many_requests_fail(gateway, upstream, endpoint, make_upstream):
    receiver = make_upstream()
    receiver.on("POST", "/hook", Answer(204))
    upstream.on("GET", "/x", endpoint.guard(Answer(200, json_body={"code": 0})))
    endpoint.revoke()
    endpoint.refresh = "another"
    endpoint.hold_refusals_until(8)
    gw = start(gateway, upstream, endpoint, token_hooks=[webhook(receiver, "session_expired"), webhook(receiver, "failure")])
    replies = []
    threads = [threading.Thread(target=lambda: replies.append(get(gw, "/x"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session = {assert_failure(reply, 401, kind="authenticationExpired")["authenticationRevision"] for reply in replies}
    requests = told(receiver, 9)
    ended = [json.loads(r.body) for r in requests if r.header("CryoNet-Event") == "session_expired"]
    assert len(session) == 1 and len(endpoint.calls) == 1
    assert [(e["event"], e["token"], e["session"]) for e in ended] == [("session_expired", "app", session.pop())]


def test_a_hook_that_hangs_or_fails_changes_no_reply(gateway, upstream, endpoint, make_upstream):
    hanging, failing = make_upstream(), make_upstream()
    gate = threading.Event()
    hanging.on("POST", "/hook", Answer(204, gate=gate))
    failing.on("POST", "/hook", Answer(500, "no"))
    upstream.on("GET", "/x", Answer(500, json_body={"message": "broken"}))
    gw = start(gateway, upstream, endpoint, policy_hooks=[webhook(hanging, "failure"), webhook(failing, "failure")])
    for _ in range(20):
        assert_failure(get(gw, "/x"), 500, "upstream_status")
    wait_until(lambda: len(failing.requests) == 20, 10, "20 calls of the failing hook")
    assert len(hanging.requests) == 1
    gate.set()
    wait_until(lambda: len(hanging.requests) == 20, 10, "20 calls of the other hook")
    wait_until(lambda: "hook of policy envelope: the webhook answered 500" in gw.stderr(), 10, "a line about the hook")
    assert gw.stderr().count("the webhook answered 500") == 5


def test_a_command_gets_the_event_on_its_input(gateway, upstream, endpoint, tmp_path):
    upstream.on("GET", "/x", Answer(503, json_body={"message": "down"}))
    script = tmp_path / "hook.sh"
    script.write_text('#!/bin/sh\nenv > "$1.env"\ncat > "$1.new"\nmv "$1.new" "$1"\n')
    script.chmod(0o700)
    told_file = tmp_path / "told.json"
    hook = {"command": [str(script), str(told_file)], "events": ["failure"]}
    gw = start(gateway, upstream, endpoint, policy_hooks=[hook])
    failure = assert_failure(get(gw, "/x"), 503, "upstream_status")
    wait_until(lambda: os.path.exists(told_file), 10, "the command's file")
    assert json.loads(told_file.read_text())["requestId"] == failure["requestId"]
    environment = (tmp_path / "told.json.env").read_text()
    assert "CRYONET_EVENT=failure" in environment
    assert not any(token in environment for token in [*endpoint.tokens, SECRET])


def test_a_secret_that_is_not_there_is_told_at_the_start(gateway, upstream, endpoint, make_upstream):
    receiver = make_upstream()
    receiver.on("POST", "/hook", Answer(204))
    upstream.on("GET", "/x", Answer(500, json_body={}))
    gw = start(gateway, upstream, endpoint, policy_hooks=[webhook(receiver, "failure")])
    changed = merged(gw.config, {})
    changed["policies"]["envelope"]["hooks"][0]["webhook"]["secret"] = "env:NOT_THERE"
    gw.expected_errors.append("NOT_THERE")
    gw.reload(changed)
    # The old configuration stays, with its hooks.
    assert_failure(get(gw, "/x"), 500)
    told(receiver, 1)
