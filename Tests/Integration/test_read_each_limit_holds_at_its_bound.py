"""The fixed bounds of the client side, each at the bound and one beyond: methods, empty lines, Connection options, chunk sizes and extensions,
trailers, refusals over capacity, pipelined bytes, the rest of a body behind an early answer. (Those of heads: header bombs.)
"""

import socket
import threading

import pytest

from client import Client, Ended
from failures import assert_failure
from gateway import configuration
from upstream import Answer
from waiting import wait_until

CHUNKED = b"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
EXTENSION, EXTENSIONS_TOTAL, TRAILER_BYTES, TRAILER_LINES, SIZE_DIGITS = 256, 16_384, 8_192, 32, 16
FULL = b"1;" + b"a" * (EXTENSION - 1) + b"\r\nx\r\n"


def plain(method="GET", before=b"", options=0):
    connection = "Connection: " + ", ".join(f"x-{number}" for number in range(options)) + "\r\n" if options else ""
    return before + f"{method} /x HTTP/1.1\r\nHost: localhost\r\n{connection}\r\n".encode()


#: At the bound, one beyond, its status.
BOUNDS = {
    "methodBytesMax": (plain("M" * 32), plain("M" * 33), 501),
    "leadingEmptyLinesMax": (plain(before=b"\r\n" * 4), plain(before=b"\r\n" * 5), 400),
    "connectionOptionsMax": (plain(options=64), plain(options=65), 400),
    "sizeDigitsMax": (CHUNKED + b"0" * (SIZE_DIGITS - 1) + b"1\r\nx\r\n0\r\n\r\n", CHUNKED + b"0" * SIZE_DIGITS + b"1\r\nx\r\n0\r\n\r\n", 400),
    "extensionBytesMax": (CHUNKED + FULL + b"0\r\n\r\n", CHUNKED + FULL.replace(b"a\r", b"aa\r") + b"0\r\n\r\n", 400),
    "extensionsTotalBytesMax": (CHUNKED + FULL * (EXTENSIONS_TOTAL // EXTENSION) + b"0\r\n\r\n",
                                CHUNKED + FULL * (EXTENSIONS_TOTAL // EXTENSION) + b"0;a\r\n\r\n", 400),
    "trailerLinesMax": (CHUNKED + b"0\r\n" + b"X: 1\r\n" * TRAILER_LINES + b"\r\n",
                        CHUNKED + b"0\r\n" + b"X: 1\r\n" * (TRAILER_LINES + 1) + b"\r\n", 400),
    "trailerBytesMax": (CHUNKED + b"0\r\nX:" + b"a" * (TRAILER_BYTES - 2) + b"\r\n\r\n",
                        CHUNKED + b"0\r\nX:" + b"a" * (TRAILER_BYTES - 1) + b"\r\n\r\n", 400),
}


@pytest.mark.parametrize("bound", BOUNDS)
def test_each_limit_holds_at_its_bound(gateway, upstream, bound):
    within, beyond, status = BOUNDS[bound]
    upstream.on("*", "/x", "ok")
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.send(within)
        assert client.read_response().body == b"ok"
        # The connection is fit for another.
        assert client.get("/x").status == 200
    with Client(gw.port) as client:
        client.send(beyond)
        assert_failure(client.read_response(), status, "request_malformed", "http", "read")
        client.assert_closed()
    assert sum(request.complete for request in upstream.requests) == 2


def test_refusals_in_words_are_bounded_too(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, workers=1, limits={"connections_max": 1}))
    with Client(gw.port) as served:
        assert served.get("/x").status == 200
        clients = [Client(gw.port) for _ in range(600)]
        told, silent = 0, 0
        for client in clients:
            try:
                # A head may come before the end is seen; nothing else may.
                assert client.read_response().status == 503
                told += 1
            except Ended as ended:
                assert ended.received == b""
                silent += 1
        # Those told leave after a moment and make room for others: at least as many as the bound, and not everybody.
        assert told >= 256 and silent >= 1, (told, silent)
        assert served.get("/x").status == 200
        for client in clients:
            client.close()
        wait_until(lambda: gw.descriptors() < 100, 10, "the refused are gone")
        assert served.get("/x").status == 200


@pytest.mark.parametrize("length, is_kept", [(262_144, True), (262_145, False)])
def test_the_rest_of_a_body_behind_an_early_answer(gateway, upstream, length, is_kept):
    """`discardBytesMax`: a rest that is small enough is read, and the connection kept."""
    upstream.on("POST", "/early", Answer(409, "no"), early=True).on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.send_request("POST", "/early", [("Content-Length", str(length))])
        response = client.read_response()
        assert (response.status, response.closes()) == (409, not is_kept)
        if is_kept:
            client.send(bytes(length))
            assert client.get("/x").body == b"ok"
        else:
            client.assert_closed()


def test_pipelined_bytes_wait_in_the_kernel(gateway, upstream):
    """`pipelinedBytesMax`: while an exchange is open, further requests are not read without end, and none is lost."""
    gate = threading.Event()
    upstream.on("GET", "/slow", Answer(200, "slow", gate=gate)).on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, workers=1))
    request = b"GET /x HTTP/1.1\r\nHost: localhost\r\nX-Fill: " + b"v" * 8_000 + b"\r\n\r\n"
    with Client(gw.port) as client:
        client.send_request("GET", "/slow")
        upstream.wait_requests(1)
        before = gw.rss()
        client.socket.setblocking(False)
        sent = 0
        whole = request * 2_000

        def is_full():
            nonlocal sent
            try:
                while sent < len(whole):
                    sent += client.socket.send(whole[sent:sent + 65_536])
            except BlockingIOError:
                return True
            raise AssertionError("16 MB of requests were taken")
        for _ in range(20):
            # Full, and still full after everybody had a turn.
            wait_until(is_full, 5)
            with Client(gw.port) as other:
                assert other.get("/x").status == 200
        assert gw.growth(before) < 4 << 20
        gate.set()
        client.socket.setblocking(True)
        client.socket.settimeout(20)
        assert client.read_response().body == b"slow"
        # What is left of the last request that has begun.
        client.send(whole[sent:sent + -sent % len(request)])
        for _ in range(-(-sent // len(request))):
            assert client.read_response().body == b"ok"


@pytest.mark.parametrize("size", [16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 262_143, 262_144, 262_145])
def test_bodies_around_every_buffer_size_arrive_whole(gateway, upstream, size):
    """`copiedBodyBytesMax`, `readBytesMax`, `pendingBytesMax`, `waitingBytesMax`: what happens there must not be seen."""
    body = bytes(range(251)) * (size // 251 + 1)
    upstream.on("POST", "/x", lambda request: Answer(200, request.body))
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        response = client.request("POST", "/x", body=body[:size])
        assert response.status == 200 and response.body == body[:size]


def test_more_connections_than_events_in_one_wait(gateway, upstream):
    """`eventsPerWaitMax`, `acceptsMax`, `roundsMax`: with more ready at once than one turn takes, everybody is served."""
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, workers=1))
    clients = [socket.create_connection(("127.0.0.1", gw.port), timeout=20) for _ in range(400)]
    for _ in range(2):
        for client in clients:
            client.sendall(b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n" * 4)
        for client in clients:
            received = b""
            while received.count(b"HTTP/1.1 200 OK") < 4 or not received.endswith(b"ok"):
                piece = client.recv(65_536)
                assert piece
                received += piece
    for client in clients:
        client.close()
