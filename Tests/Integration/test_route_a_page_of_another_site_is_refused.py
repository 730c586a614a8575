"""A browser's cross-site request gets 403 and reaches nobody: foreign Origin, `Origin: null`, Sec-Fetch-Site: cross-site."""

import pytest

from client import get
from failures import assert_failure
from gateway import configuration

FOREIGN = {
    "origin": [("Origin", "https://evil.invalid")],
    "null origin": [("Origin", "null")],
    "other port": [("Origin", "http://127.0.0.1:1")],
    "fetch metadata": [("Sec-Fetch-Site", "cross-site")],
    "origin and metadata": [("Origin", "https://evil.invalid"), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "cors")],
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_of_another_site_is_refused(gateway, upstream, name, method):
    upstream.on("*", "/x", "reached")
    gw = gateway(configuration(upstream))
    assert_failure(get(gw, "/x", FOREIGN[name], method), 403, "origin_denied", "http", "route")
    assert upstream.requests == []
    assert gw.wait_audit(1)[0]["steps"]["route"] == "origin_denied"


def test_the_same_origin_passes(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    for fields in ([("Origin", gw.url)], [("Sec-Fetch-Site", "same-origin")], [("Sec-Fetch-Site", "none")]):
        assert get(gw, "/x", fields).status == 200, fields
