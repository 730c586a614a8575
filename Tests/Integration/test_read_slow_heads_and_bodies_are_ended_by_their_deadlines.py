"""A head or a body that does not come in time gets 408 and a closed connection; a silent idle connection is just closed."""

from client import Client
from failures import assert_failure
from gateway import configuration

LIMITS = {"head_timeout_ms": 200, "body_timeout_ms": 200, "idle_timeout_ms": 300}


def test_a_head_that_does_not_end(gateway, upstream):
    gw = gateway(configuration(upstream, limits=LIMITS))
    with Client(gw.port) as client:
        client.send("GET /x HTTP/1.1\r\nHost: ")
        assert_failure(client.read_response(), 408, "request_timed_out", "http", "read")
        client.assert_closed()
    assert gw.wait_audit(1)[0]["steps"]["read"] == "timed_out"
    assert upstream.requests == []


def test_a_body_that_does_not_end(gateway, upstream):
    upstream.on("POST", "/x", "never")
    gw = gateway(configuration(upstream, limits=LIMITS))
    with Client(gw.port) as client:
        client.send_request("POST", "/x", [("Content-Length", "10")])
        client.send("12345")
        assert_failure(client.read_response(), 408, "request_timed_out", "http", "read")
        client.assert_closed()
    assert gw.wait_audit(1)[0]["status"] == 408
    assert not any(request.complete for request in upstream.requests)


def test_an_idle_connection(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, limits=LIMITS))
    with Client(gw.port) as fresh, Client(gw.port) as used:
        assert used.get("/x").status == 200
        used.assert_closed()
        fresh.assert_closed()
    assert len(gw.wait_audit(1)) == 1
