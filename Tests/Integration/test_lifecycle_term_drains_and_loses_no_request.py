"""TERM: idle connections are closed at once, new ones refused, a running exchange and a refresh finish, answers announce the close,
exit 0. A second TERM ends at once. A stream that does not end is cut at the drain deadline. (B-29)
"""

import socket
import threading
import time

import pytest

from client import Body, Client
from gateway import configuration
from upstream import STALL, Answer, script
from waiting import wait_until


def test_running_exchanges_finish(gateway, upstream, endpoint):
    gate = threading.Event()
    upstream.on("GET", "/slow", Answer(200, "whole", gate=gate)).on("GET", "/x", "ok")
    upstream.on("GET", "/auth", endpoint.guard(Answer(200, "refreshed")))
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.configuration()}), endpoint=endpoint)
    endpoint.gate = threading.Event()
    endpoint.revoke()
    with Client(gw.port) as idle, Client(gw.port) as slow, Client(gw.port) as refreshing:
        assert idle.get("/x").status == 200
        slow.send_request("GET", "/slow")
        refreshing.send_request("GET", "/auth")
        endpoint.wait_calls(1)
        upstream.wait_requests(1, "/slow")
        gw.term()
        idle.assert_closed()

        def refused():
            try:
                probe = Client(gw.port)
            except ConnectionRefusedError:
                return True
            probe.close()
            return False
        wait_until(refused, 5, "new connections are refused")
        assert gw.running()
        endpoint.gate.set()
        gate.set()
        for client, body in ((slow, b"whole"), (refreshing, b"refreshed")):
            response = client.read_response()
            assert (response.status, response.body, response.closes()) == (200, body, True)
            client.assert_closed()
    assert gw.wait_exit(5) == 0
    assert len(gw.audit()) == 3


def test_no_request_under_load_is_lost(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, workers=2))
    lost, served, started = [], [], threading.Barrier(9)

    def load():
        with Client(gw.port) as client:
            started.wait(20)
            while True:
                try:
                    client.send_request("GET", "/x")
                    response = client.read_response()
                except Exception as error:
                    # A connection closed without a byte of an answer is a fair refusal of a request that was never read.
                    cut = getattr(error, "received", b"")
                    if cut or not (isinstance(error, OSError) or hasattr(error, "how")):
                        lost.append(error)
                    return
                served.append(response.status)
                if response.closes():
                    return
    threads = [threading.Thread(target=load, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    started.wait(20)
    wait_until(lambda: len(served) > 200, 20, "load")
    gw.term()
    assert gw.wait_exit(10) == 0
    for thread in threads:
        thread.join(10)
    assert not lost and set(served) == {200}
    assert len(gw.audit()) == len(served)


def test_a_second_term_ends_at_once(gateway, upstream):
    upstream.on("GET", "/stuck", script(STALL))
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.send_request("GET", "/stuck")
        upstream.wait_requests(1)
        gw.term()
        client.socket.settimeout(0.2)
        with pytest.raises((TimeoutError, socket.timeout)):
            client.socket.recv(1)
        assert gw.running()
        started = time.monotonic()
        gw.term()
        gw.wait_exit(5)
        assert time.monotonic() - started < 2
        gw.finished = True


def test_the_drain_has_a_deadline(gateway, upstream):
    upstream.on("GET", "/events", script(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n", STALL))
    gw = gateway(configuration(upstream, limits={"drain_timeout_ms": 300}))
    with Client(gw.port) as client:
        client.send_request("GET", "/events")
        Body(client, client.read_final_head()).at_least(9)
        gw.term()
        assert gw.wait_exit(5) == 0
    assert len(gw.audit()) == 1
