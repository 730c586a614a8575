"""HTTPS: a custom authority is trusted when named; an unknown one and a wrong name are tls_certificate_invalid, a plain port is tls_failed, and no request leaks."""

import pytest

from certificates import Authority, public_key_pin
from client import get
from failures import assert_failure
from gateway import configuration, merged

TOKEN = "the-static-token-0123456789"


def secured(url, **tls):
    config = configuration(url, route={"token": "app"}, tokens={"app": {"static": {"token": "env:APP_TOKEN"}}})
    return merged(config, {"upstreams": {"api": {"tls": tls}}}) if tls else config


@pytest.fixture
def start(gateway):
    return lambda config: gateway(config, env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])


def test_a_named_authority_is_trusted(start, make_upstream, authority, leaf):
    secure = make_upstream(tls=leaf)
    secure.on("GET", "/x", "secret").on("POST", "/up", lambda request: request_digest(request))
    for host in ("localhost", "127.0.0.1"):
        gw = start(secured(f"https://{host}:{secure.port}", ca=authority.certificate))
        assert get(gw, "/x").body == b"secret"
        assert get(gw, "/up", method="POST", body=b"a" * 300_000).body == b"300000"
    assert secure.requests[0].header("Authorization") == f"Bearer {TOKEN}"


def request_digest(request):
    from upstream import Answer
    return Answer(200, str(request.body_bytes))


def test_an_unknown_authority_is_refused(start, make_upstream, leaf):
    secure = make_upstream(tls=leaf)
    gw = start(secured(f"https://localhost:{secure.port}"))
    response = get(gw, "/x")
    failure = assert_failure(response, 502, "tls_certificate_invalid", "network", "forward", statusCode=None, message="安全连接失败")
    assert "tls_certificate_error" in response.header("Proxy-Status"), response.header("Proxy-Status")
    assert failure["underlyingError"] and TOKEN not in response.body.decode()
    assert secure.requests == []
    assert gw.wait_audit(1)[0]["steps"]["forward"] == "tls_failed"


def test_a_certificate_of_another_name_is_refused(start, make_upstream, authority):
    secure = make_upstream(tls=authority.leaf(["DNS:other.test"], "other"))
    gw = start(secured(f"https://localhost:{secure.port}", ca=authority.certificate))
    assert_failure(get(gw, "/x"), 502, "tls_certificate_invalid", "network", "forward")
    assert secure.requests == []


def test_a_port_without_tls_is_refused(start, upstream):
    # A server that answers in plain text to whatever it is told first.
    upstream.on("*", "/*", "plain")
    upstream.greeting = b"HTTP/1.1 400 Bad Request\r\n\r\n"
    gw = start(secured(f"https://localhost:{upstream.port}"))
    response = get(gw, "/x")
    assert response.status == 502
    assert response.json()["reason"] in ("tls_failed", "reset", "upstream_reset", "empty_response")
    assert upstream.requests == []


def test_a_pin_must_fit(start, make_upstream, authority, leaf, tmp_path):
    secure = make_upstream(tls=leaf)
    secure.on("GET", "/x", "ok")
    url = f"https://localhost:{secure.port}"
    gw = start(secured(url, ca=authority.certificate, pins=[public_key_pin(leaf[0])]))
    assert get(gw, "/x").status == 200
    other = Authority(tmp_path, "stranger")
    gw = start(secured(url, ca=authority.certificate, pins=[public_key_pin(other.certificate)]))
    assert_failure(get(gw, "/x"), 502, "pin_mismatch", "network", "forward")
    assert len(secure.requests) == 1


def test_verification_can_be_switched_off_by_a_frightening_name(start, make_upstream, leaf):
    secure = make_upstream(tls=leaf)
    secure.on("GET", "/x", "ok")
    gw = start(secured(f"https://localhost:{secure.port}", unsafe_skip_verify=True))
    gw.expected_errors = ["unsafe_skip_verify"]
    assert get(gw, "/x").status == 200
    assert "unsafe_skip_verify" in gw.stderr()
