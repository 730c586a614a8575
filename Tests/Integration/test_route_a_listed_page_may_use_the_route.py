"""CORS: the gateway answers the preflight of a listed origin and lets its page read replies and failures; others get 403."""

import pytest

from client import get
from failures import assert_failure
from gateway import configuration
from upstream import Answer

PAGE = "https://app.example.com"


def preflight(gw, origin, method="PUT", more=()):
    return get(gw, "/x", [("Origin", origin), ("Access-Control-Request-Method", method), *more], "OPTIONS")


def test_a_preflight_is_answered_by_the_gateway(gateway, upstream):
    upstream.on("*", "/x", "reached")
    gw = gateway(configuration(upstream, {"cors": {"origins": [PAGE], "credentials": True, "max_age_s": 60}}))
    response = preflight(gw, PAGE, more=[("Access-Control-Request-Headers", "content-type,x-a"), ("Sec-Fetch-Site", "cross-site")])
    assert response.status == 204 and response.body == b""
    assert response.header("Access-Control-Allow-Origin") == PAGE
    assert "PUT" in response.header("Access-Control-Allow-Methods").split(", ")
    assert response.header("Access-Control-Allow-Headers") == "content-type, x-a"
    assert response.header("Access-Control-Allow-Credentials") == "true"
    assert response.header("Access-Control-Max-Age") == "60"
    assert "Origin" in response.header("Vary").split(", ")
    assert response.header("Content-Length") is None
    assert upstream.requests == []
    record = gw.wait_audit(1)[0]
    assert (record["route"], record["method"], record["status"]) == ("api", "OPTIONS", 204)


@pytest.mark.parametrize("origin", ["https://evil.example.com", "null", "http://app.example.com", "https://app.example.com:444"])
def test_the_preflight_of_another_origin_is_refused(gateway, upstream, origin):
    upstream.on("*", "/x", "reached")
    gw = gateway(configuration(upstream, {"cors": {"origins": [PAGE]}}))
    response = preflight(gw, origin)
    assert_failure(response, 403, "origin_denied", "http", "route")
    assert response.header("Access-Control-Allow-Origin") is None
    assert_failure(get(gw, "/x", [("Origin", origin)]), 403, "origin_denied", "http", "route")
    assert upstream.requests == []


def test_an_options_request_that_is_no_preflight_goes_on(gateway, upstream):
    upstream.on("OPTIONS", "/x", Answer(200, "mine", [("Allow", "GET")]))
    gw = gateway(configuration(upstream, {"cors": {"origins": [PAGE]}}))
    assert get(gw, "/x", [("Origin", PAGE)], "OPTIONS").body == b"mine"
    assert get(gw, "/x", [("Access-Control-Request-Method", "GET")], "OPTIONS").body == b"mine"
    assert len(upstream.requests) == 2


def test_the_page_reads_replies_and_failures(gateway, upstream):
    upstream.on("GET", "/x", Answer(200, "ok", [("Access-Control-Allow-Origin", "*"), ("Access-Control-Expose-Headers", "X-Up"),
                                                ("Vary", "Accept")]))
    upstream.on("GET", "/bad", Answer(200, "no json"))
    gw = gateway(configuration(upstream, {"cors": {"origins": [PAGE]}, "policy": "p"}, policies={"p": {
        "success": {"field": "code", "equals": 0}}}))
    response = get(gw, "/x", [("Origin", PAGE)])
    for answer in (response, get(gw, "/bad", [("Origin", PAGE)])):
        assert answer.header("Access-Control-Allow-Origin") == PAGE
        assert answer.header("Access-Control-Allow-Credentials") is None
        assert answer.header("Access-Control-Expose-Headers") == "CryoNet-Failure, X-Request-Id"
        assert "Origin" in ", ".join(answer.all("Vary")).split(", ")
    assert_failure(answer, 502, "response_not_json")
