"""Two gateways, one rotating refresh token, a real Redis between them: one refresh for each rotation, no failed request. (peers §2.2, §3 #9, #10)"""

import os
import threading

import pytest

from client import Client, get
from gateway import is_sanitized, together
from replicas import replicas
from rotations import rotate
from upstream import Answer

EXPECTED_LOG = [r"warning (token|session) "]

IS_LONG = os.environ.get("CRYONET_LONG") == "1"
ROTATIONS = 1000 if IS_LONG else 200


@pytest.mark.deadline(600 if IS_LONG or is_sanitized() else 90)
def test_one_refresh_for_each_rotation(gateway, upstream, endpoint, redis, capsys):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    server = redis()
    pair = replicas(gateway, upstream, endpoint, server)
    rotate(pair, endpoint, ROTATIONS, capsys)
    entry = server.entry("cryonet:test")
    assert (entry["version"], entry["token"]) == (str(ROTATIONS), endpoint.access)
    assert server.command("EXISTS", "cryonet:test:lease") == 0


def test_a_slow_endpoint_is_asked_once_because_the_lease_is_renewed(gateway, upstream, endpoint, redis):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    server = redis()
    pair = replicas(gateway, upstream, endpoint, server, redis={"lease_ms": 1000})
    endpoint.gate = threading.Event()
    endpoint.revoke()
    # Three times the lease, which is long enough to be renewed in time on a busy machine.
    threading.Timer(3, endpoint.gate.set).start()
    assert [answer.status for answer in together(8, lambda index: get(pair[index % 2], "/x"))] == [200] * 8
    assert len(endpoint.calls) == 1


def test_a_gateway_that_dies_while_it_refreshes_does_not_hold_up_the_others(gateway, upstream, endpoint, redis):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    first, second = replicas(gateway, upstream, endpoint, redis(), redis={"lease_ms": 500})
    endpoint.answers = [Answer(script=["stall"])]
    endpoint.revoke()
    with Client(first.port) as client:
        client.send_request("GET", "/x")
        endpoint.wait_calls(1)
        first.kill()
    assert get(second, "/x").status == 200
    assert len(endpoint.calls) == 2


def test_a_pair_renewed_elsewhere_is_taken_before_asking(gateway, upstream, endpoint, redis):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    first, second = replicas(gateway, upstream, endpoint, redis())
    for _ in range(3):
        endpoint.revoke()
        assert get(first, "/x").status == 200
    assert get(second, "/x").status == 200
    assert len(endpoint.calls) == 3


def test_a_new_gateway_begins_with_the_shared_pair(gateway, upstream, endpoint, redis):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    server = redis()
    first, = replicas(gateway, upstream, endpoint, server, count=1)
    endpoint.revoke()
    assert get(first, "/x").status == 200
    second, = replicas(gateway, upstream, endpoint, server, count=1)
    assert get(second, "/x").status == 200
    assert (len(endpoint.calls), endpoint.refused) == (1, 1)


def test_a_refusal_counts_only_when_nobody_has_a_newer_pair(gateway, upstream, endpoint, redis):
    """Another program rotates without a lease while this gateway's refresh is on its way."""
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    server = redis()
    only, = replicas(gateway, upstream, endpoint, server, count=1)
    endpoint.gate = threading.Event()
    endpoint.revoke()
    with Client(only.port) as client:
        client.send_request("GET", "/x")
        endpoint.wait_calls(1)
        with endpoint.lock:
            endpoint.used_refresh_tokens.add(endpoint.refresh)
            endpoint.access, endpoint.refresh = endpoint.issue()
        server.command("HSET", "cryonet:test", "format", 1, "version", 7, "token", endpoint.access, "refresh_token", endpoint.refresh)
        endpoint.gate.set()
        assert client.read_response().status == 200
    endpoint.revoke()
    assert get(only, "/x").status == 200
    assert server.entry("cryonet:test")["version"] == "8"


def test_a_login_that_is_over_is_over_for_all_and_asked_for_once(gateway, upstream, endpoint, redis):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    server = redis()
    pair = replicas(gateway, upstream, endpoint, server)
    for one in pair:
        endpoint.revoke() if one is pair[0] else None
        assert get(one, "/x").status == 200
    with endpoint.lock:
        dead, endpoint.refresh = endpoint.refresh, "nobody-has-this"
    endpoint.revoke()
    assert [get(one, "/x").status for one in pair] == [401, 401]
    assert endpoint.calls[1:] == [dead]
    assert server.entry("cryonet:test") == {"format": "1", "version": "2", "refused": dead}
