"""With `streams.on_loss: reconnect` an event stream whose upstream is lost goes on by Last-Event-ID without the client noticing: no event is
missing, none comes twice, none is half. (peers on streaming, WHATWG HTML §9.2.3)"""

import json

import pytest

from admin import Admin, sample, with_admin
from client import Client, get
from gateway import ENVELOPE, configuration, merged
from upstream import CLOSE, RESET, STALL, Answer, chunk, script

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def event(number):
    return b"id: %d\ndata: event %d\n\n" % (number, number)


def start(gateway, upstream, endpoint=None, idle_ms=60_000, **reconnect):
    route = {"streams": {"on_loss": "reconnect", "idle_ms": idle_ms, "reconnect": {"delay_ms": 20, **reconnect}}}
    config = configuration(upstream, route=route)
    if endpoint:
        config["routes"][0]["token"] = "app"
        config["tokens"] = {"app": endpoint.configuration()}
    return gateway(with_admin(config), endpoint=endpoint)


def ids(upstream):
    return [request.header("Last-Event-ID") for request in upstream.to("/s")]


@pytest.mark.parametrize("loss", [CLOSE, STALL], ids=["closed", "silent"])
def test_no_event_is_missing_none_comes_twice(gateway, upstream, loss):
    """Each attempt brings two events and a half, however the pieces are cut."""
    def answer(request):
        after = int(request.header("Last-Event-ID") or "0")
        if after >= 6:
            return script(HEAD, chunk(b"data: the end\n\n"), b"0\r\n\r\n")
        steps = [chunk(piece) for piece in (event(after + 1)[:9], event(after + 1)[9:] + event(after + 2) + event(after + 3)[:8])]
        return script(HEAD, *steps, loss)
    upstream.on("GET", "/s", answer)
    gw = start(gateway, upstream, idle_ms=500)
    response = get(gw, "/s")
    assert response.complete and response.body == b"".join(map(event, range(1, 7))) + b"data: the end\n\n"
    assert ids(upstream) == [None, "2", "4", "6"]
    record = gw.wait_audit(1)[0]
    assert record["steps"]["reply"] == "sent" and record["steps"]["retry"] == "retried" and record["failure"] is None
    assert len(record["attempts"]) == 4 and record["stream"]["resumed"] == 3 and record["stream"]["events"] == 7
    metrics = Admin(gw).metrics()
    for outcome in ["tried", "resumed"]:
        assert sample(metrics, "cryonet_stream_reconnects_total", route="api", outcome=outcome) == 3


def test_a_refused_token_is_refreshed_on_the_way(gateway, upstream, endpoint):
    def answer(request):
        if request.header("Last-Event-ID") == "1":
            return script(HEAD, chunk(event(2)), b"0\r\n\r\n")
        endpoint.revoke()
        return script(HEAD, chunk(event(1)), CLOSE)
    upstream.on("GET", "/s", endpoint.guard(answer))
    gw = start(gateway, upstream, endpoint)
    response = get(gw, "/s")
    assert response.complete and response.body == event(1) + event(2)
    assert ids(upstream) == [None, "1", "1"] and len(endpoint.calls) == 1
    record = gw.wait_audit(1)[0]
    assert [attempt["status"] for attempt in record["attempts"]] == [200, 401, 200] and record["steps"]["refresh"] == "led"
    assert record["attempts"][1]["token_refused_by"] == "status"


def test_a_token_that_the_first_event_refuses_is_refreshed_too(gateway, upstream, endpoint):
    """Where the policy judges first events, a new attempt's is judged as well: the client sees none of what is refused."""
    refusal = b'data: {"code":10001,"msg":"expired"}\n\n'

    def answer(request):
        if request.header("Last-Event-ID") is None:
            return script(HEAD, chunk(event(1)), CLOSE)
        if request.header("Authorization") == f"Bearer {endpoint.tokens[0]}":
            return script(HEAD, chunk(b": hello\n\n" + refusal[:9]), chunk(refusal[9:]), STALL)
        return script(HEAD, chunk(event(2)), b"0\r\n\r\n")
    upstream.on("GET", "/s", answer)
    config = configuration(
        upstream, route={"token": "app", "policy": "p", "streams": {"on_loss": "reconnect", "reconnect": {"delay_ms": 20}}},
        policies={"p": merged(ENVELOPE, {"streams": "first_event"})},
        tokens={"app": endpoint.configuration(refresh={"on_business_codes": [10001]})})
    gw = gateway(config, endpoint=endpoint)
    response = get(gw, "/s")
    assert response.complete and response.body == event(1) + event(2)
    assert ids(upstream) == [None, "1", "1"] and len(endpoint.calls) == 1
    record = gw.wait_audit(1)[0]
    assert record["attempts"][1]["token_refused_by"] == "business_code" and record["failure"] is None


def test_an_upstream_that_stays_away_ends_it_in_words(gateway, upstream):
    upstream.on("GET", "/s", script(HEAD, chunk(event(1)), CLOSE), Answer(503, close=True), script(RESET))
    gw = start(gateway, upstream, limit=2)
    response = get(gw, "/s")
    assert not response.complete and response.body.startswith(event(1) + b"event: error\ndata: {")
    failure = json.loads(response.body[len(event(1)) + len(b"event: error\ndata: "):])
    assert failure["reason"] == "response_truncated" and failure["attempts"] == 3
    record = gw.wait_audit(1)[0]
    assert record["steps"]["retry"] == "limit_reached" and len(record["attempts"]) == 3
    assert ids(upstream) == [None, "1", "1"]


def test_no_content_says_that_it_is_over(gateway, upstream):
    upstream.on("GET", "/s", script(HEAD, chunk(event(1)), CLOSE), Answer(204))
    response = get(start(gateway, upstream), "/s")
    assert response.complete and response.body == event(1)


def test_the_client_s_own_id_begins_and_ours_goes_on(gateway, upstream):
    upstream.on("GET", "/s", script(HEAD, CLOSE), script(HEAD, chunk(event(8)), CLOSE), script(HEAD, b"0\r\n\r\n"))
    gw = start(gateway, upstream)
    with Client(gw.port) as client:
        response = client.get("/s", [("Last-Event-ID", "7")])
        assert response.complete and response.body == event(8)
    assert ids(upstream) == ["7", "7", "8"]


@pytest.mark.parametrize("method,events", [("POST", event(1)), ("GET", event(1) + b"data: without an id\n\n")], ids=["post", "no id"])
def test_what_would_come_twice_is_not_asked_for(gateway, upstream, method, events):
    upstream.on(method, "/s", script(HEAD, chunk(events), CLOSE))
    response = get(start(gateway, upstream), "/s", method=method)
    assert not response.complete and response.body.startswith(events + b"event: error\n")
    assert len(upstream.requests) == 1


def test_a_client_that_leaves_meanwhile_ends_it(gateway, upstream):
    upstream.on("GET", "/s", script(HEAD, chunk(b"retry: 20000\n\n" + event(1)), CLOSE))
    gw = start(gateway, upstream)
    client = Client(gw.port)
    client.send_request("GET", "/s")
    while b"event 1" not in client.buffer:
        client.receive()
    client.close()
    record = gw.wait_audit(1)[0]
    assert record["steps"]["reply"] == "client_gone" and len(upstream.requests) == 1
