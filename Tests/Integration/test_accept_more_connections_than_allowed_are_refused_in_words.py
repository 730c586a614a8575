"""With connections_max 4 the fifth client is told 503 over_capacity with Retry-After, and the four go on."""

from client import Client
from failures import assert_failure
from gateway import configuration


def test_more_connections_than_allowed_are_refused_in_words(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, workers=1, limits={"connections_max": 4}))
    clients = [Client(gw.port) for _ in range(4)]
    assert all(client.get("/x").status == 200 for client in clients)
    with Client(gw.port) as fifth:
        fifth.send_request("GET", "/x")
        response = fifth.read_response()
        assert_failure(response, 503, "over_capacity", "http", "accept")
        assert response.header("Retry-After")
        fifth.assert_closed()
    assert all(client.get("/x").status == 200 for client in clients)
    for client in clients:
        client.close()
