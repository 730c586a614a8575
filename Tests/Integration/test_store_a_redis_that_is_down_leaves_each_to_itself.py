"""Redis down, frozen, refusing or holding something else: local rules, said once for each change, nothing overwritten."""

import pytest

from client import get
from replicas import replicas
from upstream import Answer
from waiting import wait_until

EXPECTED_LOG = [r"warning (token|session) ", r"clear text"]

LOST, REGAINED = "can't be used (", "can be used again"


def said(gateway, text):
    return gateway.stderr().count(text)


@pytest.fixture
def guarded(upstream, endpoint):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    return upstream


def test_refreshes_go_on_alone_and_are_shared_when_it_is_back(gateway, guarded, endpoint, redis):
    server = redis(tcp=True)
    first, second = replicas(gateway, guarded, endpoint, server)
    server.stop()
    for _ in range(3):
        endpoint.revoke()
        assert get(first, "/x").status == 200
    assert said(first, LOST) == 1
    server.start()
    wait_until(lambda: said(first, REGAINED) == 1, 15, "a line about the store")
    # What was renewed alone has been written meanwhile, and the other gateway finds it.
    assert server.entry("cryonet:test")["token"] == endpoint.access
    assert get(second, "/x").status == 200
    assert len(endpoint.calls) == 3


def test_a_redis_that_is_down_at_the_start_is_no_reason_not_to_start(gateway, guarded, endpoint, redis):
    server = redis(tcp=True)
    server.stop()
    only, = replicas(gateway, guarded, endpoint, server, count=1)
    assert said(only, LOST) == 1
    assert get(only, "/x").status == 200
    server.start()
    wait_until(lambda: said(only, REGAINED) == 1, 15, "a line about the store")
    endpoint.revoke()
    assert get(only, "/x").status == 200
    assert server.entry("cryonet:test")["version"] == "1"


def test_a_redis_that_says_nothing_costs_its_timeout(gateway, guarded, endpoint, redis):
    server = redis()
    only, = replicas(gateway, guarded, endpoint, server, count=1, redis={"timeout_ms": 200})
    server.freeze()
    endpoint.revoke()
    assert get(only, "/x").status == 200
    assert said(only, LOST) == 1 and "timed out" in only.stderr()
    server.thaw()
    wait_until(lambda: said(only, REGAINED) == 1, 15, "a line about the store")


def test_a_refusal_is_no_end_of_the_login_while_nobody_can_be_asked(gateway, guarded, endpoint, redis):
    """The other gateway has rotated; this one can't see it, is refused, and finds the newer pair when Redis is back."""
    server = redis()
    first, second = replicas(gateway, guarded, endpoint, server)
    endpoint.revoke()
    assert get(first, "/x").status == 200
    server.freeze()
    try:
        answer = get(second, "/x")
        assert answer.status == 401 and "expired, log in again" not in second.stderr()
    finally:
        server.thaw()
    wait_until(lambda: said(second, REGAINED) == 1, 15, "a line about the store")
    wait_until(lambda: get(second, "/x").status == 200, 15, "the newer pair")
    assert endpoint.calls == [endpoint.tokens[1]] * 2


@pytest.mark.parametrize("wrong", [
    {"database": 9999},
    {"password": "env:WRONG_PASSWORD"},
    {"username": "nobody", "password": "env:WRONG_PASSWORD"},
])
def test_a_redis_that_refuses_is_named_without_its_password(gateway, guarded, endpoint, redis, wrong):
    server = redis(password="the-right-one")
    env = {"WRONG_PASSWORD": "not-the-right-one", "RIGHT_PASSWORD": "the-right-one"}
    only, = replicas(gateway, guarded, endpoint, server, count=1, env=env, redis={"password": "env:RIGHT_PASSWORD", **wrong})
    only.secrets |= set(env.values())
    endpoint.revoke()
    assert get(only, "/x").status == 200
    assert said(only, LOST) == 1
    assert "it answered " in only.stderr()


def test_a_password_is_presented(gateway, guarded, endpoint, redis):
    server = redis(password="the-right-one", tcp=True)
    only, = replicas(gateway, guarded, endpoint, server, count=1, env={"REDIS_PASSWORD": "the-right-one"},
                     redis={"password": "env:REDIS_PASSWORD", "database": 3})
    only.secrets.add("the-right-one")
    endpoint.revoke()
    assert get(only, "/x").status == 200
    assert said(only, LOST) == 0


@pytest.mark.parametrize("occupant", [
    ("SET", "cryonet:test", "of somebody else"),
    ("HSET", "cryonet:test", "of", "somebody else"),
    ("HSET", "cryonet:test", "format", "2", "version", "4", "token", "t"),
    ("HSET", "cryonet:test", "format", "1", "version", "4"),
    ("HSET", "cryonet:test", "format", "1", "version", "many", "token", "t"),
])
@pytest.mark.parametrize("comes", ["before the start", "later"])
def test_what_is_not_understood_is_kept_aside(gateway, guarded, endpoint, redis, occupant, comes):
    server = redis()
    if comes == "before the start":
        server.command(*occupant)
    only, = replicas(gateway, guarded, endpoint, server, count=1)
    if comes == "later":
        server.command(*occupant)
    endpoint.revoke()
    assert get(only, "/x").status == 200
    assert server.entry("cryonet:test")["token"] == endpoint.access
    assert server.command("EXISTS", "cryonet:test:corrupt") == 1
    assert said(only, "kept as cryonet:test:corrupt") == 1


def test_a_redis_that_has_forgotten_is_told_again(gateway, guarded, endpoint, redis):
    server = redis()
    first, second = replicas(gateway, guarded, endpoint, server)
    endpoint.revoke()
    assert get(first, "/x").status == 200
    server.command("FLUSHALL")
    endpoint.revoke()
    assert get(first, "/x").status == 200
    assert get(second, "/x").status == 200
    assert server.entry("cryonet:test")["version"] == "2"
    assert len(endpoint.calls) == 2
