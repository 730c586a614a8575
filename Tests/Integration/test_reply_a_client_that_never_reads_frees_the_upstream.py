"""A client that asks and never reads: after `limits.write_timeout_ms` without progress it counts as gone and the upstream is freed; one that
reads slowly but steadily gets everything.
"""

import pytest

from client import Body, Client
from gateway import configuration
from upstream import chunk, script
from waiting import wait_until

BLOCK = bytes(65536)
BLOCKS = 1024
SIZE = BLOCKS * len(BLOCK)
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % SIZE
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def send_blocks(connection):
    for _ in range(BLOCKS):
        connection.send(BLOCK)


def send_chunks(connection):
    for _ in range(BLOCKS):
        connection.send(chunk(BLOCK))
    connection.send(b"0\r\n\r\n")


@pytest.mark.parametrize("kind", ["length", "stream"])
def test_a_client_that_never_reads_frees_the_upstream(gateway, upstream, kind):
    upstream.on("GET", "/big", script(LENGTH, send_blocks) if kind == "length" else script(CHUNKED, send_chunks))
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, workers=1, limits={"write_timeout_ms": 300}))
    with Client(gw.port) as other, Client(gw.port, receive_buffer=65536) as client:
        assert other.get("/x").status == 200
        client.send_request("GET", "/big")
        record = gw.wait_audit(2, 20)[1]
        assert record["steps"]["reply"] == "client_gone" and record["failure"]["reason"] == "client_gone"
        assert 0 < record["response_bytes"] < SIZE
        wait_until(lambda: any(c.closed_at and c.sent_bytes > len(BLOCK) for c in upstream.connections), 5, "the upstream is freed")
        assert other.get("/x").status == 200


def test_pipelined_requests_of_a_client_that_never_reads_are_bounded(gateway, upstream):
    upstream.on("GET", "/x", b"y" * 16384)
    gw = gateway(configuration(upstream, workers=1, limits={"write_timeout_ms": 300}))
    before = gw.rss()
    gw.reset_peak_rss()
    with Client(gw.port, receive_buffer=4096) as client:
        client.socket.settimeout(20)
        try:
            # Far more requests than replies fit into the buffers on the way.
            for _ in range(200):
                client.send(b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200)
        except (ConnectionError, TimeoutError):
            pass
        wait_until(lambda: gw.audit() and gw.audit()[-1]["steps"]["reply"] == "client_gone", 20, "the client counts as gone")
    assert len(gw.audit()) < 40_000
    assert gw.peak_growth(before) < 16 << 20


def test_a_client_that_reads_slowly_gets_everything(gateway, upstream):
    size = 8 << 20
    upstream.on("GET", "/big", script(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size, lambda c: c.send(bytes(size))))
    gw = gateway(configuration(upstream, workers=1, limits={"write_timeout_ms": 2_000}))
    with Client(gw.port, receive_buffer=65536) as client:
        client.send_request("GET", "/big")
        body = Body(client, client.read_final_head())
        assert body.discard_rest() == size
