"""A route's limits: one too many at a time gets 503, one too early 429; both say when to come again and whose they are. (D48)"""

import threading

from admin import Admin, sample, with_admin
from client import get
from failures import assert_failure
from gateway import configuration, merged, together
from upstream import Answer
from waiting import wait_until


def test_one_too_many_at_a_time_is_told_so_and_comes_again(gateway, upstream):
    gate = threading.Event()
    upstream.on("GET", "/slow", Answer(200, "slow", gate=gate))
    upstream.on("GET", "/x", Answer(200, "ok"))
    gw = gateway(with_admin(configuration(upstream, route={"limits": {"concurrent": 3}}, workers=2)))
    done = []
    threads = [threading.Thread(target=lambda: done.append(get(gw, "/slow").status), daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(upstream.to("/slow")) == 3, 20, "three exchanges at the upstream")
    response = get(gw, "/x")
    body = assert_failure(response, 503, "concurrency_limited", step="route", origin="gateway", retryable=True)
    assert body["route"] == "api" and response.header("Retry-After") == "1"
    assert response.header("RateLimit") is None
    metrics = Admin(gw).metrics()
    assert sample(metrics, "cryonet_route_exchanges_open", route="api") == 3
    assert sample(metrics, "cryonet_failures_total", route="api", reason="concurrency_limited") == 1
    gate.set()
    for thread in threads:
        thread.join(20)
    assert done == [200] * 3
    wait_until(lambda: sample(Admin(gw).metrics(), "cryonet_route_exchanges_open", route="api") == 0, 20, "an empty route")
    assert get(gw, "/x").status == 200
    record = next(item for item in gw.wait_audit(5) if item["status"] == 503)
    assert record["steps"]["route"] == "concurrency_limited" and record["attempts"] == [] and record["route"] == "api"


def test_one_too_early_is_told_so_with_the_policy(gateway, upstream):
    upstream.on("GET", "/x", Answer(200, "ok"))
    gw = gateway(configuration(upstream, route={"limits": {"requests_per_second": 0.01, "burst": 5}}, workers=2))
    answers = together(12, lambda _index: get(gw, "/x"))
    refused = [answer for answer in answers if answer.status == 429]
    assert len(refused) == 7 and len(upstream.requests) == 5, [answer.status for answer in answers]
    for answer in refused:
        assert_failure(answer, 429, "rate_limited", step="route", origin="gateway", retryable=True)
        wait = int(answer.header("Retry-After"))
        assert 80 <= wait <= 100
        assert answer.header("RateLimit-Policy") == '"api";q=5;w=500'
        assert answer.header("RateLimit") == f'"api";r=0;t={wait}'


def test_who_waits_as_told_is_served(gateway, upstream):
    upstream.on("GET", "/x", Answer(200, "ok"))
    gw = gateway(configuration(upstream, route={"limits": {"requests_per_second": 20, "burst": 1}}))
    wait_until(lambda: get(gw, "/x").status == 429, 20, "a refusal")
    wait_until(lambda: get(gw, "/x").status == 200, 20, "the next place")


def test_the_upstream_s_own_429_is_not_ours(gateway, upstream):
    upstream.on("GET", "/x", Answer(429, "slow down", [("Retry-After", "9"), ("RateLimit", '"x";r=0;t=9')]))
    gw = gateway(configuration(upstream, route={"limits": {"requests_per_second": 1000}}))
    response = get(gw, "/x")
    assert (response.status, response.body, response.header("Retry-After")) == (429, b"slow down", "9")
    assert response.header("CryoNet-Failure") is None and response.header("RateLimit") == '"x";r=0;t=9'


def test_a_limit_is_its_route_s_only_and_a_reload_keeps_the_count(gateway, upstream):
    upstream.on("GET", "/x", Answer(200, "ok"))
    upstream.on("GET", "/free", Answer(200, "ok"))
    config = configuration(upstream, route={"limits": {"requests_per_second": 0.001, "burst": 2}})
    config["routes"].insert(0, {"name": "free", "path": "/free", "upstream": "api"})
    gw = gateway(config)
    assert [get(gw, "/x").status for _ in range(3)] == [200, 200, 429]
    assert [get(gw, "/free").status for _ in range(5)] == [200] * 5
    gw.reload(merged(gw.config, {"limits": {"idle_timeout_ms": 5000}}))
    assert get(gw, "/x").status == 429


def test_who_is_refused_before_takes_no_part_of_it(gateway, upstream):
    upstream.on("GET", "/x", Answer(200, "ok"))
    gw = gateway(configuration(upstream, route={"limits": {"requests_per_second": 0.001, "burst": 1}}))
    for _ in range(5):
        assert get(gw, "/x", [("Origin", "https://evil.example")]).status == 403
    assert get(gw, "/x").status == 200
    assert get(gw, "/x").status == 429
