"""POST bodies of every size up to 8 MiB, both framings, are sent again unchanged after a refresh. (B-06, A07)"""

import hashlib
import random

import pytest

from client import Client
from gateway import configuration
from upstream import Answer

SIZES = [1, 5, 65_536, 262_143, 262_144, 262_145, 3_000_000, 8 << 20]


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("size", SIZES)
def test_a_body_is_replayed_byte_for_byte(gateway, upstream, endpoint, framing, size):
    content = random.Random(size).randbytes(size)
    upstream.on("POST", "/w", endpoint.guard(Answer(200, "written")))
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.configuration()}), endpoint=endpoint)
    endpoint.revoke()
    with Client(gw.port) as client:
        fields = [("Idempotency-Key", "k1"), ("Content-Type", "multipart/form-data; boundary=b")]
        if framing == "length":
            client.send_request("POST", "/w?q=1", [*fields, ("Content-Length", str(size))])
            client.send(content)
        else:
            client.send_request("POST", "/w?q=1", [*fields, ("Transfer-Encoding", "chunked")])
            for at in range(0, size, 70_001):
                piece = content[at:at + 70_001]
                client.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            client.send(b"0\r\n\r\n")
        assert client.read_response().body == b"written"
    first, second = upstream.to("/w")
    digest = hashlib.sha256(content).hexdigest()
    assert [(r.body_bytes, r.digest.hexdigest(), r.line) for r in (first, second)] == [(size, digest, "POST /w?q=1 HTTP/1.1")] * 2
    assert [r.header("Idempotency-Key") for r in (first, second)] == ["k1", "k1"]
    assert second.header("Authorization") == f"Bearer {endpoint.access}"
