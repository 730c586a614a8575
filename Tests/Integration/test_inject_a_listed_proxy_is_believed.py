"""listen.trusted_proxies: what a listed peer says of its client is kept and added to; nobody else is believed."""

import pytest

from client import get
from gateway import configuration

CLAIMS = [("X-Forwarded-For", "203.0.113.7"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "api.example.com"),
          ("Forwarded", "for=203.0.113.7;proto=https"), ("X-Real-IP", "203.0.113.7")]


@pytest.mark.parametrize("proxies", [["127.0.0.1"], ["10.0.0.0/8", "127.0.0.0/8"]])
def test_a_listed_proxy_is_believed(gateway, upstream, proxies):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, listen={"address": "127.0.0.1:0", "trusted_proxies": proxies}))
    assert get(gw, "/x", CLAIMS).status == 200
    request = upstream.requests[0]
    assert request.header("X-Forwarded-For") == "203.0.113.7, 127.0.0.1"
    assert request.header("X-Forwarded-Proto") == "https"
    assert request.header("X-Forwarded-Host") == "api.example.com"
    assert request.header("Forwarded") == "for=203.0.113.7;proto=https, for=127.0.0.1;proto=http"
    assert gw.wait_audit(1)[0]["client"].startswith("127.0.0.1")


def test_another_peer_is_not(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, listen={"address": "127.0.0.1:0", "trusted_proxies": ["127.0.0.2", "::1", "unix"]}))
    assert get(gw, "/x", CLAIMS).status == 200
    request = upstream.requests[0]
    assert request.header("X-Forwarded-For") == "127.0.0.1"
    assert "203.0.113.7" not in str(request.headers)
