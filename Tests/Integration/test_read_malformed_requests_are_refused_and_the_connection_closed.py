"""Requests that are not HTTP/1.1, or whose length can be read in two ways: refused in words, closed, nothing sent on."""

import pytest

from client import Client
from failures import assert_failure
from gateway import configuration

HOST = "Host: 127.0.0.1\r\n"
SMUGGLED = "20\r\nGET /SMUGGLED HTTP/1.1\r\nHost: a\r\n\r\n0\r\n\r\n"
BAD = {
    "both framings": (f"POST /t HTTP/1.1\r\n{HOST}Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n{SMUGGLED}", {400}),
    "framings swapped": (f"POST /t HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n{SMUGGLED}", {400}),
    "space before the colon": (f"POST /t HTTP/1.1\r\n{HOST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", {400}),
    "two different lengths": (f"POST /t HTTP/1.1\r\n{HOST}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", {400}),
    "length list": (f"POST /t HTTP/1.1\r\n{HOST}Content-Length: 3, 4\r\n\r\nabcd", {400}),
    "negative length": (f"POST /t HTTP/1.1\r\n{HOST}Content-Length: -1\r\n\r\n", {400}),
    "length that overflows": (f"POST /t HTTP/1.1\r\n{HOST}Content-Length: 99999999999999999999999\r\n\r\n", {400, 413}),
    "unknown coding": (f"POST /t HTTP/1.1\r\n{HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", {400, 501}),
    "chunked not last": (f"POST /t HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", {400, 501}),
    "HTTP/1.0 with chunked": (f"POST /t HTTP/1.0\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400}),
    "bad chunk size": (f"POST /t HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n", {400}),
    "no host": ("GET /t HTTP/1.1\r\n\r\n", {400}),
    "two hosts": (f"GET /t HTTP/1.1\r\n{HOST}{HOST}\r\n", {400}),
    "unknown version": (f"GET /t HTTP/2.5\r\n{HOST}\r\n", {505, 400}),
    "no version": ("GET /t\r\n\r\n", {400}),
    "bad method": (f"G@T /t HTTP/1.1\r\n{HOST}\r\n", {400, 501}),
    "bad target": (f"GET t HTTP/1.1\r\n{HOST}\r\n", {400}),
    "nul in a field": (f"GET /t HTTP/1.1\r\n{HOST}X: a\0b\r\n\r\n", {400}),
    "folded line": (f"GET /t HTTP/1.1\r\n{HOST}X: a\r\n b\r\n\r\n", {400}),
    "bare line feeds": ("GET /t HTTP/1.1\nHost: 127.0.0.1\n\n", {400}),
    "TLS hello": ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", {400}),
    "HTTP/2 preface": ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {505, 400}),
}


@pytest.mark.parametrize("name", BAD)
def test_malformed_requests_are_refused(gateway, upstream, name):
    message, statuses = BAD[name]
    upstream.on("*", "/*", "reached")
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.send(message)
        response = client.read_response()
        assert response.status in statuses, response.status
        assert_failure(response, response.status, "request_malformed" if response.status == 400 else None, "http", "read")
        assert response.closes()
        client.assert_closed()
    assert not any(request.complete for request in upstream.requests), [r.head for r in upstream.requests]
    record = gw.wait_audit(1)[0]
    assert record["status"] == response.status and record["steps"]["read"] in ("malformed", "too_large")


def test_identical_duplicate_lengths_never_reach_the_upstream_twice(gateway, upstream):
    upstream.on("*", "/*", "reached")
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.send(f"POST /t HTTP/1.1\r\n{HOST}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc")
        response = client.read_response()
    assert response.status in (200, 400)
    assert all(request.header("Content-Length") == "3" for request in upstream.requests)
