"""CONNECT to a configured upstream (`listen.connect: upstreams`): a plain tunnel after a 200. The client makes its own TLS through it, no
token is injected, each side ends for itself, silence ends both, and one record counts the bytes both ways.
"""

import socket
import struct

import pytest

from client import Client, curl
from failures import assert_failure
from gateway import configuration
from upstream import closed_port
from waiting import wait_until
from websocket_server import read_all, read_head

TOKEN = "static-token-that-no-tunnel-carries"
KEY = "key-of-the-gateway-1234567890"


class Listener:
    """Accepts connections and says nothing by itself: the test has the socket."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.settimeout(10)
        self.port = self.socket.getsockname()[1]
        self.authority = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.authority}"

    def accept(self):
        connection, _ = self.socket.accept()
        connection.settimeout(10)
        return connection

    def close(self):
        self.socket.close()


@pytest.fixture
def listener():
    made = Listener()
    yield made
    made.close()


def tunnelling(upstream, **sections):
    config = configuration(upstream, route={"token": "app"}, tokens={"app": {"static": {"token": "env:APP_TOKEN"}}}, **sections)
    config["listen"]["connect"] = "upstreams"
    return config


@pytest.fixture
def start(gateway):
    return lambda config, **more: gateway(config, env={"APP_TOKEN": TOKEN, "THE_KEY": KEY}, secrets=[TOKEN, KEY], **more)


def ask(gw, authority, behind=b"", version="HTTP/1.1"):
    client = socket.create_connection(("127.0.0.1", gw.port), timeout=10)
    client.sendall(f"CONNECT {authority} {version}\r\nHost: {authority}\r\n\r\n".encode() + behind)
    return client


def open_tunnel(gw, listener, behind=b""):
    client = ask(gw, listener.authority, behind)
    upstream = listener.accept()
    head = read_head(client)
    assert head.startswith(b"HTTP/1.1 200 OK\r\n"), head
    # RFC 9110 §9.3.6: no framing in a 2xx to CONNECT.
    assert not any(name in head.lower() for name in (b"content-length", b"transfer-encoding", b"upgrade", b"connection:")), head
    return client, upstream


def test_curl_reaches_a_plain_upstream(start, upstream):
    upstream.on("GET", "/x", "through the tunnel")
    gw = start(tunnelling(upstream))
    result = curl("-p", "-x", gw.url, f"http://127.0.0.1:{upstream.port}/x?y=1")
    assert result.code == 0 and result.stdout.startswith(b"HTTP/1.1 200") and result.stdout.endswith(b"through the tunnel"), result.stderr
    request, = upstream.requests
    # As the client sent it: no token, no field of ours.
    assert request.names() == ["accept", "host", "user-agent"] and request.target == "/x?y=1"
    record, = gw.wait_audit(1)
    assert (record["method"], record["target"], record["status"]) == ("CONNECT", f"127.0.0.1:{upstream.port}", 200)
    assert record["route"] is None and record["upstream"] == "api" and record["failure"] is None
    assert record["request_bytes"] == len(request.head) and record["response_bytes"] > len("through the tunnel")
    assert record["steps"]["inject"] == "not_applicable" and record["steps"]["reply"] == "sent"
    assert record["attempts"][0]["outcome"] == "responded" and record["attempts"][0]["tls_us"] == 0


def test_curl_makes_its_own_tls_with_an_https_upstream(start, make_upstream, authority, leaf):
    secure = make_upstream(tls=leaf, alpn=("http/1.1",))
    secure.on("GET", "/x", "secure")
    # The gateway's own view of the upstream's TLS has no say: this pin matches no key.
    config = tunnelling(f"https://localhost:{secure.port}", upstreams={"api": {"tls": {"pins": ["sha256/" + "A" * 43 + "="]}}})
    gw = start(config)
    result = curl("-x", gw.url, "--cacert", authority.certificate, f"https://localhost:{secure.port}/x")
    assert result.code == 0 and result.stdout.endswith(b"secure"), result.stderr
    assert secure.requests[0].header("Authorization") is None
    # A client that does not trust the certificate is the one to say so.
    assert curl("-x", gw.url, f"https://localhost:{secure.port}/x").code == 60
    records = gw.wait_audit(2)
    assert [record["status"] for record in records] == [200, 200] and records[0]["attempts"][0]["tls_us"] == 0


def test_through_a_tls_listener(start, upstream, authority, leaf):
    upstream.on("GET", "/x", "through TLS")
    config = tunnelling(upstream)
    config["listen"]["tls"] = {"certificate": leaf[0], "key": leaf[1]}
    gw = start(config)
    result = curl("-p", "-x", f"https://localhost:{gw.port}", "--proxy-cacert", authority.certificate, f"http://127.0.0.1:{upstream.port}/x")
    assert result.code == 0 and result.stdout.endswith(b"through TLS"), result.stderr


def test_the_client_key_opens_it_and_goes_nowhere(start, upstream):
    upstream.on("GET", "/x", "ok")
    gw = start(tunnelling(upstream, listen={"client_key": "env:THE_KEY"}))
    url = f"http://127.0.0.1:{upstream.port}/x"
    assert curl("-p", "-x", gw.url, url).code == 56
    result = curl("-p", "-x", gw.url, "--proxy-header", f"Proxy-Authorization: Bearer {KEY}", url)
    assert result.code == 0 and result.stdout.endswith(b"ok"), result.stderr
    assert KEY.encode() not in upstream.requests[0].head


def test_bytes_behind_the_head_belong_to_the_tunnel(start, listener):
    gw = start(tunnelling(listener))
    # Many times what is kept while the tunnel is not open.
    early = b"GET /early HTTP/1.1\r\n\r\n" * 40_000
    client, upstream = open_tunnel(gw, listener, early)
    client.shutdown(socket.SHUT_WR)
    assert read_all(upstream) == early
    upstream.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    upstream.close()
    assert read_all(client) == b"HTTP/1.1 200 OK\r\n\r\n"
    record, = gw.wait_audit(1)
    assert (record["request_bytes"], record["response_bytes"]) == (len(early), 19)


def test_an_upstream_may_speak_first(start, listener):
    gw = start(tunnelling(listener))
    client = ask(gw, listener.authority)
    upstream = listener.accept()
    upstream.sendall(b"220 at your service\r\n")
    assert read_head(client).startswith(b"HTTP/1.1 200")
    assert client.recv(100) == b"220 at your service\r\n"
    client.close()
    upstream.close()
    gw.wait_audit(1)


def test_the_client_s_end_goes_on_and_the_upstream_may_still_speak(start, listener):
    gw = start(tunnelling(listener))
    client, upstream = open_tunnel(gw, listener)
    client.sendall(b"last words")
    client.shutdown(socket.SHUT_WR)
    assert read_all(upstream) == b"last words"
    upstream.sendall(b"a late answer")
    upstream.close()
    assert read_all(client) == b"a late answer"
    record, = gw.wait_audit(1)
    assert (record["request_bytes"], record["response_bytes"], record["steps"]["reply"]) == (10, 13, "sent")


def test_the_upstream_s_end_goes_on_and_the_client_may_still_speak(start, listener):
    gw = start(tunnelling(listener))
    client, upstream = open_tunnel(gw, listener)
    upstream.sendall(b"last words")
    upstream.shutdown(socket.SHUT_WR)
    assert read_all(client) == b"last words"
    client.sendall(b"a late answer")
    client.close()
    assert read_all(upstream) == b"a late answer"
    record, = gw.wait_audit(1)
    assert (record["request_bytes"], record["response_bytes"], record["steps"]["reply"]) == (13, 10, "sent")


def test_a_megabyte_each_way_at_once_arrives_whole(start, listener):
    gw = start(tunnelling(listener))
    client, upstream = open_tunnel(gw, listener)
    up, down = bytes(range(256)) * 4096, bytes(range(255, -1, -1)) * 4096
    for one, data in ((client, up), (upstream, down)):
        one.setblocking(False)
    sent, got = {client: 0, upstream: 0}, {client: bytearray(), upstream: bytearray()}

    def moved():
        for one, data in ((client, up), (upstream, down)):
            try:
                sent[one] += one.send(data[sent[one]:sent[one] + 65536]) if sent[one] < len(data) else 0
            except BlockingIOError:
                pass
            try:
                got[one] += one.recv(65536)
            except BlockingIOError:
                pass
        return len(got[client]) == len(down) and len(got[upstream]) == len(up)
    wait_until(moved, 20, "both directions are through")
    assert got[client] == down and got[upstream] == up
    client.close()
    upstream.close()


def test_silence_ends_a_tunnel(start, listener):
    gw = start(tunnelling(listener, upstreams={"api": {"timeouts": {"tunnel_idle_ms": 300}}}))
    client, upstream = open_tunnel(gw, listener)
    client.sendall(b"x")
    assert upstream.recv(1) == b"x"
    with pytest.raises(ConnectionResetError):
        assert client.recv(1)
        raise AssertionError("bytes out of nowhere")
    assert read_all(upstream) == b""
    record, = gw.wait_audit(1)
    assert record["failure"]["reason"] == "upstream_timed_out" and record["steps"]["reply"] == "truncated"


def test_the_response_and_total_times_do_not_bind_a_tunnel(start, listener):
    gw = start(tunnelling(listener, upstreams={"api": {"timeouts": {"response_ms": 100, "total_ms": 100, "idle_ms": 100}}}))
    client, upstream = open_tunnel(gw, listener)
    with Client(gw.port) as other:
        # Longer than every one of them, told by the clock of another exchange.
        other.send_request("GET", "/silent")
        assert other.read_response().status == 504
    client.sendall(b"still here")
    assert upstream.recv(10) == b"still here"
    client.close()
    upstream.close()


@pytest.mark.parametrize("who", ["client", "upstream"])
def test_a_reset_frees_the_other_side(start, listener, who):
    gw = start(tunnelling(listener))
    descriptors = gw.descriptors()
    client, upstream = open_tunnel(gw, listener)
    resetting, other = (client, upstream) if who == "client" else (upstream, client)
    resetting.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    resetting.close()
    try:
        assert other.recv(1) == b""
    except ConnectionResetError:
        pass
    other.close()
    record, = gw.wait_audit(1)
    assert record["steps"]["reply"] == ("client_gone" if who == "client" else "truncated")
    wait_until(lambda: gw.descriptors() <= descriptors + 1, 5, "descriptors as before")


def test_an_upstream_that_is_not_there_is_named(start):
    gw = start(tunnelling(f"http://127.0.0.1:{closed_port()}"))
    authority = gw.config["upstreams"]["api"]["url"].removeprefix("http://")
    with Client(gw.port) as client:
        client.send(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n\x16\x03\x01not http")
        response = client.read_response()
        assert_failure(response, 502, "connect_refused", "network", "forward", route=None)
        assert response.closes()
        client.assert_closed()
    record, = gw.wait_audit(1)
    assert record["steps"]["forward"] == "connect_failed" and record["upstream"] == "api" and record["status"] == 502


def test_a_name_that_does_not_resolve_is_named(start):
    gw = start(tunnelling("https://nowhere.invalid"))
    with Client(gw.port) as client:
        client.send("CONNECT nowhere.invalid:443 HTTP/1.1\r\nHost: nowhere.invalid:443\r\n\r\n")
        assert_failure(client.read_response(), 502, "upstream_dns_failed", "network", "forward")
        client.assert_closed()


def test_an_old_client_and_names_in_any_case(start, upstream):
    upstream.on("GET", "/x", "ok")
    gw = start(tunnelling(f"http://localhost:{upstream.port}"))
    assert curl("--proxy1.0", gw.authority, "-p", f"http://LOCALHOST:{upstream.port}/x").stdout.endswith(b"ok")
