"""Tunnels of raw bytes: half-closes pass both ways, silence ends a tunnel, a slow reader stops the other side, a client that goes
frees the upstream, a drain ends at its deadline; a 101 nobody asked for, or that names no protocol, is no answer.
"""

import socket
import struct
import threading

import pytest

from gateway import configuration
from waiting import wait_until
from websocket_server import ASKING, SWITCHING, RawTunnelServer, ask, read_all, read_head

BUFFERED_BYTES_MAX = 24 << 20


@pytest.fixture
def server():
    made = RawTunnelServer()
    yield made
    made.stop()


def open_tunnel(gw, server, **options):
    client = ask(gw.port, **options)
    upstream, head = server.accept()
    answer = read_head(client)
    assert answer.startswith(b"HTTP/1.1 101 Switching Protocols\r\n"), answer
    assert answer.lower().count(b"connection:") == 1 and answer.lower().count(b"upgrade: websocket\r\n") == 1
    return client, upstream


def test_the_client_s_end_goes_on_and_the_upstream_may_still_speak(gateway, server):
    gw = gateway(configuration(server))
    client, upstream = open_tunnel(gw, server)
    client.sendall(b"last words")
    client.shutdown(socket.SHUT_WR)
    assert read_all(upstream) == b"last words"
    upstream.sendall(b"a late answer")
    upstream.close()
    assert read_all(client) == b"a late answer"
    record, = gw.wait_audit(1)
    assert (record["status"], record["request_bytes"], record["response_bytes"]) == (101, 10, 13)
    assert record["steps"]["reply"] == "sent" and record["failure"] is None


def test_the_upstream_s_end_goes_on_and_the_client_may_still_speak(gateway, server):
    gw = gateway(configuration(server))
    client, upstream = open_tunnel(gw, server)
    upstream.sendall(b"last words")
    upstream.shutdown(socket.SHUT_WR)
    assert read_all(client) == b"last words"
    client.sendall(b"a late answer")
    client.close()
    assert read_all(upstream) == b"a late answer"
    record, = gw.wait_audit(1)
    assert (record["request_bytes"], record["response_bytes"]) == (13, 10) and record["steps"]["reply"] == "sent"


def test_bytes_behind_both_heads_belong_to_the_tunnel(gateway, server):
    gw = gateway(configuration(server))
    client = ask(gw.port, request=ASKING + b"GET /early HTTP/1.1\r\n\r\n")
    upstream, head = server.accept(SWITCHING + b"HTTP/1.1 200 OK\r\n\r\n")
    assert b"GET /early" not in head
    read_head(client)
    client.shutdown(socket.SHUT_WR)
    assert read_all(upstream) == b"GET /early HTTP/1.1\r\n\r\n"
    upstream.close()
    assert read_all(client) == b"HTTP/1.1 200 OK\r\n\r\n"
    assert len(gw.wait_audit(1)) == 1


def test_silence_ends_a_tunnel(gateway, server):
    gw = gateway(configuration(server, upstreams={"api": {"timeouts": {"tunnel_idle_ms": 300, "idle_ms": 50}}}))
    client, upstream = open_tunnel(gw, server)
    for _ in range(4):
        client.sendall(b"x")
        assert upstream.recv(1) == b"x"
    with pytest.raises(ConnectionResetError):
        assert client.recv(1)
        raise AssertionError("bytes out of nowhere")
    assert read_all(upstream) == b""
    record, = gw.wait_audit(1)
    assert record["failure"]["reason"] == "upstream_timed_out" and record["steps"]["reply"] == "truncated"
    assert record["duration_us"] >= 300_000


def test_a_half_closed_tunnel_waits_for_the_ordinary_idle_time(gateway, server):
    gw = gateway(configuration(server, upstreams={"api": {"timeouts": {"idle_ms": 200}}}))
    client, upstream = open_tunnel(gw, server)
    client.shutdown(socket.SHUT_WR)
    assert read_all(upstream) == b""
    record, = gw.wait_audit(1)
    assert record["failure"]["reason"] == "upstream_timed_out"


def test_a_client_that_goes_frees_the_upstream(gateway, server):
    gw = gateway(configuration(server))
    client, upstream = open_tunnel(gw, server)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    try:
        assert upstream.recv(1) == b""
    except ConnectionResetError:
        pass
    record, = gw.wait_audit(1)
    assert (record["status"], record["steps"]["reply"], record["failure"]["reason"]) == (101, "client_gone", "client_gone")


def test_a_client_that_goes_before_the_answer_frees_the_upstream(gateway, server):
    gw = gateway(configuration(server))
    client = ask(gw.port)
    upstream, _ = server.accept(answer=None)
    client.close()
    try:
        assert upstream.recv(1) == b""
    except ConnectionResetError:
        pass
    assert gw.wait_audit(1)[0]["status"] == 499


def fill(sender):
    """Send until nothing more is taken; how much was."""
    sender.setblocking(False)
    total, idle = 0, 0
    block = b"z" * 65536
    last = [-1]

    def stands_still():
        nonlocal total
        try:
            while total < 64 << 20:
                total += sender.send(block)
        except BlockingIOError:
            pass
        last[0], before = total, last[0]
        return total == before
    wait_until(lambda: all(stands_still() for _ in range(50)), 20, "the sender is stopped")
    sender.settimeout(10)
    return total


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_slow_reader_stops_the_other_side(gateway, server, direction):
    gw = gateway(configuration(server, workers=1))
    client, upstream = open_tunnel(gw, server, receive_buffer=65536)
    before = gw.rss()
    gw.reset_peak_rss()
    sender, reader = (client, upstream) if direction == "up" else (upstream, client)
    sent = fill(sender)
    assert 0 < sent < BUFFERED_BYTES_MAX
    assert gw.peak_growth(before) < 8 << 20
    # The other direction is free meanwhile.
    reader.sendall(b"still alive")
    assert sender.recv(64) == b"still alive"
    sender.shutdown(socket.SHUT_WR)
    assert len(read_all(reader)) == sent
    reader.close()
    assert read_all(sender) == b""
    record, = gw.wait_audit(1)
    assert record["request_bytes" if direction == "up" else "response_bytes"] == sent and record["steps"]["reply"] == "sent"


@pytest.fixture
def secure(leaf, authority):
    made = RawTunnelServer(tls=leaf)
    made.authority = authority
    yield made
    made.stop()


def secured(server):
    return configuration(server, upstreams={"api": {"tls": {"ca": server.authority.certificate}}})


def test_a_large_transfer_through_tls_stops_for_a_slow_client_and_arrives_whole(gateway, secure):
    gw = gateway(secured(secure))
    client, upstream = open_tunnel(gw, secure, receive_buffer=65536)
    block = bytes(range(256)) * 1024
    before = gw.rss()
    gw.reset_peak_rss()
    sending = threading.Thread(target=lambda: [upstream.sendall(block) for _ in range(128)], daemon=True)
    sending.start()
    sending.join(0.5)
    assert sending.is_alive(), "nobody stopped the upstream"
    assert gw.peak_growth(before) < 8 << 20
    received = 0
    while received < 128 * len(block):
        piece = client.recv(65536)
        start = received % len(block)
        assert piece and (block + block)[start:start + len(piece)] == piece
        received += len(piece)
    sending.join(10)
    # And the other way, in pieces that are no whole records.
    taking = []
    reading = threading.Thread(target=lambda: taking.append(read_count(upstream, 64 * len(block))), daemon=True)
    reading.start()
    for _ in range(64):
        client.sendall(block)
    reading.join(20)
    assert taking == [block * 64]
    client.close()
    assert upstream.recv(1) == b""
    record, = gw.wait_audit(1)
    assert (record["request_bytes"], record["response_bytes"]) == (64 * len(block), 128 * len(block))
    assert record["steps"]["reply"] == "sent"


def read_count(connection, count):
    data = bytearray()
    while len(data) < count:
        piece = connection.recv(65536)
        assert piece
        data += piece
    return bytes(data)


def test_the_end_of_a_tls_upstream_goes_on(gateway, secure):
    gw = gateway(secured(secure))
    client, upstream = open_tunnel(gw, secure)
    upstream.sendall(b"last words")
    upstream.close()
    assert read_all(client) == b"last words"
    client.close()
    record, = gw.wait_audit(1)
    assert (record["status"], record["response_bytes"], record["steps"]["reply"]) == (101, 10, "sent")


def test_a_drain_ends_tunnels_at_its_deadline(gateway, server):
    gw = gateway(configuration(server, limits={"drain_timeout_ms": 300}))
    client, upstream = open_tunnel(gw, server)
    gw.term()
    client.sendall(b"x")
    assert upstream.recv(1) == b"x"
    assert gw.wait_exit(5) == 0
    assert len(gw.audit()) == 1 and gw.audit()[0]["status"] == 101


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
    b"HTTP/1.0 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX: a\rb\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"nonsense\r\n\r\n",
    b"x" * 70_000,
])
def test_an_answer_that_cannot_be_trusted_is_named(gateway, server, answer):
    gw = gateway(configuration(server))
    client = ask(gw.port)
    upstream, _ = server.accept(answer)
    assert read_head(client).startswith(b"HTTP/1.1 502 ")
    assert gw.wait_audit(1)[0]["failure"]["reason"] == "response_malformed"


@pytest.mark.parametrize("answer, reason", [(b"", "empty_response"), (b"HTTP/1.1 101 Swi", "reset")])
def test_an_answer_that_does_not_come_is_named(gateway, server, answer, reason):
    gw = gateway(configuration(server))
    client = ask(gw.port)
    upstream, _ = server.accept(answer)
    upstream.close()
    assert read_head(client).startswith(b"HTTP/1.1 502 ")
    assert gw.wait_audit(1)[0]["failure"]["reason"] == reason


@pytest.mark.parametrize("framing, body", [
    ("Content-Length: 5", b"hello"), ("Transfer-Encoding: chunked", b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"), ("X-End: close", b"hello")])
def test_the_body_of_a_refusal_arrives_in_every_framing(gateway, server, framing, body):
    gw = gateway(configuration(server))
    client = ask(gw.port)
    upstream, _ = server.accept(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 400 No\r\n" + framing.encode() + b"\r\n\r\n" + body)
    if framing.startswith("X-End"):
        upstream.close()
    head = read_head(client)
    assert head.startswith(b"HTTP/1.1 400 ")
    wanted = b"5\r\nhello\r\n0\r\n\r\n" if b"chunked" in head else b"hello"
    received = b""
    while len(received) < len(wanted):
        received += client.recv(64)
    if b"chunked" in head:
        assert received.replace(b"\r\n", b"").endswith(b"0")
    else:
        assert received == wanted
    assert gw.wait_audit(1)[0]["response_bytes"] == 5


@pytest.mark.parametrize("head", [
    b"GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
    b"GET /x HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\r\n",
    b"GET /x HTTP/1.0\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    b"POST /x HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n\r\na",
])
def test_what_is_not_a_websocket_is_an_ordinary_request(gateway, upstream, head):
    upstream.on("*", "/x", "plain")
    gw = gateway(configuration(upstream))
    client = ask(gw.port, request=head)
    assert read_head(client).startswith(b"HTTP/1.1 200 ")
    assert upstream.requests[0].all("Upgrade") == [] and upstream.requests[0].all("Connection") in ([], ["keep-alive"])
