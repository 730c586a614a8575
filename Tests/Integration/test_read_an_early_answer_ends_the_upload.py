"""The upstream says 413 after the head of a 20 MB upload and closes: the client gets the 413 and its 17 bytes, then the end."""

import pytest

from client import Client, Ended
from failures import assert_failure
from gateway import ENVELOPE, configuration
from upstream import CLOSE, RESET, script


@pytest.mark.parametrize("end", [CLOSE, RESET])
def test_an_early_answer_ends_the_upload(gateway, upstream, end):
    steps = [b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 17\r\nConnection: close\r\n\r\nmuch too much!!!\n"]
    if end == RESET:
        steps.append(lambda connection: connection.receive())
    upstream.on("POST", "/up", script(*steps, end), early=True)
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.send_request("POST", "/up", [("Content-Length", str(20_000_000))])
        try:
            for _ in range(20):
                client.send(b"a" * 1_000_000)
        except (ConnectionError, TimeoutError):
            pass
        try:
            response = client.read_response()
        except Ended as ended:
            raise AssertionError("the upstream's answer was lost") from ended
        assert (response.status, response.body) == (413, b"much too much!!!\n")
        assert response.closes()
    assert gw.wait_audit(1)[0]["status"] == 413


def test_an_early_refusal_is_normalized_like_any_other(gateway, upstream):
    upstream.on("POST", "/up", script(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 17\r\n\r\nmuch too much!!!\n", CLOSE), early=True)
    gw = gateway(configuration(upstream, route={"policy": "envelope"}, policies={"envelope": ENVELOPE}))
    with Client(gw.port) as client:
        client.send_request("POST", "/up", [("Content-Length", str(20_000_000))])
        try:
            for _ in range(20):
                client.send(b"a" * 1_000_000)
        except (ConnectionError, TimeoutError):
            pass
        response = client.read_response()
        assert_failure(response, 413, "upstream_status", "http", statusCode=413, responseData="much too much!!!\n")
        assert response.closes()
