"""W3C traceparent and tracestate: passed, joined or made, audited as trace; Server-Timing where it is asked for."""

import re

import pytest

from client import get
from failures import assert_failure
from gateway import configuration
from upstream import Answer, closed_port

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GOOD = f"00-{TRACE}-{CALLER}-01"
BROKEN = ["", "00-x", GOOD.upper(), GOOD.replace("00-", "ff-", 1), f"00-{'0' * 32}-{CALLER}-01", GOOD + "-"]


def traced(gateway, upstream, **tracing):
    upstream.on("GET", "/x", Answer(200, json_body={}, headers=[("Server-Timing", "db;dur=5")]))
    return gateway(configuration(upstream, tracing=tracing))


def exchange(gw, upstream, headers):
    assert get(gw, "/x", headers).status == 200
    return upstream.requests[-1], gw.wait_audit(len(upstream.requests))[-1]


def test_by_default_it_goes_on_as_it_is(gateway, upstream):
    gw = traced(gateway, upstream)
    request, record = exchange(gw, upstream, [("Traceparent", GOOD), ("Tracestate", "a=1"), ("Tracestate", "b=2")])
    assert request.header("traceparent") == GOOD and request.all("tracestate") == ["a=1", "b=2"]
    assert record["trace"] == {"id": TRACE, "span": CALLER}
    request, record = exchange(gw, upstream, [("Traceparent", "nonsense")])
    assert request.header("traceparent") == "nonsense" and "trace" not in record
    request, record = exchange(gw, upstream, [])
    assert request.header("traceparent") is None and "trace" not in record


@pytest.mark.parametrize("mode", ["join", "make"])
def test_joined_the_gateway_is_the_parent(gateway, upstream, mode):
    gw = traced(gateway, upstream, traceparent=mode)
    spans = set()
    for _ in range(3):
        request, record = exchange(gw, upstream, [("traceparent", GOOD), ("tracestate", "a=1")])
        version, trace, span, flags = request.header("traceparent").split("-")
        assert (version, trace, flags) == ("00", TRACE, "01") and re.match(r"^[0-9a-f]{16}$", span) and span != CALLER
        assert request.header("tracestate") == "a=1"
        assert record["trace"] == {"id": TRACE, "span": span, "parent": CALLER}
        spans.add(span)
    assert len(spans) == 3


@pytest.mark.parametrize("value", BROKEN)
def test_a_broken_one_counts_as_none(gateway, upstream, value):
    gw = traced(gateway, upstream, traceparent="join")
    request, record = exchange(gw, upstream, [("traceparent", value), ("tracestate", "a=1")])
    assert request.header("traceparent") is None and request.header("tracestate") is None and "trace" not in record


def test_two_of_them_are_none(gateway, upstream):
    gw = traced(gateway, upstream, traceparent="join")
    request, record = exchange(gw, upstream, [("traceparent", GOOD), ("traceparent", GOOD)])
    assert request.all("traceparent") == [] and "trace" not in record


@pytest.mark.parametrize("headers", [[], [("traceparent", "broken"), ("tracestate", "a=1")]])
def test_made_there_is_always_one(gateway, upstream, headers):
    gw = traced(gateway, upstream, traceparent="make")
    request, record = exchange(gw, upstream, headers)
    version, trace, span, flags = request.header("traceparent").split("-")
    assert re.match(r"^[0-9a-f]{32}$", trace) and (version, flags) == ("00", "01") and request.header("tracestate") is None
    assert record["trace"] == {"id": trace, "span": span}
    other, _ = exchange(gw, upstream, headers)
    assert other.header("traceparent").split("-")[1] != trace


def test_server_timing_is_told_only_where_it_is_asked_for(gateway, upstream):
    assert get(traced(gateway, upstream), "/x").all("Server-Timing") == ["db;dur=5"]
    gw = traced(gateway, upstream, server_timing=True)
    values = get(gw, "/x").all("Server-Timing")
    assert values[0] == "db;dur=5" and re.match(r"^gateway;dur=\d+\.\d, upstream;dur=\d+\.\d$", values[1]) and len(values) == 2
    config = configuration(f"http://127.0.0.1:{closed_port()}", tracing={"server_timing": True})
    answer = get(gateway(config), "/x")
    assert_failure(answer, 502, "connect_refused", "network", "forward")
    assert re.match(r"^gateway;dur=\d+\.\d, upstream;dur=\d+\.\d$", answer.header("Server-Timing"))
