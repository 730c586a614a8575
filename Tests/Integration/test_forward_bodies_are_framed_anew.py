"""What goes on is framed by the gateway alone: one field, built from what was parsed, whatever the client wrote; what can be read in two ways is
refused, and nothing of it arrives. (B-14, A16)
"""

import pytest

from client import Client
from failures import assert_failure
from gateway import configuration
from upstream import Answer

HOST = "Host: 127.0.0.1\r\n"
CHUNKS = "3\r\nabc\r\n0\r\n\r\n"
TAKEN = {
    "a tab behind the coding": (f"Transfer-Encoding: chunked\t\r\n\r\n{CHUNKS}", "chunked"),
    "a tab before the coding": (f"Transfer-Encoding:\tchunked\r\n\r\n{CHUNKS}", "chunked"),
    "another case": (f"tRANSFER-eNCODING: CHUNKED\r\n\r\n{CHUNKS}", "chunked"),
    "extensions and trailers": ("Transfer-Encoding: chunked\r\n\r\n003;a=b\r\nabc\r\n0;c\r\nX-Trailer: t\r\n\r\n", "chunked"),
    "a length": ("Content-Length: 3\r\n\r\nabc", "length"),
    "a length with zeros": ("Content-Length: 0003\r\n\r\nabc", "length"),
}
REFUSED = {
    "a length twice in one": "Content-Length: 3, 3\r\n\r\nabc",
    "a length twice": "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "a length with a sign": "Content-Length: +3\r\n\r\nabc",
    "no length at all in the field": "Content-Length: \r\n\r\n",
    "another name for it": f"Transfer_Encoding: chunked\r\n\r\n{CHUNKS}",
    "chunked twice": f"Transfer-Encoding: chunked, chunked\r\n\r\n{CHUNKS}",
    "chunked twice in two lines": f"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n{CHUNKS}",
    "a vertical tab": f"Transfer-Encoding: \x0bchunked\r\n\r\n{CHUNKS}",
    "a size with words before it": "Transfer-Encoding: chunked\r\n\r\nthese 3\r\nabc\r\n0\r\n\r\n",
    "a size in LF alone": "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("name", TAKEN)
def test_bodies_are_framed_anew(gateway, upstream, name):
    rest, framing = TAKEN[name]
    upstream.on("POST", "/t", lambda request: Answer(200, request.body))
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.send(f"POST /t HTTP/1.1\r\n{HOST}{rest}")
        assert client.read_response().body == b"abc"
        assert client.request("POST", "/t", body=b"next").body == b"next"
    request = upstream.requests[0]
    assert (request.framing, request.body, request.trailers) == (framing, b"abc", [])
    if framing == "chunked":
        assert request.all("Transfer-Encoding") == ["chunked"] and request.all("Content-Length") == []
    else:
        assert request.all("Content-Length") == ["3"] and request.all("Transfer-Encoding") == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_be_read_in_two_ways_is_refused(gateway, upstream, name):
    upstream.on("*", "/*", "reached")
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.send(f"POST /t HTTP/1.1\r\n{HOST}{REFUSED[name]}GET /smuggled HTTP/1.1\r\n{HOST}\r\n")
        assert_failure(client.read_response(), 400, "request_malformed", "http", "read")
        client.assert_closed()
    assert not any(request.complete for request in upstream.requests)
