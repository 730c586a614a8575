"""The bounds of the upstream side, each at the bound and one beyond: connecting, interim answers, lines and heads of an answer to an upgrade,
connections kept. (Those of ordinary heads: header bombs.)
"""

import select
import socket
import threading

import pytest

from client import Client, get
from failures import assert_failure
from gateway import configuration, together
from upstream import Answer, script
from waiting import wait_until
from websocket_server import ASKING, RawTunnelServer, ask, read_head

INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def test_interim_answers(gateway, upstream):
    """`informationalMax`"""
    upstream.on("GET", "/at", script(INTERIM * 32 + OK)).on("GET", "/beyond", script(INTERIM * 33 + OK))
    gw = gateway(configuration(upstream))
    assert get(gw, "/at").body == b"ok"
    assert_failure(get(gw, "/beyond"), 502, "response_malformed", "network", "forward")


@pytest.fixture
def deaf():
    """A port whose queue is full: the kernel drops what wants to connect."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    fillers = []

    def is_full():
        filler = socket.socket()
        filler.setblocking(False)
        fillers.append(filler)
        filler.connect_ex(listener.getsockname())
        _, writable, _ = select.select([], [filler], [], 0.1)
        return not writable
    wait_until(is_full, 10, "the queue is full")
    yield listener.getsockname()[1]
    for filler in fillers:
        filler.close()
    listener.close()


def test_the_time_to_connect(gateway, deaf):
    """`timeouts.connect_ms`"""
    gw = gateway(configuration(f"http://127.0.0.1:{deaf}", upstreams={"api": {"timeouts": {"connect_ms": 200}}},
                               listen={"connect": "upstreams"}))
    assert_failure(get(gw, "/x"), 504, "connect_timed_out", "network", "forward", retryable=True)
    with Client(gw.port) as client:
        client.send(f"CONNECT 127.0.0.1:{deaf} HTTP/1.1\r\nHost: 127.0.0.1:{deaf}\r\n\r\n")
        assert_failure(client.read_response(), 504, "connect_timed_out", "network", "forward")
    with Client(gw.port) as client:
        client.send(ASKING)
        assert_failure(client.read_response(), 504, "connect_timed_out", "network", "forward")
    for record in gw.wait_audit(3):
        assert record["steps"]["forward"] == "timed_out" and record["duration_us"] >= 200_000


@pytest.mark.parametrize("count, is_taken", [(65_536, True), (65_537, False)])
def test_a_line_of_the_answer_to_an_upgrade(gateway, count, is_taken):
    """`lineBytesMax`"""
    server = RawTunnelServer()
    gw = gateway(configuration(server))
    client = ask(gw.port)
    line = b"X-Long: " + b"v" * (count - 8) + b"\r\n"
    upstream, _ = server.accept(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + line + b"\r\n")
    assert read_head(client).startswith(b"HTTP/1.1 101 " if is_taken else b"HTTP/1.1 502 ")
    client.close()
    upstream.close()
    server.stop()
    reason = gw.wait_audit(1)[0]["failure"]
    assert is_taken or reason["reason"] == "response_malformed"


@pytest.mark.deadline(120)
def test_connections_kept_for_later(gateway, upstream):
    """`pooledConnectionsMax`: of more connections than that at once, the oldest are closed afterwards."""
    upstream.on("GET", "/x", "ok")
    clients = 300
    gw = gateway(configuration(upstream, workers=1))
    barrier = threading.Barrier(clients)

    def answer(request):
        barrier.wait(30)
        return Answer(200, "ok")
    upstream.on("GET", "/together", answer)
    together(clients, lambda index: get(gw, "/together"))
    assert len(upstream.connections) >= clients
    wait_until(lambda: sum(connection.closed_at is None for connection in upstream.connections) <= 256, 10, "no more are kept")
    assert get(gw, "/x").body == b"ok"
