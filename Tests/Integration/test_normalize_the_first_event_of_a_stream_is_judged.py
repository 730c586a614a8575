"""With `streams: first_event` a stream's first event is judged before a byte goes on: a refused token is refreshed and the request sent again,
a business failure is one failure JSON, everything else passes byte for byte. (ledger SS5)"""

import time

import pytest

from client import Client, get
from failures import assert_failure
from gateway import ENVELOPE, configuration
from upstream import STALL, Answer, script

EVENTS = [("Content-Type", "text/event-stream")]
LINES = [("Content-Type", "application/x-ndjson")]
GOOD = b': hello\n\nid: 1\n\ndata: {"code":0,\ndata: "n":1}\n\ndata: two\n\n'


def start(gateway, upstream, endpoint=None, **policy):
    config = configuration(upstream, route={"policy": "p"}, policies={"p": {**ENVELOPE, "streams": "first_event", **policy}})
    if endpoint:
        config["routes"][0]["token"] = "app"
        config["tokens"] = {"app": endpoint.configuration(refresh={"on_business_codes": [10001]})}
    return gateway(config, endpoint=endpoint)


@pytest.mark.parametrize("fields,body", [
    (EVENTS, GOOD), (EVENTS, b"data: [DONE]\n\n"), (EVENTS, b"data: {\"code\":0"), (EVENTS, b": only a comment\n\n"), (EVENTS, b""),
    (LINES, b'{"code":0}\n{"code":7}\n'), (LINES, b'{"code":0}'), (EVENTS, b"data: {\"code\":0}\n\ndata: {\"code\":7}\n\n"),
], ids=["good", "text", "cut", "comment", "empty", "lines", "line", "later"])
def test_what_is_no_failure_passes_byte_for_byte(gateway, upstream, fields, body):
    upstream.on("GET", "/s", Answer(200, body, fields))
    response = get(start(gateway, upstream), "/s")
    assert (response.status, response.body) == (200, body) and response.header("Content-Type") == fields[0][1]


@pytest.mark.parametrize("fields,body", [
    (EVENTS, b'data: {"code":40013,"msg":"no money"}\n\n'), (LINES, b'{"code":40013,"msg":"no money"}\n{"code":0}\n'),
    (EVENTS, b': c\n\nid: 7\n\nevent: error\ndata: {"code":40013,\r\ndata: "msg":"no money"}\r\n\r\ndata: more\n\n'),
])
def test_a_failure_in_the_first_event_is_the_failure(gateway, upstream, fields, body):
    upstream.on("GET", "/s", Answer(200, body, fields))
    gw = start(gateway, upstream)
    failure = assert_failure(get(gw, "/s"), 422, "business_rejected")
    assert failure["businessCode"] == 40013 and failure["message"] == "no money"
    assert gw.wait_audit(1)[0]["steps"]["normalize"] == "business_rejected"


def test_a_refused_token_is_refreshed_before_a_byte_goes_on(gateway, upstream, endpoint):
    refused = Answer(200, b'data: {"code":10001,"msg":"expired"}\n\n', EVENTS)
    upstream.on("GET", "/s", refused, Answer(200, GOOD, EVENTS))
    gw = start(gateway, upstream, endpoint)
    response = get(gw, "/s")
    assert (response.status, response.body) == (200, GOOD)
    assert len(endpoint.calls) == 1 and len(upstream.to("/s")) == 2
    assert gw.wait_audit(1)[0]["steps"]["refresh"] == "led"


def test_without_the_key_nothing_is_looked_at(gateway, upstream):
    body = b'data: {"code":40013}\n\n'
    upstream.on("GET", "/s", Answer(200, body, EVENTS))
    assert get(start(gateway, upstream, streams="pass"), "/s").body == body


def test_a_silent_stream_goes_on_unjudged(gateway, upstream):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    upstream.on("GET", "/s", script(head, STALL))
    gw = start(gateway, upstream)
    with Client(gw.port) as client:
        started = time.monotonic()
        client.send_request("GET", "/s")
        assert client.read_head().status == 200
        assert 1.5 < time.monotonic() - started < 10


def test_a_first_event_beyond_the_bound_goes_on_unjudged(gateway, upstream):
    body = b"data: " + b"x" * 70_000 + b'\ndata: {"code":7}\n\n'
    upstream.on("GET", "/s", Answer(200, body, EVENTS))
    assert get(start(gateway, upstream), "/s").body == body
