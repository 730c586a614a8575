"""A client that resets its connection: right after connecting, in the head, in the body, before the reply, in it, in a stream, in tunnels.
Each time the upstream is freed, one record tells it, and descriptors and memory are as before.
"""

import socket
import ssl

import pytest

from client import Client
from gateway import configuration, together
from tls_client import TLSClient, client_context
from upstream import Answer, RESET, STALL, chunk, script
from waiting import wait_until
from websocket_server import SWITCHING

TIMES = 25
BLOCK = bytes(65536)
ASKING = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
          ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")]
EVENT = b"data: 1\n\n"


def send_blocks(connection):
    for _ in range(320):
        connection.send(BLOCK)


def read_on(connection):
    """To the end: bytes that nobody reads would hide it."""
    while True:
        connection.receive()


@pytest.fixture
def serving(upstream):
    upstream.on("GET", "/ok", "ok")
    upstream.on("POST", "/body", script(read_on), early=True)
    upstream.on("GET", "/silent", script(STALL))
    upstream.on("GET", "/cut", script(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + bytes(500), STALL))
    upstream.on("GET", "/big", script(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (320 * len(BLOCK)), send_blocks))
    upstream.on("GET", "/events", script(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(EVENT), STALL))
    upstream.on("GET", "/socket", script(SWITCHING + b"hello", read_on))
    return upstream


def after_connecting(client, upstream):
    """Before a byte."""


def in_the_head(client, upstream):
    client.send("GET /ok HTTP/1.1\r\nHost: loc")


def behind_a_whole_head_that_expects(client, upstream):
    client.send_request("POST", "/body", [("Content-Length", "5"), ("Expect", "100-continue")])
    assert client.read_line() == "HTTP/1.1 100 Continue"


def in_a_body_of_known_length(client, upstream):
    seen = len(upstream.to("/body"))
    client.send_request("POST", "/body", [("Content-Length", "100000")]).send(bytes(50000))
    wait_until(lambda: len(upstream.to("/body")) > seen, 5, "the upstream is asked")


def in_a_chunk(client, upstream):
    client.send_request("POST", "/body", [("Transfer-Encoding", "chunked")]).send(b"fff\r\nabc")


def before_the_reply(client, upstream):
    seen = len(upstream.to("/silent"))
    client.send_request("GET", "/silent")
    wait_until(lambda: len(upstream.to("/silent")) > seen, 5, "the upstream is asked")


def in_the_middle_of_a_reply(client, upstream):
    client.send_request("GET", "/cut")
    client.read_final_head()
    while len(client.buffer) < 500:
        client.receive()


def in_a_reply_that_is_not_read(client, upstream):
    client.send_request("GET", "/big")
    client.read_final_head()


def in_a_stream(client, upstream):
    client.send_request("GET", "/events")
    client.read_final_head()
    while EVENT not in client.buffer:
        client.receive()


def in_a_websocket(client, upstream):
    client.send_request("GET", "/socket", ASKING)
    assert client.read_final_head().status == 101
    while b"hello" not in client.buffer:
        client.receive()
    client.send(b"up")


def in_a_connect_tunnel(client, upstream):
    authority = f"127.0.0.1:{upstream.port}"
    client.send(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n")
    assert client.read_head().status == 200
    client.send("GET /cut HTTP/1.1\r\nHost: x\r\n\r\n")
    client.receive()


def behind_pipelined_requests(client, upstream):
    client.send_request("GET", "/silent").send_request("GET", "/ok").send_request("GET", "/ok")


#: The moment, records of one client, the status of its last record.
MOMENTS = [(after_connecting, 0, None), (in_the_head, 1, 499), (behind_a_whole_head_that_expects, 1, 499),
           (in_a_body_of_known_length, 1, 499), (in_a_chunk, 1, 499), (before_the_reply, 1, 499), (in_the_middle_of_a_reply, 1, 200),
           (in_a_reply_that_is_not_read, 1, 200), (in_a_stream, 1, 200), (in_a_websocket, 1, 101), (in_a_connect_tunnel, 1, 200),
           (behind_pipelined_requests, 1, 499)]


@pytest.mark.parametrize("moment, records, status", MOMENTS, ids=[moment.__name__ for moment, _, _ in MOMENTS])
def test_a_reset_at_any_moment_leaves_nothing_behind(gateway, serving, moment, records, status):
    gw = gateway(configuration(serving, workers=1, listen={"connect": "upstreams"}))

    def own_descriptors():
        """Without pooled connections to the upstream, each of which it knows."""
        return gw.descriptors() - sum(connection.closed_at is None for connection in serving.connections)
    with Client(gw.port) as other:
        assert other.get("/ok").status == 200
        gw.wait_audit(1)
        before = own_descriptors()
        for _ in range(TIMES):
            client = Client(gw.port)
            moment(client, serving)
            client.reset()
        found = gw.wait_audit(1 + records * TIMES, 10)[1:]
        assert {record["status"] for record in found} == ({status} if records else set())
        for record in found:
            assert record["failure"]["reason"] == "client_gone" and record["steps"].get("reply") == "client_gone", record
        wait_until(lambda: own_descriptors() == before, 10, "descriptors as before")
        # Only the pooled connection of `other` may be left: nobody works for those who have gone.
        wait_until(lambda: sum(connection.closed_at is None for connection in serving.connections) <= 2, 10, "the upstream is freed")
        assert other.get("/ok").status == 200


def test_a_reset_at_any_moment_of_a_handshake_leaves_nothing_behind(gateway, serving, leaf):
    gw = gateway(configuration(serving, workers=1, listen={"tls": {"certificate": leaf[0], "key": leaf[1]}}))
    hello = client_hello()
    before = gw.descriptors()
    for count in [0, 1, 4, 5, 6, 50, len(hello) - 1, len(hello)] * 10:
        with Client(gw.port) as client:
            client.send(hello[:count])
            if count == len(hello):
                # The answer is on its way, or here.
                client.receive()
            client.reset()
    wait_until(lambda: gw.descriptors() <= before + 1, 10, "descriptors as before")
    assert gw.audit() == []


def client_hello():
    """What Python's ssl says first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    handshake = context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    try:
        handshake.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise AssertionError("a handshake without an answer")


@pytest.mark.parametrize("moment, records, status", MOMENTS, ids=[moment.__name__ for moment, _, _ in MOMENTS])
def test_a_reset_at_any_moment_over_tls_leaves_nothing_behind(gateway, serving, authority, leaf, moment, records, status):
    gw = gateway(configuration(serving, workers=1, listen={"connect": "upstreams", "tls": {"certificate": leaf[0], "key": leaf[1]}}))
    context = client_context(authority)
    with TLSClient(gw.port, context) as other:
        assert other.get("/ok").status == 200
        before = gw.descriptors()
        for _ in range(5):
            client = TLSClient(gw.port, context)
            moment(client, serving)
            client.reset()
        # Where nobody waited for a sign of the gateway, the reset may come before the request is read: then there was none.
        if moment not in (in_the_head, in_a_chunk, behind_pipelined_requests):
            gw.wait_audit(1 + records * 5, 10)
        wait_until(lambda: gw.descriptors() <= before + 1, 10, "descriptors as before")
        for record in gw.audit()[1:]:
            assert record["status"] == status and record["failure"]["reason"] == "client_gone", record
        assert other.get("/ok").status == 200


def test_resets_of_all_kinds_at_once_leave_nothing_behind(gateway, serving):
    gw = gateway(configuration(serving, workers=2, listen={"connect": "upstreams"}))
    moments = [moment for moment, _, _ in MOMENTS if "before" not in moment.__name__]
    with Client(gw.port) as other:
        assert other.get("/ok").status == 200
        before = gw.descriptors()

        def work(index):
            for turn in range(10):
                client = Client(gw.port)
                moments[(index + turn) % len(moments)](client, serving)
                client.reset()
        together(8, work)
        assert other.get("/ok").status == 200
        wait_until(lambda: gw.descriptors() <= before + 2, 10, "descriptors as before")


def test_an_attempt_given_up_while_it_connects_costs_nobody_else(gateway, serving):
    """The descriptor of a connection that was never made may be another client's a moment later."""
    gw = gateway(configuration(serving, workers=2))

    def work(index):
        for _ in range(60):
            client = Client(gw.port)
            client.send_request("GET", "/ok")
            if index % 2:
                client.reset()
            else:
                assert client.read_response().body == b"ok"
                client.close()
    together(8, work)


def test_an_upstream_that_resets_at_any_moment_is_a_failure_and_no_more(gateway, upstream):
    moments = {"/at-once": script(RESET), "/in-the-head": script(b"HTTP/1.1 200 OK\r\nContent-Le", RESET),
               "/in-the-body": script(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + bytes(500), RESET),
               "/in-a-chunk": script(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc", RESET)}
    for path, answer in moments.items():
        upstream.on("GET", path, answer)
    upstream.on("GET", "/ok", Answer(200, "ok"))
    gw = gateway(configuration(upstream, workers=1))
    with Client(gw.port) as other:
        assert other.get("/ok").status == 200
        before = gw.descriptors()
        for path in list(moments) * 10:
            with Client(gw.port) as client:
                client.send_request("GET", path)
                response = client.read_response()
                assert response.status in (200, 502)
                assert response.status == 502 or not response.complete, path
        assert other.get("/ok").status == 200
        wait_until(lambda: gw.descriptors() <= before + 1, 5, "descriptors as before")


def test_a_listener_s_queue_may_hold_connections_that_are_gone(gateway, upstream):
    upstream.on("GET", "/ok", "ok")
    gw = gateway(configuration(upstream, workers=1))
    for _ in range(300):
        client = socket.create_connection(("127.0.0.1", gw.port))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
    with Client(gw.port) as client:
        assert client.get("/ok").status == 200
    gw.wait_audit(1)
