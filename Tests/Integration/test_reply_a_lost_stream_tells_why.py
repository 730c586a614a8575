"""With `streams.on_loss: error_event` a client whose upstream is lost in the middle of an event stream gets the failure as its last event, and
an end that can't be taken for a proper one. Half an event is never given out. (ledger SS6, peers on streaming)"""

import json
import threading

import pytest

from client import Body, Client, get
from failures import MEMBERS
from gateway import configuration
from upstream import CLOSE, RESET, STALL, chunk, script

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def start(gateway, upstream, **streams):
    return gateway(configuration(upstream, route={"streams": {"on_loss": "error_event", **streams}}))


def failure_at_end(response, events):
    assert response.status == 200 and not response.complete and response.framing == "chunked"
    start = events + b"event: error\ndata: "
    assert response.body.startswith(start) and response.body.endswith(b"\n\n"), response.body
    failure = json.loads(response.body[len(start):-2])
    assert set(failure) == MEMBERS and b"\n" not in response.body[len(start):-2]
    return failure


@pytest.mark.parametrize("loss,reason", [
    ([CLOSE], "response_truncated"), ([RESET], "response_truncated"), ([STALL], "upstream_timed_out"), ([b"zz\r\n"], "response_truncated"),
], ids=["closed", "reset", "silent", "broken chunks"])
@pytest.mark.parametrize("half", [b"", b"id: 2\ndata: half", b"event: x\ndata: half\n"], ids=["whole", "in a line", "in an event"])
def test_the_last_event_is_the_failure(gateway, upstream, loss, reason, half):
    # The client has the first event before the loss: a reset may destroy what is still on its way.
    gate = threading.Event()
    upstream.on("GET", "/s", script(HEAD, chunk(b"id: 1\ndata: one\n\n"), gate, *([chunk(half)] if half else []), *loss))
    gw = start(gateway, upstream, idle_ms=1000 if loss == [STALL] else 60_000)
    with Client(gw.port) as client:
        client.send_request("GET", "/s", [("Accept-Language", "en")])
        response = client.read_final_head()
        body = Body(client, response)
        assert body.at_least(17) == b"id: 1\ndata: one\n\n"
        gate.set()
        try:
            body.rest()
        except Exception:
            response.complete = False
        response.body = bytes(body.content)
        failure = failure_at_end(response, b"id: 1\ndata: one\n\n")
    assert failure["reason"] == reason and failure["statusCode"] == 200
    record = gw.wait_audit(1)[0]
    assert record["failure"]["reason"] == reason and record["steps"]["reply"] == "truncated"
    assert record["stream"]["error_event"] is True and record["stream"]["events"] == 1


def test_a_proper_end_is_passed_with_everything(gateway, upstream):
    content = b": c\n\ndata: one\r\n\r\ndata: open"
    upstream.on("GET", "/s", script(HEAD, *[chunk(content[index:index + 1]) for index in range(len(content))], b"0\r\n\r\n"))
    response = get(start(gateway, upstream), "/s")
    assert response.complete and response.body == content


def test_an_event_arrives_before_the_next_is_written(gateway, upstream):
    gates = [threading.Event() for _ in range(5)]
    steps = [HEAD]
    for gate in gates:
        steps += [chunk(b"data: "), chunk(b"x\n\n"), gate]
    upstream.on("GET", "/s", script(*steps, b"0\r\n\r\n"))
    gw = start(gateway, upstream)
    with Client(gw.port) as client:
        client.send_request("GET", "/s")
        body = Body(client, client.read_final_head())
        for number, gate in enumerate(gates, 1):
            assert body.at_least(9 * number) == b"data: x\n\n" * number
            gate.set()
        assert body.rest() == b"data: x\n\n" * 5


def test_a_longer_event_than_is_held_goes_on_as_it_comes(gateway, upstream):
    long = b"data: " + b"x" * 70_000
    gate = threading.Event()
    upstream.on("GET", "/s", script(HEAD, chunk(long), gate, chunk(b"\n\n"), CLOSE))
    gw = start(gateway, upstream)
    with Client(gw.port) as client:
        client.send_request("GET", "/s")
        response = client.read_final_head()
        body = Body(client, response)
        assert body.at_least(len(long)) == long
        gate.set()
        try:
            body.rest()
        except Exception:
            response.complete = False
        response.body = bytes(body.content)
        assert failure_at_end(response, long + b"\n\n")["reason"] == "response_truncated"


def test_without_it_the_stream_is_cut_as_it_is(gateway, upstream):
    upstream.on("GET", "/s", script(HEAD, chunk(b"data: one\n\ndata: ha"), CLOSE))
    response = get(start(gateway, upstream, on_loss="cut"), "/s")
    assert not response.complete and response.body == b"data: one\n\ndata: ha"
