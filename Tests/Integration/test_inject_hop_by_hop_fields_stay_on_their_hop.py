"""Fields of one hop, and those named by Connection, pass in neither direction; what the gateway itself sets stays."""

from client import Client
from gateway import configuration
from upstream import script

TOKEN = "the-static-token-0123456789"


def test_hop_by_hop_fields_stay_on_their_hop(gateway, upstream):
    upstream.on("GET", "/x", script(
        b"HTTP/1.1 200 OK\r\nConnection: X-Up\r\nX-Up: 1\r\nKeep-Alive: timeout=9\r\nProxy-Authenticate: Basic\r\n"
        b"X-Stays: 1\r\nContent-Length: 2\r\n\r\nok"))
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": {"static": {"token": "env:APP_TOKEN"}}}),
                 env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])
    with Client(gw.port) as client:
        response = client.get("/x", [
            ("Connection", "keep-alive, X-Hop, Authorization, X-Forwarded-For, Host, Content-Length"), ("X-Hop", "1"),
            ("Keep-Alive", "timeout=5"), ("TE", "gzip"), ("Proxy-Connection", "keep-alive"),
            ("Proxy-Authorization", "Basic eA=="), ("X-Stays", "1")])
        assert response.body == b"ok" and response.header("X-Stays") == "1"
        for name in ("X-Up", "Keep-Alive", "Proxy-Authenticate"):
            assert response.all(name) == [], name
        assert client.get("/x").status == 200
    request = upstream.requests[0]
    for name in ("X-Hop", "Keep-Alive", "TE", "Upgrade", "Proxy-Connection", "Proxy-Authorization", "Connection"):
        assert request.all(name) == [], name
    assert request.header("Authorization") == f"Bearer {TOKEN}" and request.header("X-Stays") == "1"
    assert request.header("X-Forwarded-For") == "127.0.0.1" and request.header("Host")


def test_an_upgrade_to_http2_is_not_passed_on(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        response = client.get("/x", [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAMAAABk")])
        assert response.status == 200
    assert upstream.requests[0].all("Upgrade") == [] and upstream.requests[0].all("HTTP2-Settings") == []
