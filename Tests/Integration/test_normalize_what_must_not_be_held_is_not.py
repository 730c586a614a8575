"""`X-Accel-Buffering: no` on an answer of unknown length: no policy holds it, and the field goes on to whoever stands in front of the gateway.
An answer whose length is announced is judged as ever. (peers: caddy#6293)"""

import threading

import pytest

from client import Body, Client, get
from failures import assert_failure
from gateway import ENVELOPE, configuration
from upstream import Answer, chunk, script

FIELD = ("X-Accel-Buffering", "no")


def start(gateway, upstream, **policy):
    return gateway(configuration(upstream, route={"policy": "p"}, policies={"p": {**ENVELOPE, **policy}}))


@pytest.mark.parametrize("media", ["application/json", "text/plain"])
def test_each_piece_arrives_before_the_next_is_written(gateway, upstream, media):
    pieces = [b'{"code":7,', b'"msg":', b'"late"}']
    gates = [threading.Event() for _ in pieces]
    steps = [f"HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nX-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n".encode()]
    for piece, gate in zip(pieces, gates):
        steps += [chunk(piece), gate]
    upstream.on("GET", "/s", script(*steps, b"0\r\n\r\n"))
    gw = start(gateway, upstream)
    with Client(gw.port) as client:
        client.send_request("GET", "/s")
        head = client.read_final_head()
        assert head.status == 200 and head.header("X-Accel-Buffering") == "no"
        body, expected = Body(client, head), b""
        for piece, gate in zip(pieces, gates):
            expected += piece
            assert body.at_least(len(expected)) == expected
            gate.set()
        assert body.rest() == expected
    assert gw.wait_audit(1)[0]["steps"]["normalize"] == "passed_through"


@pytest.mark.parametrize("answer", [
    Answer(json_body={"code": 7, "msg": "no"}, headers=[FIELD]),
    Answer(200, chunks=[b'{"code":7,"msg":"no"}'], headers=[("Content-Type", "application/json"), ("X-Accel-Buffering", "yes")]),
    Answer(200, chunks=[b'{"code":7,"msg":"no"}'], headers=[("Content-Type", "application/json")]),
], ids=["length", "yes", "absent"])
def test_all_else_is_judged(gateway, upstream, answer):
    upstream.on("GET", "/s", answer)
    assert_failure(get(start(gateway, upstream), "/s"), 422, "business_rejected")


def test_a_status_is_a_failure_all_the_same(gateway, upstream):
    upstream.on("GET", "/s", Answer(500, chunks=[b"oh"], headers=[FIELD]))
    assert_failure(get(start(gateway, upstream), "/s"), 500, "upstream_status")


def test_a_first_event_that_is_to_be_judged_still_is(gateway, upstream):
    upstream.on("GET", "/s", Answer(200, chunks=[b'data: {"code":7,"msg":"no"}\n\n'],
                                    headers=[("Content-Type", "text/event-stream"), FIELD]))
    assert_failure(get(start(gateway, upstream, streams="first_event"), "/s"), 422, "business_rejected")
