"""The upstream closes after each answer without saying so: the next request meets no 502.

A GET goes to a new connection by itself, also when the connection is reset under it, and so does a PUT whose body is kept for a refresh; a POST
that was read is not sent twice.
"""

import random

import pytest

from client import Client
from gateway import configuration
from upstream import CLOSE, RESET, Answer, script

QUIET_CLOSE = script(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", CLOSE)


def test_a_closed_connection_is_not_used_again(gateway, upstream):
    upstream.on("*", "/x", QUIET_CLOSE)
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        for number in range(30):
            method, body = [("GET", b""), ("POST", b""), ("POST", b"small")][number % 3]
            response = client.request(method, "/x", body=body)
            assert response.status == 200, (number, method, response.body)
            upstream.wait_closed(number + 1)
    assert len(upstream.requests) == 30


def test_a_get_that_meets_a_reset_on_a_pooled_connection_goes_on(gateway, upstream):
    answers = {1: Answer(200, "first"), 2: script(RESET)}

    def by_request_number(request):
        return answers.get(request.number if request.connection == 1 else 0, Answer(200, "fresh"))
    upstream.on("GET", "/x", by_request_number)
    gw = gateway(configuration(upstream, workers=1))
    with Client(gw.port) as client:
        assert client.get("/x").body == b"first"
        assert client.get("/x").body == b"fresh"
    assert [(r.connection, r.number) for r in upstream.requests] == [(1, 1), (1, 2), (2, 1)]
    assert gw.wait_audit(2)[1]["attempts"][-1]["status"] == 200


@pytest.mark.parametrize("size", [1_000, 100_000, 1_000_000])
def test_a_put_that_meets_a_reset_on_a_pooled_connection_arrives_whole(gateway, upstream, size):
    """Large pieces of a body go to the socket from where they were read; what is kept of them must be the same."""
    body = random.Random(size).randbytes(size)
    answers = {1: Answer(200, "first"), 2: script(RESET)}
    upstream.on("PUT", "/x", lambda request: answers.get(request.number if request.connection == 1 else 0, Answer(200, "fresh")))
    gw = gateway(configuration(upstream, workers=1, route={"token": "app"}, tokens={"app": {
        "oauth2": {"grant_type": "client_credentials", "token_endpoint": f"{upstream.url}/token", "client_id": "c", "client_secret": "env:S"},
        "initial": {"token": "env:T"}}}), env={"S": "secret-of-the-client", "T": "token-of-the-client"})
    with Client(gw.port) as client:
        assert client.request("PUT", "/x", body=b"small").body == b"first"
        assert client.request("PUT", "/x", body=body).body == b"fresh"
    assert [(r.connection, r.number) for r in upstream.requests] == [(1, 1), (1, 2), (2, 1)]
    assert upstream.requests[1].body == upstream.requests[2].body == body
    assert gw.wait_audit(2)[1]["attempts"][-1]["request_bytes"] >= size


def test_a_post_that_was_read_is_not_sent_twice(gateway, upstream):
    upstream.on("POST", "/x", Answer(200, "first"), script(RESET), Answer(200, "twice"))
    gw = gateway(configuration(upstream, workers=1))
    with Client(gw.port) as client:
        assert client.request("POST", "/x", body=b"n=1").status == 200
        assert client.request("POST", "/x", body=b"n=2").status == 502
    assert [r.body for r in upstream.requests] == [b"n=1", b"n=2"]
