"""A POST that was read whole is never sent again, however the upstream fails, and the failure says that it is not safe to repeat; a GET, and a
POST with an Idempotency-Key, may be. (B-08, A08)
"""

import pytest

from client import get
from failures import assert_failure
from gateway import ENVELOPE, configuration
from upstream import CLOSE, RESET, STALL, script

#: What the upstream does once it has read the request, the status and reason of the failure, whether a GET may be repeated.
ENDS = {
    "closes": (script(CLOSE), 502, {"empty_response", "reset"}, True),
    "resets": (script(RESET), 502, {"reset", "empty_response"}, True),
    "answers garbage": (script(b"HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n", CLOSE), 502, {"response_malformed"}, False),
    "is silent": (script(STALL), 504, {"upstream_timed_out"}, True),
    "breaks off": (script(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", CLOSE), 502, {"response_truncated"}, True),
    "fails": (script(b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops"), 500, {"upstream_status"}, False),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_post_is_delivered_once(gateway, upstream, end):
    answer, status, reasons, may_repeat = ENDS[end]
    upstream.on("*", "/order", answer)
    gw = gateway(configuration(upstream, route={"policy": "envelope"}, policies={"envelope": ENVELOPE},
                               upstreams={"api": {"timeouts": {"response_ms": 200}}}))

    def ask(method, body, *fields):
        failure = assert_failure(get(gw, "/order", fields, method, body), status)
        assert failure["reason"] in reasons, failure["reason"]
        return failure["retryable"]
    assert ask("POST", b"n=1") is False
    assert ask("PATCH", b"n=1") is False
    assert [request.body for request in upstream.requests] == [b"n=1"] * 2
    assert ask("POST", b"n=2", ("Idempotency-Key", "k1")) is may_repeat
    assert ask("GET", b"") is may_repeat
    assert ask("PUT", b"n=3") is may_repeat
    assert [request.body for request in upstream.requests].count(b"n=2") == 1


def test_a_post_that_never_left_may_be_repeated(gateway):
    gw = gateway(configuration("http://127.0.0.1:1"))
    assert_failure(get(gw, "/order", method="POST", body=b"n=1"), 502, "connect_refused", retryable=True)
