"""X-Forwarded-*, Forwarded and X-Real-IP claims of a client are replaced, one line each; Via is appended in both directions."""

from client import get
from gateway import configuration
from upstream import Answer


def test_forwarding_fields_tell_the_truth(gateway, upstream):
    upstream.on("GET", "/x", Answer(200, "ok", [("Via", "1.1 cache")]))
    gw = gateway(configuration(upstream))
    response = get(gw, "/x", [("X-Forwarded-For", "10.0.0.1"), ("X-Forwarded-For", "10.0.0.2"), ("X-Forwarded-Proto", "https"),
                              ("X-Forwarded-Host", "evil.invalid"), ("Forwarded", "for=10.0.0.1"), ("X-Real-IP", "10.0.0.1"),
                              ("Via", "1.0 p")])
    request = upstream.requests[0]
    assert request.header("X-Forwarded-For") == "127.0.0.1"
    assert request.header("X-Forwarded-Proto") == "http"
    assert request.header("X-Forwarded-Host") == gw.authority
    for name in ("Forwarded", "X-Real-IP"):
        assert "10.0.0.1" not in ",".join(request.all(name))
    via = ", ".join(request.all("Via"))
    assert via.startswith("1.0 p, 1.1 ") and len(via.split(",")) == 2
    answered = ", ".join(response.all("Via"))
    assert answered.startswith("1.1 cache, 1.1 ") or answered == "1.1 cache"
    assert gw.wait_audit(1)[0]["client"].startswith("127.0.0.1")
