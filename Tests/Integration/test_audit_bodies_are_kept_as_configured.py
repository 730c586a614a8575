"""bodies: off, failures, all; max_body_bytes cuts and says so."""

import json

import pytest

from client import get
from gateway import ENVELOPE, configuration
from upstream import Answer


@pytest.mark.parametrize("bodies,on_success,on_failure", [("off", False, False), ("failures", False, True), ("all", True, True)])
def test_bodies_are_kept_as_configured(gateway, upstream, bodies, on_success, on_failure):
    upstream.on("POST", "/good", Answer(200, json_body='{"code":0,"mark":"good-answer"}'))
    upstream.on("POST", "/bad", Answer(200, json_body='{"code":1,"mark":"bad-answer"}'))
    gw = gateway(configuration(upstream, route={"policy": "envelope"}, policies={"envelope": ENVELOPE},
                               audit={"bodies": bodies, "max_body_bytes": 4096}))
    get(gw, "/good", method="POST", body=b"good-request")
    gw.wait_audit(1)
    get(gw, "/bad", method="POST", body=b"bad-request")
    good, bad = (json.dumps(record) for record in gw.wait_audit(2))
    assert ("good-answer" in good) == on_success and ("good-request" in good) == on_success
    assert ("bad-answer" in bad) == on_failure and ("bad-request" in bad) == on_failure


def test_long_bodies_are_cut(gateway, upstream):
    upstream.on("POST", "/x", "ok")
    gw = gateway(configuration(upstream, audit={"bodies": "all", "max_body_bytes": 10}))
    get(gw, "/x", method="POST", body=b"abcdefghijklmnopqrstuvwxyz")
    line = json.dumps(gw.wait_audit(1)[0])
    assert "abcdefghij" in line and "abcdefghijk" not in line
