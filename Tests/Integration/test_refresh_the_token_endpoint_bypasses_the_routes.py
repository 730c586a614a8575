"""A token endpoint that lies under a gateway route with the same token does not wait for itself. (A05)"""

from client import get
from gateway import configuration
from token_endpoint import TokenEndpoint
from upstream import Answer


def test_the_token_endpoint_bypasses_the_routes(gateway, upstream):
    endpoint = TokenEndpoint(upstream, path="/api/auth/refresh")
    upstream.on("GET", "/api/x", endpoint.guard(Answer(200, "in")))
    gw = gateway(configuration(upstream, route={"path": "/api/*", "token": "app"}, tokens={"app": endpoint.configuration()}),
                 endpoint=endpoint)
    endpoint.revoke()
    assert get(gw, "/api/x").status == 200
    assert upstream.to("/api/auth/refresh")[0].all("Authorization") == []
