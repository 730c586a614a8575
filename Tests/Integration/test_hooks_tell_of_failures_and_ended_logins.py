"""Hooks: a signed webhook or a command is told of failures and of ended logins, without secrets; it never delays or changes a reply."""

import hashlib
import hmac
import json
import os
import threading

from admin import Admin, sample, with_admin
from client import Client, get
from failures import assert_failure
from gateway import ENVELOPE, configuration, merged, together
from token_endpoint import TokenEndpoint
from upstream import Answer
from waiting import wait_until

SECRET = "the-hook-secret-0123456789"
EXPECTED_LOG = [r"token \w+: refresh", r"session \w+.*: expired", r"hook of "]


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


def shared(gateway, upstream, receivers, policy_hooks=(), **failure):
    """Tokens `one` and `two` of session `user`, each with a hook of its own and a route."""
    endpoints = {name: TokenEndpoint(upstream, f"/auth/{name}") for name in receivers}
    env = {"HOOK_SECRET": SECRET}
    tokens, routes = {}, []
    for name, endpoint in endpoints.items():
        env |= {f"{name.upper()}_TOKEN": endpoint.access, f"{name.upper()}_REFRESH": endpoint.refresh}
        receivers[name].on("POST", "/hook", Answer(204))
        tokens[name] = endpoint.configuration(session="user", hooks=[webhook(receivers[name], "session_expired")], initial={
            "token": f"env:{name.upper()}_TOKEN", "refresh_token": f"env:{name.upper()}_REFRESH"})
        routes.append({"name": name, "path": f"/{name}", "upstream": "api", "token": name, "policy": "envelope"})
    policies = {"envelope": merged(ENVELOPE, {"hooks": list(policy_hooks), "failure": failure})}
    config = configuration(upstream, tokens=tokens, policies=policies)
    config["routes"] = routes
    return gateway(with_admin(config), env=env, secrets=list(env.values())), endpoints


def ended(receiver):
    return [(event["event"], event["token"]) for event in map(json.loads, (request.body for request in told(receiver, 1)))]


def test_the_end_of_a_shared_login_is_told_to_each_token_s_hook_once(gateway, upstream, make_upstream):
    receivers = {"one": make_upstream(), "two": make_upstream()}
    policy = make_upstream()
    policy.on("POST", "/hook", Answer(204))
    for name in receivers:
        upstream.on("GET", f"/{name}", Answer(json_body={"code": 40300, "msg": "log in again"}))
    gw, _ = shared(gateway, upstream, receivers, [webhook(policy, "session_expired")], session_expired=[40300])
    replies = together(6, lambda index: get(gw, "/one" if index % 2 else "/two"))
    assert all(reply.status == 401 for reply in replies), [reply.status for reply in replies]
    assert ended(receivers["one"]) == [("session_expired", "one")]
    assert ended(receivers["two"]) == [("session_expired", "two")]
    assert len(told(policy, 1)) == 1
    assert Admin(gw).session("user")["events"]["session_expired"] == 1


def test_a_logout_that_somebody_asked_for_is_no_expiry(gateway, upstream, make_upstream):
    receivers = {"one": make_upstream(), "two": make_upstream()}
    upstream.on("GET", "/one", Answer(json_body={"code": 40300, "msg": "log in again"}))
    gw, _ = shared(gateway, upstream, receivers, session_expired=[40300])
    admin = Admin(gw)
    first = admin.session("user")["revision"]
    admin.json("POST", "/api/sessions/user/logout")
    new = {"one": {"token": "the-next-token-of-one"}, "two": {"token": "the-next-token-of-two"}}
    gw.secrets |= {token["token"] for token in new.values()}
    second = admin.json("POST", "/api/sessions/user/login", {"tokens": new})["revision"]
    assert_failure(get(gw, "/one"), 401)
    # The first event that comes is of the second login, for both: the logout has told nothing.
    for receiver in receivers.values():
        assert json.loads(told(receiver, 1)[0].body)["session"] == second != first


def test_what_became_of_the_events_is_counted(gateway, upstream, endpoint, make_upstream):
    receiver, failing, hanging = make_upstream(), make_upstream(), make_upstream()
    gate = threading.Event()
    receiver.on("POST", "/hook", Answer(204))
    failing.on("POST", "/hook", Answer(500, "no"))
    hanging.on("POST", "/hook", Answer(204, gate=gate))
    upstream.on("GET", "/x", Answer(200, json_body={"code": 7}))
    upstream.on("GET", "/dead", Answer(401))
    tokens = {"app": endpoint.configuration(hooks=[webhook(receiver, "failure")])}
    policies = {"envelope": merged(ENVELOPE, {"hooks": [webhook(receiver, "failure"), webhook(failing, "failure")]}),
                "slow": merged(ENVELOPE, {"hooks": [{**webhook(hanging, "failure"), "timeout_ms": 60_000}]}), "quiet": ENVELOPE}
    config = configuration(upstream, route={"token": "app", "policy": "envelope"}, tokens=tokens, policies=policies)
    config["routes"].insert(0, {**config["routes"][0], "name": "slow", "path": "/slow/*", "strip_prefix": "/slow", "policy": "slow"})
    gw = gateway(with_admin(config), endpoint=endpoint, env={"HOOK_SECRET": SECRET}, secrets=[SECRET])
    admin = Admin(gw)

    def counts(owner, name):
        metrics = admin.metrics()
        return [sample(metrics, "cryonet_hook_events_total", **{owner: name}, outcome=outcome)
                for outcome in ("sent", "failed", "dropped")]
    assert counts("policy", "envelope") == [0, 0, 0] and counts("policy", "quiet") == [None] * 3
    for _ in range(3):
        assert get(gw, "/x").status == 422
    wait_until(lambda: counts("policy", "envelope") == [3, 3, 0], 20, "three events sent and three failed")
    assert counts("token", "app") == [0, 0, 0], "a business failure is none of the token's"
    assert get(gw, "/dead").status == 401
    wait_until(lambda: counts("token", "app") == [1, 0, 0], 20, "the token's event")
    # One is on its way and 256 wait: what comes then is dropped.
    with Client(gw.port) as client:
        for _ in range(260):
            assert client.get("/slow/x").status == 422
    assert counts("policy", "slow")[2] == 3
    gate.set()
