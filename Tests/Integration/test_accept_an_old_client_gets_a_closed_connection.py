"""HTTP/1.0 without keep-alive and HTTP/1.1 with `Connection: close`: one answer, then the end; no chunks for HTTP/1.0."""

import pytest

from client import Client
from gateway import configuration
from upstream import Answer


@pytest.mark.parametrize("answer", [Answer(200, "hello"), Answer(chunks=[b"hel", b"lo"])], ids=["length", "chunked"])
def test_http_1_0_is_answered_without_chunks_and_closed(gateway, upstream, answer):
    upstream.on("GET", "/old", answer)
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.send_request("GET", "/old", version="HTTP/1.0")
        response = client.read_response()
        assert response.status == 200 and response.body == b"hello" and response.framing != "chunked"
        client.assert_closed()


def test_connection_close_is_obeyed_and_not_forwarded(gateway, upstream):
    upstream.on("GET", "/x", "hello")
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        response = client.get("/x", [("Connection", "close")])
        assert response.body == b"hello" and response.closes()
        client.assert_closed()
    assert upstream.requests[0].header("Connection") is None
