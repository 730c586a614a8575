"""100, 102 and 103 before the final answer: the final status and its own fields win; a client may see the 103."""

from client import Client
from gateway import configuration
from upstream import script


def test_interim_answers_are_not_the_answer(gateway, upstream):
    upstream.on("GET", "/x", script(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nX-Early: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-Final: 1\r\nContent-Length: 5\r\n\r\nfinal"))
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        for _ in range(2):
            response = client.get("/x")
            assert (response.status, response.body, response.header("X-Final")) == (200, b"final", "1")
            assert response.all("X-Early") == []
            assert all(interim.status != 100 for interim in response.interim)
    assert [a["status"] for record in gw.wait_audit(2) for a in record["attempts"]] == [200, 200]


def test_an_old_client_sees_no_interim_answer(gateway, upstream):
    upstream.on("GET", "/x", script(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.send_request("GET", "/x", version="HTTP/1.0")
        response = client.read_response()
        assert response.interim == [] and response.body == b"ok"
