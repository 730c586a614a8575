"""A body over 8 MiB with a dead token: the original 401, reason body_not_replayable; the next request profits of the refresh. (B-07)"""

import pytest

from client import Client, get
from failures import assert_failure
from gateway import ENVELOPE, configuration
from token_endpoint import DEAD
from upstream import Answer

SIZE = (8 << 20) + 1


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_body_above_the_replay_bound_is_not_sent_again(gateway, upstream, endpoint, framing):
    upstream.on("*", "/big", endpoint.guard(Answer(200, json_body='{"code":0}')))
    gw = gateway(configuration(upstream, route={"token": "app", "policy": "envelope"}, policies={"envelope": ENVELOPE},
                               tokens={"app": endpoint.configuration()}), endpoint=endpoint)
    endpoint.revoke()
    with Client(gw.port) as client:
        if framing == "length":
            client.send_request("POST", "/big", [("Content-Length", str(SIZE))])
            client.send(b"a" * SIZE)
        else:
            client.send_request("POST", "/big", [("Transfer-Encoding", "chunked")])
            client.send(b"%x\r\n" % SIZE + b"a" * SIZE + b"\r\n0\r\n\r\n")
        failure = assert_failure(client.read_response(), 401, "body_not_replayable", "authenticationExpired", "retry", statusCode=401)
        assert failure["responseData"] == DEAD
    assert len(upstream.to("/big")) == 1
    assert get(gw, "/big").status == 200
    assert len(endpoint.calls) == 1
    assert gw.wait_audit(2)[0]["steps"]["retry"] == "not_replayable"
