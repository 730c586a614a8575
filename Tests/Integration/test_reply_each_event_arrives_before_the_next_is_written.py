"""Event streams, NDJSON and bodies of unknown length are flushed on every read: the next event is written only after the client
has seen the one before. The bytes are identical, also gzip-coded, also one byte per segment inside a character. (V9, B-10, B-11)
"""

import threading
import zlib

import pytest

from client import Body, Client
from gateway import ENVELOPE, configuration
from upstream import CLOSE, chunk, script

KINDS = {
    "sse chunked": ("text/event-stream", True), "sse to the end": ("text/event-stream", False),
    "ndjson": ("application/x-ndjson", True), "unknown length": ("application/octet-stream", False),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("policy", [False, True])
def test_each_event_arrives_before_the_next_is_written(gateway, upstream, kind, policy):
    media, chunked = KINDS[kind]
    if policy and "sse" not in kind:
        pytest.skip("a policy may buffer what is not an event stream")
    events = ["data: 你好🙂 {}\n\n".format(number).encode() for number in range(10)]
    gates = [threading.Event() for _ in events]
    framing = "Transfer-Encoding: chunked" if chunked else "Connection: close"
    steps = [f"HTTP/1.1 200 OK\r\nContent-Type: {media}\r\n{framing}\r\n\r\n".encode()]
    for event, gate in zip(events, gates):
        steps += [chunk(event) if chunked else event, gate]
    upstream.on("GET", "/events", script(*steps, *([b"0\r\n\r\n"] if chunked else []), CLOSE))
    route = {"policy": "envelope"} if policy else {}
    gw = gateway(configuration(upstream, route=route, policies={"envelope": ENVELOPE}))
    with Client(gw.port) as client:
        client.send_request("GET", "/events")
        head = client.read_final_head()
        assert head.header("Content-Type") == media
        body, expected = Body(client, head), b""
        for event, gate in zip(events, gates):
            expected += event
            assert body.at_least(len(expected)) == expected
            gate.set()
        assert body.rest() == expected


def test_coded_events_arrive_coded_and_at_once(gateway, upstream):
    coder, gates, pieces = zlib.compressobj(wbits=31), [], []
    for number in range(4):
        pieces.append(coder.compress(b"data: %d\n\n" % number) + coder.flush(zlib.Z_SYNC_FLUSH))
        gates.append(threading.Event())
    steps = [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"]
    for piece, gate in zip(pieces, gates):
        steps += [chunk(piece), gate]
    upstream.on("GET", "/events", script(*steps, b"0\r\n\r\n"))
    gw = gateway(configuration(upstream, route={"policy": "envelope"}, policies={"envelope": ENVELOPE}))
    with Client(gw.port) as client:
        client.send_request("GET", "/events", [("Accept-Encoding", "gzip")])
        head = client.read_final_head()
        assert head.header("Content-Encoding") == "gzip"
        body, expected = Body(client, head), b""
        for piece, gate in zip(pieces, gates):
            expected += piece
            assert body.at_least(len(expected)) == expected
            gate.set()
        assert body.rest() == expected


def test_single_bytes_inside_a_character(gateway, upstream):
    text = "data: 你好🙂\n\n".encode() + b"\xff"
    steps = [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"]
    steps += [chunk(bytes([byte])) for byte in text] + [b"0\r\n\r\n"]
    upstream.on("GET", "/events", script(*steps))
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        assert client.get("/events").body == text


def test_a_broken_stream_looks_broken(gateway, upstream):
    upstream.on("GET", "/events", script(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n", chunk(b"data: 1\n\n"), CLOSE))
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        response = client.get("/events")
        assert response.status == 200 and response.body == b"data: 1\n\n" and not response.complete
    assert len(upstream.requests) == 1
    assert gw.wait_audit(1)[0]["steps"]["reply"] == "truncated"
