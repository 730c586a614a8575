"""The client goes while the upstream works: the upstream sees the end within a second, the audit says client_gone (499).

Once before any answer (by reset), once in the middle of a stream (by close and by reset), once with 100 clients.
"""

import threading
import time

import pytest

from client import Body, Client
from gateway import configuration
from upstream import STALL, Answer, script
from waiting import wait_until

STREAM = script(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n", STALL)


def assert_cancelled(gw, count=1):
    for record in gw.wait_audit(count):
        assert record["failure"]["reason"] == "client_gone" and record["failure"]["kind"] == "cancelled"
        assert record["status"] in (499, 200)
        assert record["steps"]["reply"] == "client_gone"


def test_before_the_answer(gateway, upstream):
    upstream.on("GET", "/slow", Answer(200, "late", gate=threading.Event()))
    gw = gateway(configuration(upstream))
    client = Client(gw.port)
    client.send_request("GET", "/slow")
    upstream.wait_requests(1)
    left = time.monotonic()
    client.reset()
    assert upstream.wait_closed(1, 3).closed_at - left < 1.0
    assert_cancelled(gw)


@pytest.mark.parametrize("way", ["close", "reset"])
def test_in_the_middle_of_a_stream(gateway, upstream, way):
    upstream.on("GET", "/events", STREAM)
    gw = gateway(configuration(upstream))
    client = Client(gw.port)
    client.send_request("GET", "/events")
    assert Body(client, client.read_final_head()).at_least(9) == b"data: 1\n\n"
    left = time.monotonic()
    getattr(client, way)()
    assert upstream.wait_closed(1, 3).closed_at - left < 1.0
    assert_cancelled(gw)


def test_a_hundred_at_once(gateway, upstream):
    upstream.on("GET", "/events", STREAM).on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    with Client(gw.port) as probe:
        probe.get("/x")
        before = gw.descriptors()
        clients = [Client(gw.port) for _ in range(100)]
        for client in clients:
            client.send_request("GET", "/events")
        for client in clients:
            Body(client, client.read_final_head()).at_least(9)
        for client in clients:
            client.reset()
        wait_until(lambda: sum(c.closed_at is not None for c in upstream.connections) >= 100, 3, "100 upstream ends")
        wait_until(lambda: gw.descriptors() <= before + 2, 3, "descriptors as before")
        assert probe.get("/x").status == 200


def test_many_that_ask_for_much_and_leave_at_once(gateway, upstream):
    upstream.on("GET", "/ten", Answer(200, b"a" * (10 << 20))).on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    for number in range(50):
        client = Client(gw.port)
        client.send_request("GET", "/ten")
        client.read_final_head()
        client.reset() if number % 2 else client.close()
    gw.wait_audit(50, 10)
    with Client(gw.port) as client:
        assert client.get("/x").status == 200
