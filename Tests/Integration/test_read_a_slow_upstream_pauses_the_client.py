"""An upload to an upstream that does not read is paused; memory stays bounded; once it reads, every byte arrives."""

import hashlib
import select
import threading

from client import Client
from gateway import configuration
from upstream import Answer
from waiting import wait_until

SIZE = 64 << 20
BLOCK = bytes(range(256)) * 1024
BUFFERED_BYTES_MAX = 24 << 20


def test_a_slow_upstream_pauses_the_client(gateway, make_upstream):
    upstream = make_upstream(receive_buffer=65536)
    gate, received = threading.Event(), []

    def read_late(request, connection):
        connection.wait_for(gate)
        connection.read_body(request)
        received.append((request.body_bytes, request.digest.hexdigest()))
        return Answer(200, "taken")
    upstream.on("POST", "/up", read_late, early=True)
    upstream.on("GET", "/small", "small")
    upstream.kept_body_bytes_max = 0
    gw = gateway(configuration(upstream, workers=1))
    with Client(gw.port) as other, Client(gw.port) as client:
        other.get("/small")
        before = gw.rss()
        gw.reset_peak_rss()
        client.send_request("POST", "/up", [("Content-Length", str(SIZE))])
        client.socket.setblocking(False)
        view, sent, still = memoryview(BLOCK), 0, 0
        while still < 20 and sent < SIZE:
            _, writable, _ = select.select([], [client.socket], [], 0.02)
            if writable:
                offset = sent % len(BLOCK)
                sent += client.socket.send(view[offset:])
                still = 0
            else:
                still += 1
        assert sent < BUFFERED_BYTES_MAX, f"{sent} bytes were taken from the client"
        assert gw.peak_growth(before) < 16 << 20
        assert other.get("/small").status == 200
        gate.set()
        client.socket.settimeout(20)
        while sent < SIZE:
            offset = sent % len(BLOCK)
            sent += client.socket.send(view[offset:offset + SIZE - sent])
        assert client.read_response().body == b"taken"
        assert gw.peak_growth(before) < 16 << 20
    wait_until(lambda: received)
    assert received == [(SIZE, hashlib.sha256(BLOCK * (SIZE // len(BLOCK))).hexdigest())]
