"""A client that does not read: the upstream is paused and the memory stays bounded; then every byte arrives.

Phases: the client reads the head only; the upstream sends until its socket is full (far below the size of the body);
the client reads everything. 64 MiB here; 256 MiB is in the memory test.
"""

from client import Body, Client
from gateway import configuration
from upstream import script
from waiting import wait_until

SIZE = 64 << 20
BLOCK = bytes(range(256)) * 1024
BUFFERED_BYTES_MAX = 24 << 20  # Two kernels' socket buffers on each side at their automatic maximum, and the gateway's own.


def send_blocks(connection):
    for _ in range(SIZE // len(BLOCK)):
        connection.send(BLOCK)


def test_a_slow_client_pauses_the_upstream(gateway, upstream):
    upstream.on("GET", "/big", script(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % SIZE, send_blocks))
    upstream.on("GET", "/small", "small")
    gw = gateway(configuration(upstream, workers=1))
    with Client(gw.port) as other, Client(gw.port, receive_buffer=65536) as client:
        assert other.get("/small").status == 200
        before = gw.rss()
        gw.reset_peak_rss()
        client.send_request("GET", "/big")
        body = Body(client, client.read_final_head())
        connection = upstream.connections[-1] if upstream.connections[-1].sent_bytes else upstream.connections[0]
        seen = [-1]

        def stands_still():
            before_look, seen[0] = seen[0], connection.sent_bytes
            other.get("/small")  # Also proves that the worker serves others meanwhile.
            return seen[0] == before_look and seen[0] > 0
        wait_until(lambda: all(stands_still() for _ in range(20)), 10, "the upstream is paused")
        assert connection.sent_bytes < BUFFERED_BYTES_MAX
        assert gw.peak_growth(before) < 16 << 20
        position = 0

        def compare(piece):
            nonlocal position
            start = position % len(BLOCK)
            assert (BLOCK + BLOCK)[start:start + len(piece)] == piece
            position += len(piece)
        assert body.discard_rest(compare) == SIZE
        assert gw.peak_growth(before) < 16 << 20
