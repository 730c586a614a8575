"""256 MiB down and up (1 GiB each with CRYONET_LONG=1): the process grows by less than 16 MiB at its highest."""

import os

import pytest

from client import Body, Client
from gateway import configuration
from upstream import Answer, script

SIZE = (1 << 30) if os.environ.get("CRYONET_LONG") else (256 << 20)
BLOCK = b"0123456789abcdef" * 16384
GROWTH_BYTES_MAX = 16 << 20


def send_length(connection):
    for _ in range(SIZE // len(BLOCK)):
        connection.send(BLOCK)


def send_chunks(connection):
    for _ in range(SIZE // len(BLOCK)):
        connection.send(b"%x\r\n%s\r\n" % (len(BLOCK), BLOCK))
    connection.send(b"0\r\n\r\n")


@pytest.mark.deadline(240)
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_large_download(gateway, upstream, framing):
    field, sender = (b"Content-Length: %d" % SIZE, send_length) if framing == "length" else (b"Transfer-Encoding: chunked", send_chunks)
    upstream.on("GET", "/big", script(b"HTTP/1.1 200 OK\r\n" + field + b"\r\n\r\n", sender))
    upstream.on("GET", "/small", "small")
    gw = gateway(configuration(upstream, workers=1))
    with Client(gw.port) as client:
        client.get("/small")
        before = gw.rss()
        gw.reset_peak_rss()
        client.send_request("GET", "/big")
        assert Body(client, client.read_final_head()).discard_rest() == SIZE
        assert gw.peak_growth(before) < GROWTH_BYTES_MAX, f"grew by {gw.peak_growth(before) >> 10} KiB"
        assert client.get("/small").status == 200


@pytest.mark.deadline(240)
def test_a_large_upload(gateway, upstream):
    upstream.on("POST", "/up", lambda request: Answer(200, str(request.body_bytes)))
    upstream.on("GET", "/small", "small")
    upstream.kept_body_bytes_max = 0
    gw = gateway(configuration(upstream, workers=1))
    with Client(gw.port) as client:
        client.get("/small")
        before = gw.rss()
        gw.reset_peak_rss()
        client.send_request("POST", "/up", [("Content-Length", str(SIZE))])
        for _ in range(SIZE // len(BLOCK)):
            client.send(BLOCK)
        assert client.read_response().body == str(SIZE).encode()
        assert gw.peak_growth(before) < GROWTH_BYTES_MAX, f"grew by {gw.peak_growth(before) >> 10} KiB"
