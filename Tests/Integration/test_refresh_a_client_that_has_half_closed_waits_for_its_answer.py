"""A client that shut its write side before the refresh still gets the replayed answer. (B-19)"""

import threading

from client import Client
from gateway import configuration
from upstream import Answer


def test_a_client_that_has_half_closed_waits_for_its_answer(gateway, upstream, endpoint):
    upstream.on("POST", "/x", endpoint.guard(lambda request: Answer(200, request.body)))
    gw = gateway(configuration(upstream, listen={"half_close": "keep"}, route={"token": "app"}, tokens={"app": endpoint.configuration()}), endpoint=endpoint)
    endpoint.revoke()
    endpoint.gate = threading.Event()
    with Client(gw.port) as client:
        client.send_request("POST", "/x", body=b"body")
        client.finish_sending()
        endpoint.wait_calls(1)
        endpoint.gate.set()
        response = client.read_response()
        assert (response.status, response.body) == (200, b"body")
