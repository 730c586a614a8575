"""/metrics: the text format held to its rules, counts that agree with what happened, promtool where it is installed."""

import shutil
import subprocess

import pytest

from admin import Admin, sample, with_admin
from client import get
from gateway import ENVELOPE, OUTCOMES, configuration
from upstream import Answer, closed_port


@pytest.fixture
def busy(gateway, upstream, endpoint):
    upstream.on("GET", "/ok", endpoint.guard(Answer(json_body={"code": 0, "data": 1})))
    upstream.on("GET", "/no", endpoint.guard(Answer(json_body={"code": 7, "msg": "no"})))
    config = configuration(upstream, route={"token": "app", "policy": "p"}, policies={"p": ENVELOPE},
                           tokens={"app": endpoint.configuration()}, workers=2)
    config["upstreams"]["down"] = {"url": f"http://127.0.0.1:{closed_port()}"}
    config["routes"].insert(0, {"name": "down", "path": "/down", "upstream": "down"})
    gw = gateway(with_admin(config), endpoint=endpoint)
    for _ in range(20):
        assert get(gw, "/ok").status == 200
    for _ in range(3):
        assert get(gw, "/no").status == 422
    endpoint.revoke()
    assert get(gw, "/ok").status == 200
    assert get(gw, "/down").status == 502
    assert get(gw, "/ok", [("Origin", "https://evil.example")]).status == 403
    gw.wait_audit(26)
    return Admin(gw)


def test_the_counts_are_those_of_the_exchanges(busy):
    metrics = busy.metrics()

    def count(route, step, outcome):
        return sample(metrics, "cryonet_exchanges_total", route=route, step=step, outcome=outcome)
    assert count("api", "normalize", "accepted") == 21 and count("api", "normalize", "business_rejected") == 3
    assert count("api", "refresh", "led") == 1 and count("api", "refresh", "not_needed") == 23
    assert count("api", "reply", "sent") == 24 and count("api", "audit", "written") == 24 and count("api", "retry", "limit_reached") == 0
    assert count("down", "forward", "connect_failed") == 1 and count("", "route", "origin_denied") == 1
    assert sample(metrics, "cryonet_failures_total", route="api", reason="business_rejected") == 3
    assert sample(metrics, "cryonet_failures_total", route="down", reason="connect_refused") == 1
    assert sample(metrics, "cryonet_replies_total", route="api", status="2xx") == 21
    assert sample(metrics, "cryonet_replies_total", route="api", status="4xx") == 3
    assert sample(metrics, "cryonet_exchange_duration_seconds_count", route="api") == 24
    assert sample(metrics, "cryonet_attempt_duration_seconds_count", upstream="api") == 25, "the refused attempt counts"
    assert sample(metrics, "cryonet_token_refreshes_total", token="app", outcome="renewed") == 1
    assert sample(metrics, "cryonet_token_version", token="app") == 2
    assert sample(metrics, "cryonet_token_state", token="app", state="valid") == 1
    assert sample(metrics, "cryonet_session_state", session="app", state="authenticated") == 1
    assert sample(metrics, "cryonet_audit_records_total", outcome="written") == 26
    assert sample(metrics, "cryonet_audit_records_total", outcome="dropped") == 0
    assert sample(metrics, "cryonet_exchanges_open") == 0
    assert sample(metrics, "cryonet_connections_open", listener="admin") == 1


def test_labels_are_closed_sets(busy):
    for (name, labels), _ in busy.metrics().items():
        labels = dict(labels)
        if name == "cryonet_exchanges_total":
            assert labels["outcome"] in OUTCOMES[labels["step"]], labels
        if "route" in labels:
            assert labels["route"] in ("", "api", "down")


def test_counters_go_on_over_a_reload(busy):
    config = dict(busy.gateway.config, limits={"idle_timeout_ms": 50_000})
    busy.gateway.reload(config)
    metrics = busy.metrics()
    assert sample(metrics, "cryonet_exchanges_total", route="api", step="reply", outcome="sent") == 24
    assert sample(metrics, "cryonet_config_reloads_total", outcome="taken") == 1
    assert sample(metrics, "cryonet_config_last_reload_successful") == 1


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool")
def test_promtool_has_nothing_to_say(busy):
    text = busy.get("/metrics", key=False).body
    check = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=30)
    assert check.returncode == 0 and not check.stderr.strip(), check.stderr.decode()
