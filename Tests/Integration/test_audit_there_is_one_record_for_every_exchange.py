"""Served, refused, malformed, abandoned and failed exchanges: one line each with its steps, attempts, bytes and times; mode 0600."""

import os
import stat

from client import Client, get
from gateway import ENVELOPE, STEPS, configuration
from upstream import STALL, Answer, script


def test_there_is_one_record_for_every_exchange(gateway, upstream):
    upstream.on("POST", "/api/ok", Answer(200, json_body='{"code":0}')).on("GET", "/api/bad", Answer(200, json_body='{"code":4,"msg":"m"}'))
    upstream.on("GET", "/api/slow", script(STALL))
    gw = gateway(configuration(upstream, route={"path": "/api/*", "policy": "envelope"}, policies={"envelope": ENVELOPE}))
    assert get(gw, "/api/ok?a=1", method="POST", body=b"12345").status == 200
    gw.wait_audit(1)
    get(gw, "/api/bad")
    gw.wait_audit(2)
    get(gw, "/nowhere")
    gw.wait_audit(3)
    with Client(gw.port) as client:
        client.send("BROKEN\r\n\r\n").read_response()
    gw.wait_audit(4)
    gone = Client(gw.port)
    gone.send_request("GET", "/api/slow")
    upstream.wait_requests(1, "/api/slow")
    gone.reset()
    served, rejected, unrouted, malformed, abandoned = gw.wait_audit(5)
    assert stat.S_IMODE(os.stat(gw.audit_file).st_mode) == 0o600
    assert (served["method"], served["target"], served["route"], served["status"]) == ("POST", "/api/ok?a=1", "api", 200)
    assert served["failure"] is None and served["request_bytes"] >= 5 and served["response_bytes"] >= 10
    assert served["upstream"] and served["duration_us"] >= served["attempts"][0]["duration_us"] >= 0
    assert set(served["steps"]) == set(STEPS), "each step ends in an outcome"
    assert served["steps"] == {"accept": "accepted", "read": "parsed", "route": "matched", "inject": "not_applicable",
                               "forward": "responded", "refresh": "not_needed", "retry": "not_needed", "normalize": "accepted",
                               "reply": "sent", "audit": "written"}
    assert (rejected["status"], rejected["business_code"]) == (422, 4)
    assert rejected["failure"] == {**rejected["failure"], "reason": "business_rejected", "kind": "business", "step": "normalize"}
    assert (unrouted["status"], unrouted["route"], unrouted["attempts"]) == (404, None, [])
    assert malformed["status"] == 400 and malformed["steps"]["read"] == "malformed"
    assert abandoned["failure"]["reason"] == "client_gone" and abandoned["status"] == 499
    assert len({record["id"] for record in (served, rejected, unrouted, malformed, abandoned)}) == 5


def test_many_exchanges_on_one_connection_are_all_there(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, workers=1))
    with Client(gw.port) as client:
        for _ in range(500):
            client.get("/x")
    records = gw.wait_audit(500)
    assert len({record["id"] for record in records}) == 500
