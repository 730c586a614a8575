"""With `streams.heartbeat_ms` a client of a silent event stream gets comments between events, and nobody takes its silence for an end; the
upstream's silence still ends it. (peers E53)"""

import threading
import time

import pytest

from client import Body, Client
from gateway import configuration
from upstream import STALL, chunk, script

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
BEAT = b":\n\n"


def start(gateway, upstream, **streams):
    return gateway(configuration(upstream, route={"streams": {"heartbeat_ms": 50, **streams}}))


def until(body, ending):
    while not bytes(body.content).endswith(ending):
        body.step()
    return bytes(body.content)


def test_comments_come_between_events_and_change_none(gateway, upstream):
    gates = [threading.Event() for _ in range(3)]
    upstream.on("GET", "/s", script(HEAD, gates[0], chunk(b"\xef\xbb\xbfdata: 1\n\n"), gates[1], chunk(b"data: 2\r\n\r"), gates[2],
                                    chunk(b"\ndata: 3\n\n"), b"0\r\n\r\n"))
    gw = start(gateway, upstream)
    with Client(gw.port) as client:
        client.send_request("GET", "/s")
        body = Body(client, client.read_final_head())
        for number, gate in enumerate(gates):
            while number and b"data: %d" % number not in body.content:
                body.step()
            until(body, BEAT * 3)
            gate.set()
        content = body.rest()
    assert body.done
    # The mark may be the very first of a stream only, and something of ours was before it.
    assert content.replace(BEAT, b"") == b"data: 1\n\ndata: 2\r\n\r\ndata: 3\n\n"
    record = gw.wait_audit(1)[0]
    assert record["stream"]["events"] == 3 and record["stream"]["heartbeats"] == content.count(BEAT) >= 9
    assert record["steps"]["reply"] == "sent" and record["response_bytes"] == len(content)


def test_none_comes_inside_an_event(gateway, upstream):
    gate = threading.Event()
    upstream.on("GET", "/s", script(HEAD, chunk(b"data: 1\ndata: "), gate, chunk(b"2\n\n"), b"0\r\n\r\n"))
    gw = start(gateway, upstream)
    with Client(gw.port) as client:
        client.send_request("GET", "/s")
        body = Body(client, client.read_final_head())
        assert body.at_least(14) == b"data: 1\ndata: "
        client.assert_silent(0.3)
        gate.set()
        assert body.rest().replace(BEAT, b"") == b"data: 1\ndata: 2\n\n"


def test_they_do_not_keep_a_dead_upstream_alive(gateway, upstream):
    upstream.on("GET", "/s", script(HEAD, chunk(b"data: 1\n\n"), STALL))
    gw = start(gateway, upstream, idle_ms=1000)
    with Client(gw.port) as client:
        started = time.monotonic()
        response = client.get("/s")
        assert 0.9 < time.monotonic() - started < 15
    assert not response.complete and response.body.startswith(b"data: 1\n\n" + BEAT)
    record = gw.wait_audit(1)[0]
    assert record["failure"]["reason"] == "upstream_timed_out" and record["steps"]["reply"] == "truncated"


def test_a_client_that_has_gone_is_found_out_by_them(gateway, upstream):
    upstream.on("GET", "/s", script(HEAD, chunk(b"data: 1\n\n"), STALL))
    gw = start(gateway, upstream)
    client = Client(gw.port)
    client.send_request("GET", "/s")
    until(Body(client, client.read_final_head()), BEAT)
    client.reset()
    assert gw.wait_audit(1)[0]["steps"]["reply"] == "client_gone"


@pytest.mark.parametrize("head,version", [
    (HEAD.replace(b"Transfer-Encoding: chunked", b"Content-Length: 100"), "HTTP/1.1"), (HEAD, "HTTP/1.0"),
    (HEAD.replace(b"text/event-stream", b"application/x-ndjson"), "HTTP/1.1"),
    (HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n"), "HTTP/1.1"),
], ids=["length", "old", "lines", "coded"])
def test_none_comes_where_there_is_no_room_for_it(gateway, upstream, head, version):
    upstream.on("GET", "/s", script(head, STALL))
    gw = start(gateway, upstream)
    with Client(gw.port) as client:
        client.send_request("GET", "/s", version=version)
        client.read_head()
        client.assert_silent(0.3)
