"""An upstream's breaker opens on a share of failures, answers 503 breaker_open itself, tries it out, closes, and is seen. (D47, peers 26, 27)"""

import threading

import pytest

from admin import Admin, sample, with_admin
from client import get
from failures import assert_failure
from gateway import ENVELOPE, configuration, merged, together
from upstream import CLOSE, Answer, closed_port, script
from waiting import wait_until

EXPECTED_LOG = [r"warning breaker of upstream api: open for \d+ ms, \d+ of \d+ attempts failed"]

BREAKER = {"failure_percent": 50, "min_requests": 4, "window_ms": 60_000, "open_ms": 600_000, "max_open_ms": 600_000, "probes": 2}
SHORT = {**BREAKER, "open_ms": 50, "max_open_ms": 50}


def config(upstream, breaker, route=None, **sections):
    return merged(configuration(upstream, route=route, **sections), {"upstreams": {"api": {"breaker": breaker}}})


def fail_until_open(gw, count=4, status=500):
    for _ in range(count):
        assert get(gw, "/x").status == status


def test_it_opens_answers_itself_and_leaves_the_upstream_alone(gateway, upstream):
    upstream.on("GET", "/x", Answer(500, "broken"))
    gw = gateway(config(upstream, BREAKER))
    fail_until_open(gw)
    for _ in range(3):
        response = get(gw, "/x")
        body = assert_failure(response, 503, "breaker_open")
        assert (body["step"], body["origin"], body["retryable"], body["attempts"]) == ("forward", "gateway", True, 0)
        assert 500 < int(response.header("Retry-After")) <= 600
    assert len(upstream.requests) == 4
    record = gw.wait_audit(7)[-1]
    assert record["steps"]["forward"] == "breaker_open" and record["attempts"] == [] and record["status"] == 503
    assert record["failure"] == {"reason": "breaker_open", "kind": "http", "step": "forward"}


def test_below_the_share_and_below_the_number_it_stays_closed(gateway, upstream):
    upstream.on("GET", "/x", Answer(500, "broken"), Answer(500, "broken"), Answer(500, "broken"), *[Answer(200, "ok")] * 40)
    gw = gateway(config(upstream, BREAKER))
    assert [get(gw, "/x").status for _ in range(30)] == [500] * 3 + [200] * 27


def test_it_tries_the_upstream_out_and_closes(gateway, upstream):
    upstream.on("GET", "/x", *[Answer(500, "broken")] * 4, Answer(200, "ok"))
    gw = gateway(config(upstream, SHORT))
    fail_until_open(gw)
    wait_until(lambda: get(gw, "/x").status == 200, 20, "an attempt after open_ms")
    # The second probe; then it is closed.
    assert get(gw, "/x").body == b"ok" and get(gw, "/x").body == b"ok"
    log = gw.stderr()
    assert log.index("open for 50 ms, 4 of 4") < log.index("half open, trying it out") < log.index("closed")


def test_a_probe_that_fails_opens_it_again(gateway, upstream):
    upstream.on("GET", "/x", Answer(500, "broken"))
    gw = gateway(config(upstream, SHORT))
    fail_until_open(gw)
    wait_until(lambda: get(gw, "/x").status == 503 and "1 of 1 attempts failed" in gw.stderr(), 20, "a probe")


def test_only_the_probes_get_through_while_it_is_half_open(gateway, upstream):
    gate = threading.Event()
    upstream.on("GET", "/x", Answer(500, "broken"))
    upstream.on("GET", "/slow", Answer(200, "ok", gate=gate))
    gw = gateway(config(upstream, {**BREAKER, "open_ms": 3000, "max_open_ms": 3000}, workers=2))
    fail_until_open(gw)

    def one(index):
        # Waits for the half-open phase, then stays in it as a probe, or is refused by it.
        def ask():
            response = get(gw, "/slow")
            return response if response.status == 200 or "half open" in gw.stderr() else None
        response = wait_until(ask, 30, "the half-open phase")
        if response.status == 503:
            gate.set()
        return response.status
    statuses = together(8, one)
    assert statuses.count(200) >= 2 and len(upstream.to("/slow")) == statuses.count(200)
    assert 503 in statuses, "the herd got through"


@pytest.mark.parametrize("end", ["connection", "refused", "business"])
def test_network_failures_and_business_codes_count(gateway, upstream, end):
    upstream.on("GET", "/x", script(CLOSE) if end == "connection" else Answer(json_body={"code": 50013, "msg": "busy"}))
    target = f"http://127.0.0.1:{closed_port()}" if end == "refused" else upstream
    breaker = {**BREAKER, "on": ["reset", "empty_response", "connect_refused", "business:50013"]}
    gw = gateway(config(target, breaker, route={"policy": "p"}, policies={"p": ENVELOPE}))
    statuses = [get(gw, "/x").status for _ in range(4)]
    assert statuses == [422 if end == "business" else 502] * 4
    assert_failure(get(gw, "/x"), 503, "breaker_open")


@pytest.mark.parametrize("status", [400, 401, 404, 429, 501])
def test_answers_that_are_no_ailment_never_open_it(gateway, upstream, status):
    upstream.on("GET", "/x", Answer(status, "no"))
    gw = gateway(config(upstream, BREAKER))
    assert [get(gw, "/x").status for _ in range(12)] == [status] * 12


def test_it_is_shared_by_all_workers_and_seen(gateway, upstream):
    upstream.on("GET", "/x", Answer(500, "broken"))
    upstream.on("GET", "/ok", Answer(200, "ok"))
    gw = gateway(with_admin(config(upstream, BREAKER, workers=2)))
    admin = Admin(gw)
    assert admin.json("GET", "/api/upstreams")["upstreams"] == [{"name": "api", "url": upstream.url, "breaker": {
        "state": "closed", "attempts": 0, "failures": 0, "retryAfterMs": None, "opened": 0, "refused": 0}}]
    statuses = together(12, lambda _index: get(gw, "/x").status)
    assert set(statuses) <= {500, 503} and statuses.count(500) >= 4
    refused = [get(gw, "/ok").status for _ in range(6)]
    assert refused == [503] * 6, "each new connection may go to another worker"
    shown = admin.json("GET", "/api/upstreams")["upstreams"][0]["breaker"]
    assert shown["state"] == "open" and shown["opened"] == 1 and 0 < shown["retryAfterMs"] <= 600_000
    metrics = admin.metrics()
    assert sample(metrics, "cryonet_breaker_state", upstream="api", state="open") == 1
    assert sample(metrics, "cryonet_breaker_state", upstream="api", state="closed") == 0
    assert sample(metrics, "cryonet_breaker_opened_total", upstream="api") == 1
    assert sample(metrics, "cryonet_breaker_refused_total", upstream="api") == shown["refused"] >= 6
    assert sample(metrics, "cryonet_failures_total", route="api", reason="breaker_open") == shown["refused"]


def test_a_reload_keeps_it_open_unless_it_is_changed(gateway, upstream):
    upstream.on("GET", "/x", *[Answer(500, "broken")] * 4, Answer(200, "ok"))
    gw = gateway(config(upstream, BREAKER))
    fail_until_open(gw)
    gw.reload({**gw.config, "limits": {"idle_timeout_ms": 5000}})
    assert get(gw, "/x").status == 503
    gw.reload(merged(gw.config, {"upstreams": {"api": {"breaker": {"failure_percent": 60}}}}))
    assert get(gw, "/x").status == 200
