"""Heads, targets and bodies over their limits: 431, 414, 413 in the failure JSON, a closed connection, nothing sent on."""

import pytest

from client import Client
from failures import assert_failure
from gateway import configuration

LIMITS = {"head_bytes_max": 4096, "body_bytes_max": 1000}


def test_a_field_section_over_the_limit(gateway, upstream):
    gw = gateway(configuration(upstream, limits=LIMITS))
    with Client(gw.port) as client:
        client.send_request("GET", "/x", [("X-Big", "a" * 5000)])
        assert_failure(client.read_response(), 431, "request_too_large", "http", "read")
        client.assert_closed()
    assert gw.wait_audit(1)[0]["steps"]["read"] == "too_large"


def test_a_target_over_the_limit(gateway, upstream):
    gw = gateway(configuration(upstream, limits=LIMITS))
    with Client(gw.port) as client:
        client.send_request("GET", "/" + "a" * 6000)
        assert_failure(client.read_response(), 414, "request_too_large", "http", "read")
        client.assert_closed()


def test_very_many_small_fields(gateway, upstream):
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.send_request("GET", "/x", [(f"a{number}", "") for number in range(5000)])
        assert_failure(client.read_response(), 431, "request_too_large", "http", "read")


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_body_over_the_limit(gateway, upstream, framing):
    upstream.on("POST", "/x", "ok")
    gw = gateway(configuration(upstream, limits=LIMITS))
    with Client(gw.port) as client:
        if framing == "length":
            client.send_request("POST", "/x", [("Content-Length", "1001")])
        else:
            client.send_request("POST", "/x", [("Transfer-Encoding", "chunked")], b"3e9\r\n" + b"a" * 1001 + b"\r\n0\r\n\r\n")
        assert_failure(client.read_response(), 413, "request_too_large", "http", "read")
        client.assert_closed()
    assert not any(request.complete for request in upstream.requests)


def test_a_body_at_the_limit_passes(gateway, upstream):
    upstream.on("POST", "/x", "ok")
    gw = gateway(configuration(upstream, limits=LIMITS))
    with Client(gw.port) as client:
        assert client.request("POST", "/x", body=b"a" * 1000).status == 200
