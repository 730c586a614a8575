"""GET 503, 503, 200 is a success with three attempts; Retry-After is honoured; POST and other statuses are not tried again. (V8, A10)"""

import time

import pytest

from client import get
from gateway import configuration
from upstream import CLOSE, RESET, Answer, closed_port, script

RETRY = {"limit": 2, "base": 2, "scale_ms": 10, "jitter": "none"}


def test_three_attempts_make_a_success(gateway, upstream):
    upstream.on("GET", "/x", Answer(503, "a"), Answer(503, "b"), Answer(200, "c"))
    gw = gateway(configuration(upstream, route={"retry": RETRY}))
    response = get(gw, "/x")
    assert (response.status, response.body) == (200, b"c")
    record = gw.wait_audit(1)[0]
    assert [a["status"] for a in record["attempts"]] == [503, 503, 200] and record["steps"]["retry"] == "retried"
    starts = [a["start_us"] for a in record["attempts"]]
    assert starts[1] - starts[0] >= 10_000 and starts[2] - starts[1] >= 20_000


def test_the_last_failure_is_the_upstream_s_own(gateway, upstream):
    upstream.on("GET", "/x", Answer(503, "a"), Answer(503, "b"), Answer(503, "c", [("Retry-After", "7")]))
    gw = gateway(configuration(upstream, route={"retry": RETRY}))
    response = get(gw, "/x")
    assert (response.status, response.body, response.header("Retry-After")) == (503, b"c", "7")
    assert len(upstream.requests) == 3 and gw.wait_audit(1)[0]["steps"]["retry"] == "limit_reached"


@pytest.mark.parametrize("method,status", [("POST", 503), ("PATCH", 503), ("GET", 501), ("GET", 404), ("GET", 429)])
def test_others_are_tried_once(gateway, upstream, method, status):
    upstream.on(method, "/x", Answer(status, "no"))
    gw = gateway(configuration(upstream, route={"retry": RETRY}))
    assert get(gw, "/x", method=method).status == status
    assert len(upstream.requests) == 1
    assert gw.wait_audit(1)[0]["steps"]["retry"] in ("not_eligible", "not_needed")


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "OPTIONS"])
def test_idempotent_methods_are_tried_again(gateway, upstream, method):
    upstream.on(method, "/x", Answer(502), Answer(200, "ok"))
    gw = gateway(configuration(upstream, route={"retry": RETRY}))
    assert get(gw, "/x", method=method, body=b"body" if method == "PUT" else b"").status == 200
    assert len(upstream.requests) == 2
    assert len({request.body for request in upstream.requests}) == 1


def test_without_retry_there_is_one_attempt(gateway, upstream):
    upstream.on("GET", "/x", Answer(503, "no"), Answer(200, "yes"))
    gw = gateway(configuration(upstream))
    assert get(gw, "/x").status == 503


def test_retry_after_in_seconds_is_waited_for_and_bounded(gateway, upstream):
    upstream.on("GET", "/x", Answer(503, "a", [("Retry-After", "1")]), Answer(200, "ok"))
    upstream.on("GET", "/far", Answer(503, "a", [("Retry-After", "86400")]), Answer(200, "ok"))
    gw = gateway(configuration(upstream, route={"retry": {**RETRY, "max_delay_ms": 1500}}))
    assert get(gw, "/x").status == 200
    first, second = upstream.to("/x")
    assert second.time - first.time >= 0.95
    started = time.monotonic()
    assert get(gw, "/far").status in (200, 503)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("value", ["-5", "soon", "Thu, 01 Jan 1970 00:00:00 GMT", "99999999999999999999"])
def test_odd_retry_after_values_do_no_harm(gateway, upstream, value):
    upstream.on("GET", "/x", Answer(503, "a", [("Retry-After", value)]), Answer(200, "ok"))
    gw = gateway(configuration(upstream, route={"retry": {**RETRY, "max_delay_ms": 100}}))
    assert get(gw, "/x").status in (200, 503)
    assert len(upstream.requests) <= 3


@pytest.mark.parametrize("end", [CLOSE, RESET])
def test_a_lost_connection_is_tried_again_before_the_first_byte(gateway, upstream, end):
    upstream.on("GET", "/x", script(end), Answer(200, "ok"))
    gw = gateway(configuration(upstream, route={"retry": RETRY}))
    assert get(gw, "/x").body == b"ok"


def test_never_after_the_first_byte(gateway, upstream):
    upstream.on("GET", "/x", script(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", CLOSE), Answer(200, "second"))
    gw = gateway(configuration(upstream, route={"retry": RETRY}))
    response = get(gw, "/x")
    assert response.status == 200 and not response.complete and response.body in (b"", b"abc")
    assert len(upstream.requests) == 1


def test_a_refused_connection_is_tried_up_to_the_limit(gateway):
    gw = gateway(configuration(f"http://127.0.0.1:{closed_port()}", route={"retry": RETRY}))
    response = get(gw, "/x")
    assert response.status == 502 and response.json()["attempts"] == 3


def test_the_client_s_leaving_ends_the_waiting(gateway, upstream):
    from client import Client
    upstream.on("GET", "/x", Answer(503, "a"))
    gw = gateway(configuration(upstream, route={"retry": {**RETRY, "scale_ms": 30_000, "max_delay_ms": 30_000}}))
    client = Client(gw.port)
    client.send_request("GET", "/x")
    upstream.wait_requests(1)
    client.reset()
    assert gw.wait_audit(1)[0]["failure"]["reason"] == "client_gone"
    assert len(upstream.requests) == 1


def test_the_auth_retry_is_counted_apart(gateway, upstream, endpoint):
    upstream.on("GET", "/x", Answer(503, "a"), endpoint.guard(Answer(200, "-")), Answer(503, "b"), Answer(200, "done"))
    gw = gateway(configuration(upstream, route={"token": "app", "retry": RETRY}, tokens={"app": endpoint.configuration()}),
                 endpoint=endpoint)
    endpoint.revoke()
    assert get(gw, "/x").body == b"done"
    assert [a["status"] for a in gw.wait_audit(1)[0]["attempts"]] == [503, 401, 503, 200]


def test_an_idempotency_key_makes_a_post_eligible(gateway, upstream):
    upstream.on("POST", "/x", Answer(503, "a"), Answer(200, "ok"))
    gw = gateway(configuration(upstream, route={"retry": RETRY}))
    response = get(gw, "/x", method="POST", body=b"pay", headers=[("Idempotency-Key", "k-1")])
    assert response.status == 200
    assert [(r.body, r.header("Idempotency-Key")) for r in upstream.requests] == [(b"pay", "k-1")] * 2


def test_only_what_is_listed_is_tried_again(gateway, upstream):
    upstream.on("GET", "/limited", Answer(429, "a"), Answer(200, "ok"))
    upstream.on("GET", "/broken", Answer(503, "a"), Answer(200, "ok"))
    gw = gateway(configuration(upstream, route={"retry": {**RETRY, "on": [429, "connect_refused"]}}))
    assert get(gw, "/limited").status == 200
    assert get(gw, "/broken").status == 503


def test_a_listed_business_code_is_tried_again(gateway, upstream):
    busy = Answer(200, '{"code":50013,"msg":"busy"}', [("Content-Type", "application/json")])
    refused = Answer(200, '{"code":50014,"msg":"no"}', [("Content-Type", "application/json")])
    done = Answer(200, '{"code":0,"data":1}', [("Content-Type", "application/json")])
    upstream.on("GET", "/busy", busy, done)
    upstream.on("GET", "/refused", refused, done)
    gw = gateway(configuration(
        upstream, route={"policy": "envelope", "retry": {**RETRY, "on": ["business:50013"]}},
        policies={"envelope": {"success": {"field": "code", "equals": 0}, "code": "code", "message": ["msg"]}}))
    assert get(gw, "/busy").status == 200
    assert get(gw, "/refused").status == 422
    records = gw.wait_audit(2)
    assert [len(r["attempts"]) for r in records] == [2, 1]
    assert [r["steps"]["retry"] for r in records] == ["retried", "not_needed"]


def test_a_client_may_ask_for_fewer_and_the_header_stays_here(gateway, upstream):
    upstream.on("GET", "/x", Answer(503, "a"))
    gw = gateway(configuration(upstream, route={"retry": RETRY}))
    assert get(gw, "/x", headers=[("CryoNet-Retry", "1")]).status == 503
    assert len(upstream.requests) == 2 and all(r.header("CryoNet-Retry") is None for r in upstream.requests)


def test_a_wait_that_would_outlast_the_total_time_is_not_begun(gateway, upstream):
    upstream.on("GET", "/x", Answer(503, "the first", [("Retry-After", "30")]), Answer(200, "ok"))
    gw = gateway(configuration(
        upstream, upstreams={"api": {"timeouts": {"total_ms": 5000}}}, route={"retry": {**RETRY, "max_delay_ms": 60000}}))
    started = time.monotonic()
    response = get(gw, "/x")
    assert (response.status, response.body) == (503, b"the first") and time.monotonic() - started < 4
    assert gw.wait_audit(1)[0]["steps"]["retry"] == "no_time_left"


def test_the_budget_keeps_retries_a_small_part(gateway, upstream):
    """Ten requests fail at once; three may be tried again, seven get the answer they have."""
    upstream.on("GET", "/x", Answer(503, "no"))
    slow = {**RETRY, "limit": 1, "scale_ms": 1500, "max_delay_ms": 1500}
    gw = gateway(configuration(upstream, route={"retry": slow}))
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(10) as pool:
        statuses = list(pool.map(lambda _: get(gw, "/x").status, range(10)))
    assert statuses == [503] * 10
    outcomes = [r["steps"]["retry"] for r in gw.wait_audit(10)]
    assert outcomes.count("limit_reached") == 3 and outcomes.count("budget_spent") == 7, outcomes
