"""Empty, garbled, reset and cut answers: 502 with the right reason; nothing broken is ever passed as whole."""

import pytest

from client import get
from failures import assert_failure
from gateway import ENVELOPE, configuration, merged
from upstream import CLOSE, RESET, script

BEFORE_THE_HEAD = {
    "empty": ([CLOSE], {"empty_response", "reset"}),
    "reset": ([RESET], {"reset"}),
    "garbage": ([b"\x00\x01garbage\r\n\r\n", CLOSE], {"response_malformed"}),
    "bad status": ([b"HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n", CLOSE], {"response_malformed"}),
    "half a head": ([b"HTTP/1.1 200 OK\r\nContent-Le", CLOSE], {"response_malformed", "reset", "empty_response", "response_truncated"}),
    "two lengths": ([b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", CLOSE], {"response_malformed"}),
    "bad length": ([b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nab", CLOSE], {"response_malformed"}),
    "endless head": ([b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 100_000, CLOSE], {"response_malformed", "response_too_large"}),
}
CUT = {
    "length": [b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"code\":0}", CLOSE],
    "chunked": [b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\na\r\n{\"code\":0}\r\n", CLOSE],
    "bad chunk": [b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\na\r\n{\"code\":0}\r\nzz\r\n",
                  CLOSE],
}


@pytest.mark.parametrize("name", BEFORE_THE_HEAD)
@pytest.mark.parametrize("policy", [False, True], ids=["plain", "policy"])
def test_broken_before_the_head_is_whole(gateway, upstream, name, policy):
    steps, reasons = BEFORE_THE_HEAD[name]
    upstream.on("POST", "/x", script(*steps))
    config = configuration(upstream, route={"policy": "envelope"} if policy else {}, policies={"envelope": ENVELOPE})
    gw = gateway(config)
    failure = assert_failure(get(gw, "/x", method="POST", body=b"order"), 502, kind="network", step="forward")
    assert failure["reason"] in reasons, failure["reason"]
    assert len(upstream.requests) == 1, "a POST was sent twice"
    assert get(gw, "/x", method="POST", body=b"order").status == 502


@pytest.mark.parametrize("name", CUT)
def test_a_cut_answer_is_seen_as_cut_by_the_client(gateway, upstream, name):
    upstream.on("GET", "/x", script(*CUT[name]))
    gw = gateway(configuration(upstream))
    response = get(gw, "/x")
    assert response.status == 502 or (response.status == 200 and not response.complete)
    record = gw.wait_audit(1)[0]
    assert record["failure"] is not None


@pytest.mark.parametrize("name", CUT)
def test_a_cut_answer_is_never_judged_by_the_policy(gateway, upstream, name):
    upstream.on("GET", "/x", script(*CUT[name]))
    gw = gateway(merged(configuration(upstream, route={"policy": "envelope"}), {"policies": {"envelope": ENVELOPE}}))
    failure = assert_failure(get(gw, "/x"), 502, statusCode=200)
    assert failure["reason"] in ("response_truncated", "response_malformed"), failure["reason"]
