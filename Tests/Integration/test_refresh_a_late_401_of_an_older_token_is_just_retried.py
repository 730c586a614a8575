"""A 401 for a token that has been replaced meanwhile: the request is sent again with the newer token, nothing is refreshed. (RF5)"""

import threading

from client import Client, get
from gateway import configuration
from upstream import Answer


def test_a_late_401_of_an_older_token_is_just_retried(gateway, upstream, endpoint):
    gate, arrived = threading.Event(), threading.Event()

    def slow(request, connection):
        if request.header("Authorization") == f"Bearer {endpoint.tokens[0]}":
            arrived.set()
            connection.wait_for(gate)
            return Answer(401, "late")
        return Answer(200, "with the newer token")
    upstream.on("GET", "/slow", slow).on("GET", "/x", endpoint.guard(Answer(200, "in")))
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.configuration()}), endpoint=endpoint)
    with Client(gw.port) as late:
        late.send_request("GET", "/slow")
        assert arrived.wait(10)
        endpoint.revoke()
        assert get(gw, "/x").body == b"in"
        assert len(endpoint.calls) == 1
        gate.set()
        assert late.read_response().body == b"with the newer token"
    assert len(endpoint.calls) == 1
    record = next(r for r in gw.wait_audit(2) if r["target"] == "/slow")
    assert record["steps"]["refresh"] == "already_newer" and len(record["attempts"]) == 2
