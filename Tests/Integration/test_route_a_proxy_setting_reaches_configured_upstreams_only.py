"""Absolute-form through `curl -x`: a configured upstream is reached with its own scheme and the token; others never are."""

from client import Client, curl
from failures import assert_failure
from gateway import configuration
from upstream import Answer

TOKEN = "static-token-for-the-proxy-setting"


def proxied(upstream, **sections):
    return configuration(upstream, route={"token": "app"}, tokens={"app": {"static": {"token": "env:APP_TOKEN"}}}, **sections)


def test_a_configured_upstream_is_reached_with_the_token(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(proxied(upstream), env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])
    result = curl("-x", gw.url, f"http://127.0.0.1:{upstream.port}/x?y=1")
    assert (result.status, result.body) == (200, b"ok"), result.stderr
    request = upstream.requests[0]
    assert request.target == "/x?y=1" and request.header("Authorization") == f"Bearer {TOKEN}"
    assert request.header("Host") == f"127.0.0.1:{upstream.port}" and request.header("Proxy-Connection") is None


def test_the_upstream_s_own_scheme_is_used(gateway, make_upstream, authority, leaf):
    secure = make_upstream(tls=leaf)
    secure.on("GET", "/x", "secure")
    config = proxied(f"https://localhost:{secure.port}")
    config["upstreams"]["api"]["tls"] = {"ca": authority.certificate}
    gw = gateway(config, env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])
    result = curl("-x", gw.url, f"http://localhost:{secure.port}/x")
    assert (result.status, result.body) == (200, b"secure"), result.body
    assert secure.requests[0].header("Authorization") == f"Bearer {TOKEN}"


def test_another_host_is_never_reached(gateway, make_upstream):
    known, other = make_upstream(), make_upstream()
    for up in (known, other):
        up.on("*", "/*", Answer(200, "reached"))
    gw = gateway(proxied(known), env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])
    result = curl("-x", gw.url, f"http://127.0.0.1:{other.port}/x")
    assert result.status in (403, 404, 421) and result.header("CryoNet-Failure"), result.body
    with Client(gw.port) as client:
        client.send_request("GET", "http://example.invalid/x", host="example.invalid")
        response = client.read_response()
        assert_failure(response, response.status, kind="http", step="route")
        assert response.status in (403, 404, 421)
    assert known.requests == [] and other.requests == []


def test_connect_to_an_unknown_host_is_refused(gateway, make_upstream):
    known, other = make_upstream(), make_upstream()
    gw = gateway(proxied(known), env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])
    with Client(gw.port) as client:
        client.send(f"CONNECT 127.0.0.1:{other.port} HTTP/1.1\r\nHost: 127.0.0.1:{other.port}\r\n\r\n")
        assert client.read_response().status in (403, 404, 405, 421, 501)
    assert other.connections == []


def test_the_target_s_authority_beats_the_host_field(gateway, make_upstream):
    known, other = make_upstream(), make_upstream()
    known.on("*", "/*", Answer(200, "known"))
    gw = gateway(proxied(known), env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])
    with Client(gw.port) as client:
        response = client.request("GET", f"http://127.0.0.1:{known.port}/x", host=f"127.0.0.1:{other.port}")
    assert response.status in (200, 400, 421)
    assert other.requests == []
    for request in known.requests:
        assert request.header("Host") == f"127.0.0.1:{known.port}"
