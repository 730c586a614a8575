"""Half-close: with `listen.half_close: keep` a client that sends its whole request, shuts its write side and waits gets the whole
answer, then the end. By default (`gone`) that is a client that has left, as nginx takes it: the upstream is freed at once.

A FIN in the middle of a body is a broken request: nothing complete reaches the upstream.
"""

import threading

import pytest

from client import Client
from gateway import configuration
from upstream import Answer


@pytest.mark.parametrize("method,body", [("GET", b""), ("POST", b"abc")])
def test_a_client_that_has_said_everything_is_answered(gateway, upstream, method, body):
    gate = threading.Event()
    upstream.on(method, "/x", Answer(200, "all of it", gate=gate))
    gw = gateway(configuration(upstream, listen={"half_close": "keep"}))
    with Client(gw.port) as client:
        client.send_request(method, "/x", body=body)
        client.finish_sending()
        upstream.wait_requests(1)
        gate.set()
        response = client.read_response()
        assert (response.status, response.body) == (200, b"all of it")
        client.assert_closed()


def test_an_end_in_the_middle_of_a_body_is_no_request(gateway, upstream):
    upstream.on("POST", "/x", "ok")
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.send_request("POST", "/x", [("Content-Length", "10")])
        client.send("12345")
        client.finish_sending()
        rest = client.read_to_end()
        assert rest == b"" or rest.startswith(b"HTTP/1.1 400")
    gw.wait_audit(1)
    assert not any(request.complete for request in upstream.requests)


def test_by_default_it_counts_as_gone(gateway, upstream):
    gate = threading.Event()
    upstream.on("GET", "/x", Answer(200, "too late", gate=gate))
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.send_request("GET", "/x")
        upstream.wait_requests(1)
        client.finish_sending()
        assert client.read_to_end() == b""
    record = gw.wait_audit(1)[0]
    assert (record["status"], record["failure"]["reason"]) == (499, "client_gone")
    gate.set()
