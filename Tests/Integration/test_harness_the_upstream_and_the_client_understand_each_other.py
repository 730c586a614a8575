"""The harness against itself: what the client sends is what the upstream records, and the other way round."""

import threading

import pytest

from client import Client, Ended, curl
from token_endpoint import TokenEndpoint
from upstream import CLOSE, RESET, Answer, script


def test_a_request_is_recorded_byte_for_byte(upstream):
    upstream.on("POST", "/a", Answer(201, "made", [("X-A", "1"), ("X-A", "2")]))
    with Client(upstream.port) as client:
        response = client.request("POST", "/a?b=c", [("x-one", "1"), ("X-Two", "2")], b"body")
        assert (response.status, response.body, response.all("x-a")) == (201, b"made", ["1", "2"])
        assert client.request("GET", "/nowhere").status == 404
    first, second = upstream.wait_requests(2)
    assert first.head.startswith(b"POST /a?b=c HTTP/1.1\r\nHost: ") and first.body == b"body"
    assert first.headers[1:3] == [("x-one", "1"), ("X-Two", "2")]
    assert (first.connection, first.number, second.number) == (1, 1, 2)


def test_scripts_wait_for_the_test_and_cut_where_told(upstream):
    gate = threading.Event()
    upstream.on("GET", "/stream", Answer(chunks=[b"one", gate, b"two"]))
    upstream.on("GET", "/cut", script(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234", CLOSE))
    upstream.on("GET", "/reset", script(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", RESET))
    with Client(upstream.port) as client:
        client.send_request("GET", "/stream")
        head = client.read_final_head()
        assert head.framing == "chunked"
        from client import Body
        body = Body(client, head)
        assert body.at_least(3) == b"one"
        client.assert_silent(0.05)
        gate.set()
        assert body.rest() == b"onetwo"
        response = client.get("/cut")
        assert not response.complete and response.body == b"" or response.ended == "closed"
    with Client(upstream.port) as client:
        client.send_request("GET", "/reset")
        assert not client.read_response().complete


def test_the_end_of_a_connection_is_seen_while_a_gate_is_shut(upstream):
    upstream.on("GET", "/wait", Answer(gate=threading.Event()))
    client = Client(upstream.port)
    client.send_request("GET", "/wait")
    upstream.wait_requests(1)
    client.close()
    assert upstream.wait_closed(1, 2).ended == "closed"


def test_chunked_bodies_and_early_answers_both_ways(upstream):
    upstream.on("POST", "/c", Answer(chunks=[b"a", b"bc"]))
    upstream.on("PUT", "/early", Answer(413, "too big", close=True), early=True)
    with Client(upstream.port) as client:
        client.send_request("POST", "/c", [("Transfer-Encoding", "chunked")], b"3\r\nabc\r\n0\r\n\r\n")
        assert client.read_response().body == b"abc"
        assert upstream.requests[0].body == b"abc" and upstream.requests[0].framing == "chunked"
    with Client(upstream.port) as client:
        client.send_request("PUT", "/early", [("Content-Length", "1000")])
        assert client.read_response().status == 413


@pytest.mark.parametrize("style", ["login", "oauth2"])
def test_a_refresh_token_works_once(upstream, style):
    endpoint = TokenEndpoint(upstream, style=style)
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    first = endpoint.refresh
    with Client(upstream.port) as client:
        bearer = [("Authorization", "Bearer " + endpoint.access)]
        assert client.get("/x", bearer).status == 200
        endpoint.revoke()
        assert client.get("/x", bearer).status == 401
        body = '{"refreshToken":"%s"}' % first if style == "login" else "grant_type=refresh_token&refresh_token=" + first
        granted = client.request("POST", endpoint.path, [], body).json()
        token = granted["data"]["token"] if style == "login" else granted["access_token"]
        assert client.get("/x", [("Authorization", "Bearer " + token)]).status == 200
        again = client.request("POST", endpoint.path, [], body)
        assert again.status == 400 or again.json()["code"] != 0
    assert endpoint.calls == [first, first]


def test_curl_and_a_tls_upstream(make_upstream, authority, leaf):
    secure = make_upstream(tls=leaf)
    secure.on("GET", "/t", Answer(200, "first\r\n\r\nsecond"))
    result = curl("--cacert", authority.certificate, f"https://localhost:{secure.port}/t")
    assert (result.status, result.body) == (200, b"first\r\n\r\nsecond")
    assert curl(f"https://localhost:{secure.port}/t").code == 60


def test_the_client_tells_a_close_from_a_whole_answer(upstream):
    upstream.on("GET", "/nothing", script(CLOSE))
    with Client(upstream.port) as client:
        client.send_request("GET", "/nothing")
        with pytest.raises(Ended):
            client.read_response()
