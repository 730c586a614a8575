"""routes[].rewrite: redirects to the upstream lead to the gateway, cookies are the gateway's; off by default, never joined."""

from client import get
from gateway import configuration
from upstream import Answer

COOKIES = ["a=1; Domain=api.example.com; Path=/v1/shop; Secure; HttpOnly", "b=2; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "c=3; Path=/"]


def answer(upstream, location):
    return Answer(302, "", [("Location", location)] + [("Set-Cookie", cookie) for cookie in COOKIES])


def test_redirects_and_cookies_become_the_gateways(gateway, upstream):
    upstream.on("GET", "/v1/x", answer(upstream, upstream.url + "/v1/next?page=2"))
    upstream.on("GET", "/v1/y", answer(upstream, "/v1/next"))
    upstream.on("GET", "/v1/z", answer(upstream, "https://other.example.com/v1/next"))
    gw = gateway(configuration(upstream.url + "/v1", {"path": "/shop/*", "strip_prefix": "/shop",
                                                      "rewrite": {"location": True, "cookies": True}}))
    response = get(gw, "/shop/x")
    assert response.header("Location") == gw.url + "/shop/next?page=2"
    assert response.all("Set-Cookie") == ["a=1; Path=/shop/shop; HttpOnly", COOKIES[1], "c=3; Path=/shop"]
    assert get(gw, "/shop/y").header("Location") == "/shop/next"
    assert get(gw, "/shop/z").header("Location") == "https://other.example.com/v1/next"


def test_nothing_is_rewritten_unasked(gateway, upstream):
    upstream.on("GET", "/x", answer(upstream, upstream.url + "/next"))
    gw = gateway(configuration(upstream))
    response = get(gw, "/x")
    assert response.header("Location") == upstream.url + "/next"
    assert response.all("Set-Cookie") == COOKIES
