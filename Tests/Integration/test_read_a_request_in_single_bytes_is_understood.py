"""A head and a chunked body that arrive one byte per segment are one whole request."""

from client import Client
from gateway import configuration
from upstream import Answer


def test_a_request_in_single_bytes_is_understood(gateway, upstream):
    upstream.on("POST", "/slow", lambda request: Answer(200, request.body))
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        message = (f"POST /slow HTTP/1.1\r\nHost: {client.authority}\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: 1\r\n\r\n")
        for character in message:
            client.send(character)
        assert client.read_response().body == b"hello world"
    assert len(upstream.requests) == 1
