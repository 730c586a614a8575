"""10,000 exchanges of every kind on 8 connections: no memory and no descriptor stays behind; an address sanitizer build says so at the exit.

The leak detector's report is text in the output and a failed exit, which the fixture checks.
"""

import pytest

from client import Client
from gateway import configuration, together
from upstream import Answer, CLOSE, script
from waiting import wait_until

CONNECTIONS, WARM_UP, EXCHANGES = 8, 2_000, 10_000
GROWTH_BYTES_MAX = 4 << 20
# At most five in 30 seconds are allowed; each costs one refresh.
REVOKED_AFTER = (1_000, 3_000, 5_000, 7_000)

# By number modulo 100; every other exchange succeeds with the token.
KINDS = {10: ("GET", "/business", 422), 20: ("GET", "/broken", 502), 30: ("GET", "/nowhere", 404), 40: ("POST", "/upload", 200),
         50: ("GET", "/missing", 404), 60: ("GET", "/public/html", 502)}
BODY = b"x" * 20_000


def routes():
    common = {"upstream": "api", "token": "app", "policy": "envelope"}
    return [{"name": "items", "path": "/items/*", **common}, {"name": "business", "path": "/business", **common},
            {"name": "broken", "path": "/broken", **common}, {"name": "upload", "path": "/upload", **common},
            {"name": "missing", "path": "/missing", **common},
            {"name": "public", "path": "/public/*", "upstream": "api", "token": "none", "policy": "envelope"}]


@pytest.mark.deadline(120)
def test_nothing_is_leaked_after_ten_thousand_exchanges(gateway, upstream, endpoint):
    upstream.on("GET", "/items/*", endpoint.guard(Answer(200, json_body={"code": 0, "data": {"n": 1}})))
    upstream.on("GET", "/business", endpoint.guard(Answer(200, json_body={"code": 40013, "msg": "no"})))
    upstream.on("GET", "/broken", script(CLOSE))
    upstream.on("POST", "/upload", endpoint.guard(Answer(200, json_body={"code": 0})))
    upstream.on("GET", "/missing", Answer(404, "nothing"))
    upstream.on("GET", "/public/html", Answer(200, "<html>", headers=[("Content-Type", "text/html")]))
    config = configuration(upstream, workers=2, tokens={"app": endpoint.configuration()},
                           policies={"envelope": {"success": {"field": "code", "equals": 0}, "failure": {"status": 422}}})
    config["routes"] = routes()
    gw = gateway(config, endpoint=endpoint)
    clients = [Client(gw.port) for _ in range(CONNECTIONS)]

    def own_descriptors():
        """Without the pooled connections to the upstream, each of which it knows."""
        return gw.descriptors() - sum(connection.closed_at is None for connection in upstream.connections)

    def run(first, last):
        """Exchanges first..<last, a share on each connection; the token dies at its turn."""
        def share(index):
            for number in range(first + index, last, CONNECTIONS):
                if number in REVOKED_AFTER:
                    endpoint.revoke()
                method, target, status = KINDS.get(number % 100, ("GET", f"/items/{number}", 200))
                response = clients[index].request(method, target, body=BODY if method == "POST" else b"")
                assert response.status == status, (method, target, response.status, response.body)
        together(CONNECTIONS, share)

    # What is opened once, at the first use, is there after these.
    run(0, CONNECTIONS)
    gw.wait_audit(CONNECTIONS)
    descriptors = own_descriptors()
    run(CONNECTIONS, WARM_UP)
    before = gw.rss()
    run(WARM_UP, EXCHANGES)
    growth = gw.growth(before)
    assert growth < GROWTH_BYTES_MAX, f"grew by {growth >> 10} KiB"
    assert len(endpoint.calls) == len(REVOKED_AFTER)
    gw.wait_audit(EXCHANGES, 10)
    wait_until(lambda: own_descriptors() == descriptors, 10, "as many descriptors as after the first exchanges")
    for client in clients:
        client.close()
    wait_until(lambda: own_descriptors() == descriptors - CONNECTIONS, 10, "the clients' descriptors are closed")
