"""204 and HEAD under a policy that wants JSON are passed, not a decoding failure."""

from client import Client
from gateway import ENVELOPE, configuration
from upstream import Answer, script


def test_a_policy_sees_no_body_where_there_is_none(gateway, upstream):
    upstream.on("GET", "/none", Answer(204))
    upstream.on("HEAD", "/file", script(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 77\r\n\r\n"))
    gw = gateway(configuration(upstream, route={"policy": "envelope"}, policies={"envelope": ENVELOPE}))
    with Client(gw.port) as client:
        assert client.get("/none").status == 204
        head = client.request("HEAD", "/file")
        assert head.status == 200 and head.header("Content-Length") == "77"
