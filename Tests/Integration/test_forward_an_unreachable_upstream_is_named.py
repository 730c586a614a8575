"""Refused connection, unknown name, silent upstream: the row of the failure table, at once or at the configured time."""

import pytest

from client import get
from failures import assert_failure
from gateway import ENVELOPE, configuration, merged
from upstream import STALL, closed_port, script

POLICY = {"policies": {"envelope": ENVELOPE}}


@pytest.mark.parametrize("policy", [False, True])
def test_a_refused_connection(gateway, policy):
    config = configuration(f"http://127.0.0.1:{closed_port()}", route={"policy": "envelope"} if policy else {})
    gw = gateway(merged(config, POLICY))
    response = get(gw, "/x")
    assert_failure(response, 502, "connect_refused", "network", "forward", statusCode=None, message="无法连接到服务器",
                   retryable=True, responseData=None, businessCode=None)
    assert "error=connection_refused" in response.header("Proxy-Status").replace(" ", "")
    assert response.header("CryoNet-Failure") == "network/connect_refused"
    assert gw.wait_audit(1)[0]["steps"]["forward"] == "connect_failed"


def test_an_unknown_name(gateway):
    gw = gateway(configuration("http://no-such-host.invalid:80"))
    response = get(gw, "/x")
    assert_failure(response, 502, "upstream_dns_failed", "network", "forward", statusCode=None)
    assert "error=dns_error" in response.header("Proxy-Status").replace(" ", "")
    assert gw.wait_audit(1)[0]["steps"]["forward"] == "dns_failed"


def test_no_answer_within_the_response_timeout(gateway, upstream):
    upstream.on("*", "/x", script(STALL))
    config = configuration(upstream)
    config["upstreams"]["api"]["timeouts"] = {"response_ms": 200}
    gw = gateway(config)
    response = get(gw, "/x", method="POST", body=b"once")
    assert_failure(response, 504, "upstream_timed_out", "network", "forward", statusCode=None, message="请求超时")
    assert "http_response_timeout" in response.header("Proxy-Status")
    assert len(upstream.requests) == 1
    upstream.wait_closed(1, 2)


def test_an_answer_that_stands_still(gateway, upstream):
    upstream.on("GET", "/x", script(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", STALL))
    config = configuration(upstream)
    config["upstreams"]["api"]["timeouts"] = {"idle_ms": 200}
    gw = gateway(config)
    response = get(gw, "/x")
    assert response.status == 504 or not response.complete
    record = gw.wait_audit(1)[0]
    assert record["failure"]["reason"] == "upstream_timed_out" or record["steps"]["reply"] == "truncated"


def test_the_total_time_is_bounded(gateway, upstream):
    def drip(connection):
        import threading
        never = threading.Event()
        while not never.wait(0.05):
            connection.send(b"1\r\na\r\n")
    upstream.on("GET", "/x", script(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", drip))
    # A reply that is passed on as it comes is exempt (a long download is no failure); one that is kept to be judged is not.
    config = configuration(upstream, route={"policy": "envelope"}, policies={"envelope": ENVELOPE})
    config["upstreams"]["api"]["timeouts"] = {"total_ms": 400}
    gw = gateway(config)
    assert_failure(get(gw, "/x"), 504, "upstream_timed_out", "network")
    upstream.wait_closed(1, 2)
