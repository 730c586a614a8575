"""Length and chunked bodies, towards the upstream and back, at sizes around the buffers; every byte is compared."""

import hashlib
import random

import pytest

from client import Client
from gateway import configuration
from upstream import Answer

SIZES = [0, 1, 255, 16383, 16384, 16385, 65536, 262143, 262144, 262145, 1_000_003]


@pytest.mark.parametrize("client_framing", ["length", "chunked"])
@pytest.mark.parametrize("upstream_framing", ["length", "chunked"])
def test_bodies_arrive_whole(gateway, upstream, client_framing, upstream_framing):
    seed = random.Random(7)

    def mirror(request):
        if upstream_framing == "length":
            return Answer(200, request.body)
        return Answer(chunks=[request.body[at:at + 40_000] for at in range(0, len(request.body), 40_000)])
    upstream.kept_body_bytes_max = 1 << 21
    upstream.on("POST", "/mirror", mirror)
    gw = gateway(configuration(upstream))
    with Client(gw.port) as client:
        for size in SIZES:
            content = seed.randbytes(size)
            if client_framing == "length":
                client.send_request("POST", "/mirror", [("Content-Length", str(size))])
                client.send(content)
            else:
                client.send_request("POST", "/mirror", [("Transfer-Encoding", "chunked")])
                position = 0
                while position < size:
                    piece = content[position:position + seed.randint(1, 30_000)]
                    client.send(b"%x\r\n%s\r\n" % (len(piece), piece))
                    position += len(piece)
                client.send(b"0\r\n\r\n")
            response = client.read_response()
            assert response.status == 200 and response.complete
            assert hashlib.sha256(response.body).digest() == hashlib.sha256(content).digest(), f"{size} bytes differ"
            assert upstream.requests[-1].body_bytes == size
