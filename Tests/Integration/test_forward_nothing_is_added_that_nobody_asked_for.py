"""The exact fields of a minimal request at the upstream: Host, the forwarding fields, the request id; no User-Agent, no Accept."""

from client import Client
from gateway import configuration

OWN = {"x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "via", "x-request-id"}


def test_a_minimal_request_stays_minimal(gateway, upstream):
    upstream.on("GET", "/x", "ok").on("POST", "/empty", "ok").on("POST", "/y", "ok").on("DELETE", "/x", "ok")
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        client.get("/x")
        client.request("DELETE", "/x")
        client.request("POST", "/empty", [("Content-Length", "0")])
        client.request("POST", "/y", body=b"a" * 2000)
    bare, delete, empty, full = upstream.requests
    assert set(bare.names()) - OWN == {"host"} and len(bare.names()) == len(set(bare.names())), bare.names()
    assert bare.line == "GET /x HTTP/1.1" and bare.header("Host") == f"127.0.0.1:{upstream.port}"
    assert set(delete.names()) - OWN == {"host"}, delete.names()
    assert set(empty.names()) - OWN == {"host", "content-length"} and empty.header("Content-Length") == "0"
    assert set(full.names()) - OWN == {"host", "content-length"}, full.names()


def test_fields_of_the_client_arrive_unchanged(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    fields = [("X-One", "a"), ("x-TWO", "b  c"), ("Cookie", "a=1; b=2"), ("X-One", "d"), ("Accept-Encoding", "br;q=1.0, gzip"),
              ("X-Empty", ""), ("User-Agent", "mine"), ("X-Latin", "caf\xe9")]
    with Client(gw.port) as client:
        assert client.get("/x", fields).status == 200
    got = upstream.requests[0].headers
    for name in {name.lower() for name, _ in fields}:
        sent = [value for key, value in fields if key.lower() == name]
        assert [value for key, value in got if key.lower() == name] == sent, name
