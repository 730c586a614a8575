"""The client whose 401 started the refresh hangs up while it runs: the others are answered, the new pair is kept. (B-01)"""

import threading

from client import Client, get
from gateway import configuration
from upstream import Answer


def test_a_leader_that_leaves_harms_nobody(gateway, upstream, endpoint):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.configuration()}), endpoint=endpoint)
    endpoint.revoke()
    endpoint.gate = threading.Event()
    leader = Client(gw.port)
    leader.send_request("GET", "/x")
    endpoint.wait_calls(1)
    followers = [Client(gw.port) for _ in range(3)]
    for follower in followers:
        follower.send_request("GET", "/x")
    leader.reset()
    gw.wait_audit(1)
    endpoint.gate.set()
    assert [follower.read_response().body for follower in followers] == [b"in"] * 3
    for follower in followers:
        follower.close()
    assert get(gw, "/x").body == b"in"
    assert len(endpoint.calls) == 1
    assert sum(record["failure"] is not None for record in gw.wait_audit(5)) == 1
