"""HEAD, 204, 304: no body is waited for, the next answer on the connection is its own, lengths of HEAD and 304 survive."""

import pytest

from client import Client
from gateway import configuration
from upstream import Answer, script

SCRIPTS = {
    "204": ("GET", Answer(204), 204, None),
    "204 with a zero length": ("GET", script(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"), 204, None),
    "304 with a length": ("GET", script(b"HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 500\r\n\r\n"), 304, None),
    "304 with chunked": ("GET", script(b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n"), 304, None),
    "HEAD with a length": ("HEAD", script(b"HTTP/1.1 200 OK\r\nContent-Length: 1488324\r\n\r\n"), 200, "1488324"),
    "HEAD with chunked": ("HEAD", script(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), 200, None),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_answers_without_a_body_end_at_the_head(gateway, upstream, name):
    method, answer, status, length = SCRIPTS[name]
    upstream.on(method, "/bare", answer).on("GET", "/next", "its own answer")
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        response = client.request(method, "/bare")
        assert (response.status, response.body) == (status, b"")
        if length:
            assert response.header("Content-Length") == length
        following = client.get("/next")
        assert (following.status, following.body) == (200, b"its own answer")
