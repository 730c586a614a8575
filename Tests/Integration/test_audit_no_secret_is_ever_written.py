"""Redaction by name (headers, query, JSON members) and by live value (raw, URL- and base64-encoded) in audit and log."""

import base64
from urllib.parse import quote

from client import get
from gateway import ENVELOPE, configuration
from upstream import Answer

TOKEN = "live+secret/value=0123456789"


def test_no_secret_is_ever_written(gateway, upstream):
    echo = {"code": 9, "msg": f"bad token {TOKEN}", "data": {"password": "hunter2-hunter2", "echo": TOKEN}}
    upstream.on("*", "/x", Answer(200, json_body=echo, headers=[("Set-Cookie", "sid=cookie-secret-1")]))
    audit = {"bodies": "all", "max_body_bytes": 4096,
             "redact": {"headers": ["X-Private"], "json": ["password", "pin"], "query": ["key", "access_token"]}}
    gw = gateway(configuration(upstream, route={"token": "app", "policy": "envelope"}, policies={"envelope": ENVELOPE},
                               tokens={"app": {"static": {"token": "env:T"}}}, audit=audit),
                 env={"T": TOKEN}, secrets=[TOKEN, "hunter2-hunter2", "cookie-secret-1", "query-secret-1", "private-secret-1",
                                            "pin-secret-1", "client-secret-value-1"])
    target = f"/x?key=query-secret-1&a=1&echo={quote(TOKEN, safe='')}"
    response = get(gw, target, [("X-Private", "private-secret-1"), ("Authorization", "Bearer client-secret-value-1"),
                                ("Content-Type", "application/json"), ("X-Echo", base64.b64encode(TOKEN.encode()).decode())],
                   "POST", ('{"pin":"pin-secret-1","t":"%s"}' % TOKEN).encode())
    assert response.status == 422
    assert TOKEN.encode() not in response.body, "a failure body never contains a credential"
    record = gw.wait_audit(1)[0]
    assert "a=1" in record["target"] and "key=" in record["target"]
    assert gw.secrets, "checked by the fixture at the end"


def test_names_are_compared_without_case_and_encoded_keys_are_seen(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, audit={"redact": {"query": ["key"]}}), secrets=["query-secret-2", "query-secret-3"])
    assert get(gw, "/x?KEY=query-secret-2&%6bey=query-secret-3").status == 200
    gw.wait_audit(1)
