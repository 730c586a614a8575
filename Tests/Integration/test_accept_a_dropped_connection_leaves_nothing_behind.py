"""Two hundred connections that come and go, some in the middle of a head, some by reset: descriptors are as before."""

from client import Client
from gateway import configuration
from waiting import wait_until


def test_a_dropped_connection_leaves_nothing_behind(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.get("/x")
    wait_until(lambda: gw.descriptors() > 0)
    before = gw.descriptors()
    for round_number in range(200):
        client = Client(gw.port)
        if round_number % 4 == 1:
            client.send("GET /x HT")
        if round_number % 4 == 2:
            client.send_request("GET", "/x").read_response()
        client.reset() if round_number % 2 else client.close()
    wait_until(lambda: gw.descriptors() <= before + 2, 5, "descriptors back to the start")
    with Client(gw.port) as client:
        assert client.get("/x").status == 200
