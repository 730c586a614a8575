"""CONNECT is off until `listen.connect: upstreams`, and then reaches the hosts and ports of configured upstreams: 501, 421, 407, 403
for everything else, and what a client sends behind a refused CONNECT is never read as a request.
"""

import pytest

from client import Client
from failures import assert_failure
from gateway import configuration
from upstream import Answer

KEY = "key-of-the-gateway-1234567890"
BEHIND = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"


def asking(authority, *fields, version="HTTP/1.1"):
    lines = [f"CONNECT {authority} {version}", f"Host: {authority}", *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def refused(gw, request, status, reason, step, outcome):
    with Client(gw.port) as client:
        client.send(request + BEHIND)
        response = client.read_response()
        assert_failure(response, status, reason, "http", step)
        assert response.closes()
        client.assert_closed()
    record, = gw.wait_audit(1)
    assert record["steps"][step] == outcome and record["route"] is None and record["method"] == "CONNECT"
    return response


@pytest.fixture
def known(make_upstream):
    made = make_upstream()
    made.on("*", "/*", Answer(200, "reached"))
    return made


def test_off_by_default(gateway, known):
    gw = gateway(configuration(known))
    refused(gw, asking(f"127.0.0.1:{known.port}"), 501, "request_malformed", "read", "malformed")
    assert known.connections == []


@pytest.mark.parametrize("authority", ["127.0.0.1:{other}", "localhost:{known}", "127.0.0.1:80", "[::1]:{known}", "127.0.0.2:{known}"])
def test_another_host_or_port_is_never_reached(gateway, known, make_upstream, authority):
    other = make_upstream()
    gw = gateway(configuration(known, listen={"connect": "upstreams"}))
    request = asking(authority.format(known=known.port, other=other.port))
    refused(gw, request, 421, "host_denied", "route", "host_denied")
    assert known.connections == [] and other.connections == []


def test_the_gateway_itself_is_no_upstream(gateway, known):
    gw = gateway(configuration(known, listen={"connect": "upstreams"}))
    refused(gw, asking(gw.authority), 421, "host_denied", "route", "host_denied")


@pytest.mark.parametrize("fields", [["Origin: https://evil.example"], ["Origin: null"], ["Sec-Fetch-Site: cross-site"]])
def test_a_page_of_another_site_gets_no_tunnel(gateway, known, fields):
    gw = gateway(configuration(known, listen={"connect": "upstreams"}))
    refused(gw, asking(f"127.0.0.1:{known.port}", *fields), 403, "origin_denied", "route", "origin_denied")
    assert known.connections == []


@pytest.mark.parametrize("authority", ["127.0.0.1:{known}", "unknown.example:443"])
@pytest.mark.parametrize("fields", [[], [f"X-CryoNet-Key: {KEY}x"], [f"Proxy-Authorization: Basic {KEY}"]])
def test_without_the_client_key_nobody_learns_what_is_configured(gateway, known, authority, fields):
    gw = gateway(configuration(known, listen={"connect": "upstreams", "client_key": "env:THE_KEY"}), env={"THE_KEY": KEY}, secrets=[KEY])
    response = refused(gw, asking(authority.format(known=known.port), *fields), 407, "client_key_missing", "route", "client_key_missing")
    assert response.header("Proxy-Authenticate")
    assert known.connections == []


@pytest.mark.parametrize("fields", [["Content-Length: 5"], ["Content-Length: 0"], ["Transfer-Encoding: chunked"]])
def test_a_body_before_the_tunnel_is_ambiguous(gateway, known, fields):
    gw = gateway(configuration(known, listen={"connect": "upstreams"}))
    with Client(gw.port) as client:
        client.send(asking(f"127.0.0.1:{known.port}", *fields) + b"12345")
        assert_failure(client.read_response(), 400, "request_malformed", "http", "read")
        client.assert_closed()
    assert known.connections == []


@pytest.mark.parametrize("target", ["127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999", "http://127.0.0.1:{known}/", "/x",
                                    "user@127.0.0.1:{known}", "*"])
def test_a_target_of_another_form_is_malformed(gateway, known, target):
    gw = gateway(configuration(known, listen={"connect": "upstreams"}))
    with Client(gw.port) as client:
        client.send(f"CONNECT {target.format(known=known.port)} HTTP/1.1\r\nHost: 127.0.0.1:{known.port}\r\n\r\n")
        response = client.read_response()
        assert response.status in (400, 421) and response.closes()
        client.assert_closed()
    assert known.connections == []


def test_the_host_field_must_name_the_target(gateway, known):
    gw = gateway(configuration(known, listen={"connect": "upstreams"}))
    with Client(gw.port) as client:
        client.send(f"CONNECT 127.0.0.1:{known.port} HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.read_response().status == 400
        client.assert_closed()
    assert known.connections == []


def test_a_reload_opens_and_closes_it(gateway, known):
    gw = gateway(configuration(known))
    authority = f"127.0.0.1:{known.port}"
    with Client(gw.port) as client:
        gw.reload(configuration(known, listen={"connect": "upstreams"}, audit=gw.config["audit"]))
        client.send(asking(authority))
        assert client.read_head().status == 200
        gw.reload(configuration(known, audit=gw.config["audit"]))
        # The open one stays; there is no other.
        client.send(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.read_response().body == b"reached"
        with Client(gw.port) as other:
            other.send(asking(authority))
            assert other.read_response().status == 501


def test_behind_another_request_on_the_same_connection(gateway, known):
    gw = gateway(configuration(known, listen={"connect": "upstreams"}))
    with Client(gw.port) as client:
        client.send_request("GET", "/first")
        client.send(asking(f"127.0.0.1:{known.port}") + b"GET /inside HTTP/1.1\r\nHost: inside\r\n\r\n")
        assert client.read_response().body == b"reached"
        assert client.read_head().status == 200
        assert client.read_response().body == b"reached"
    records = gw.wait_audit(2)
    assert [record["method"] for record in records] == ["GET", "CONNECT"]
    assert [request.header("Host") for request in known.requests] == [f"127.0.0.1:{known.port}", "inside"]
