"""Five requests in one write; the upstream answers the first one last. The answers come in the order of the requests."""

import threading

from client import Client, request_bytes
from gateway import configuration
from upstream import Answer


def test_pipelined_requests_are_answered_in_order(gateway, upstream):
    gate = threading.Event()
    upstream.on("GET", "/0", Answer(200, "answer 0", gate=gate))
    for number in range(1, 4):
        upstream.on("GET", f"/{number}", f"answer {number}")
    upstream.on("POST", "/4", lambda request: Answer(200, b"answer 4 " + request.body))
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        batch = b"".join(request_bytes("GET", f"/{number}", host=client.authority) for number in range(4))
        client.send(batch + request_bytes("POST", "/4", body=b"tail", host=client.authority))
        upstream.wait_requests(1, "/0")
        client.assert_silent(0.05)
        gate.set()
        bodies = [client.read_response().body for _ in range(5)]
    assert bodies == [b"answer 0", b"answer 1", b"answer 2", b"answer 3", b"answer 4 tail"]
    assert [r["target"] for r in gw.wait_audit(5)] == ["/0", "/1", "/2", "/3", "/4"]
