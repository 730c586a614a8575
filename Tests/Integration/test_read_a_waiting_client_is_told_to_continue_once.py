"""`Expect: 100-continue`: exactly one 100 to an HTTP/1.1 client that waits, whatever the upstream does about it.

(a) the upstream ignores the expectation, (b) sends 100 itself, (c) refuses by the head: 413 and no deadlock;
none to HTTP/1.0, none for a request that the gateway refuses by its head.
"""

import threading

from client import Body, Client
from gateway import configuration
from upstream import CLOSE, Answer, script


def put(client, target, version="HTTP/1.1"):
    client.send_request("PUT", target, [("Expect", "100-continue"), ("Content-Length", "4")], version=version)


def test_one_interim_answer_then_the_body(gateway, upstream):
    upstream.on("PUT", "/ignores", lambda request: Answer(200, request.body))
    upstream.on("PUT", "/sends", Answer(200, "done", interim=[b"HTTP/1.1 100 Continue\r\n\r\n"]))
    gw = gateway(configuration(upstream))
    for target, body in (("/ignores", b"data"), ("/sends", b"done")):
        with Client(gw.port) as client:
            put(client, target)
            interim = client.read_head()
            assert interim.status == 100, interim.status
            client.send("data")
            response = client.read_response()
            assert (response.status, response.body, response.interim) == (200, body, [])
    assert all(request.body == b"data" for request in upstream.requests)


def test_a_refusal_by_the_upstream_arrives_without_the_body(gateway, upstream):
    upstream.on("PUT", "/refuses", Answer(413, "no", close=True), early=True)
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        put(client, "/refuses")
        response = client.read_response()
        assert (response.status, response.body) == (413, b"no")
        client.assert_closed()


def test_a_refusal_in_two_pieces_arrives_whole(gateway, upstream):
    gate = threading.Event()
    head = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
    upstream.on("PUT", "/refuses", script(head, gate, b"no", CLOSE), early=True)
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        put(client, "/refuses")
        refusal = client.read_final_head("PUT")
        assert refusal.status == 413
        gate.set()
        assert Body(client, refusal).at_least(2) == b"no"


def test_no_interim_answer_for_an_old_client_or_a_refused_request(gateway, upstream):
    upstream.on("PUT", "/x", lambda request: Answer(200, request.body))
    gw = gateway(configuration(upstream, route={"path": "/x"}))
    with Client(gw.port) as client:
        put(client, "/x", "HTTP/1.0")
        client.send("data")
        response = client.read_response()
        assert response.interim == [] and response.body == b"data"
    with Client(gw.port) as client:
        put(client, "/unrouted")
        response = client.read_response()
        assert (response.status, response.interim) == (404, [])
    assert len(upstream.requests) == 1


def test_unknown_expectations_are_refused(gateway, upstream):
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        response = client.request("PUT", "/x", [("Expect", "miracles"), ("Content-Length", "0")])
        assert response.status == 417 or response.status == 400
    assert upstream.requests == []
