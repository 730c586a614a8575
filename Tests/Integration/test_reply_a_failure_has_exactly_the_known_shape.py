"""The failure JSON has all members of the design and no others, for local, upstream and business causes; HEAD gets only its head."""

from client import Client, get
from failures import assert_failure
from gateway import ENVELOPE, configuration
from upstream import Answer


def test_a_failure_has_exactly_the_known_shape(gateway, upstream):
    upstream.on("*", "/missing", Answer(404, json_body='{"code":0,"message":"not found"}'))
    gw = gateway(configuration(upstream, route={"policy": "envelope", "path": "/missing"}, policies={"envelope": ENVELOPE}))
    assert_failure(get(gw, "/missing"), 404, "upstream_status", "http", "normalize", statusCode=404, message="资源未找到",
                   domain="ClientError", code=404, businessCode=None, responseData={"code": 0, "message": "not found"}, attempts=1,
                   route="api", origin="upstream", authenticationRevision=None)
    assert_failure(get(gw, "/other"), 404, "route_not_found", "http", "route", statusCode=None, origin="client", route=None)
    with Client(gw.port) as client:
        head = client.request("HEAD", "/missing")
        assert head.status == 404 and int(head.header("Content-Length")) > 100
        assert head.header("CryoNet-Failure") == "http/upstream_status"
        assert_failure(client.get("/missing"), 404, "upstream_status")
    records = gw.wait_audit(4)
    assert {record["failure"]["reason"] for record in records} == {"upstream_status", "route_not_found"}


def test_other_fields_of_the_upstream_stay_and_those_of_its_body_go(gateway, upstream):
    upstream.on("GET", "/x", Answer(429, b"slow", [("Retry-After", "3"), ("X-Limit", "9"), ("ETag", '"e"'), ("Content-MD5", "x")]))
    gw = gateway(configuration(upstream, route={"policy": "envelope"}, policies={"envelope": ENVELOPE}))
    response = get(gw, "/x")
    assert_failure(response, 429, "upstream_status", "http", message="未知HTTP错误", responseData="slow")
    assert (response.header("Retry-After"), response.header("X-Limit")) == ("3", "9")
    assert response.all("ETag") == [] and response.all("Content-MD5") == []
