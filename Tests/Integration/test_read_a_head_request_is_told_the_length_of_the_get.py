"""HEAD: the length of what GET would bring, no body, and a connection fit for the next request, also when the answer is a failure. (B-16)"""

import pytest

from client import Client
from gateway import ENVELOPE, configuration
from upstream import Answer, script

TOKEN = "the-static-token-0123456789"


def head_then_get(client, target):
    head = client.request("HEAD", target)
    assert head.body == b"" and head.complete
    whole = client.get(target)
    assert head.status == whole.status
    assert head.header("Content-Type") == whole.header("Content-Type")
    return head, whole


def test_a_success(gateway, upstream):
    body = b"x" * 1_488_324
    upstream.on("HEAD", "/file", script(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))).on("GET", "/file", Answer(200, body))
    with Client(gateway(configuration(upstream)).port) as client:
        head, whole = head_then_get(client, "/file")
        assert head.header("Content-Length") == "1488324" == str(len(whole.body))


@pytest.mark.parametrize("status", [404, 401, 500])
def test_a_status_that_the_policy_turns_into_a_failure(gateway, upstream, endpoint, status):
    upstream.on("HEAD", "/x", Answer(status)).on("GET", "/x", Answer(status))
    gw = gateway(configuration(upstream, route={"policy": "envelope", "token": "app"}, policies={"envelope": ENVELOPE},
                               tokens={"app": endpoint.configuration()}), endpoint=endpoint)
    with Client(gw.port) as client:
        head, whole = head_then_get(client, "/x")
        assert head.header("CryoNet-Failure") == whole.header("CryoNet-Failure")
        # The bodies differ in their time of birth at most.
        assert head.header("Content-Length") == str(len(whole.body))


def test_a_refusal_of_the_gateway(gateway, upstream):
    gw = gateway(configuration(upstream, route={"path": "/api"}))
    with Client(gw.port) as client:
        head, whole = head_then_get(client, "/nowhere")
        assert head.status == 404 and head.header("Content-Length") == str(len(whole.body))
