"""Requests are signed by RFC 9421: an independent verifier accepts them, retries and replays are signed afresh, no key gets out. (A12)"""

import base64
import hashlib
import hmac
import random
import types

import pytest

from client import Client, get
from failures import assert_failure
from gateway import Gateway, configuration, merged
from message_signatures import Rejected, parse_input, signature_base, verify
from upstream import Answer

KEY = "a-key-of-the-upstream-0123456789"
SIGN = {"key": "env:SIGNING_KEY", "key_id": "gateway-1"}


@pytest.fixture
def signing(gateway, upstream):
    def make(sign=None, route=None, endpoint=None, **sections):
        config = merged(configuration(upstream, route=route, **sections), {"upstreams": {"api": {"sign": {**SIGN, **(sign or {})}}}})
        return gateway(config, endpoint=endpoint, env={"SIGNING_KEY": KEY}, secrets=[KEY])
    return make


def check(request, **options):
    return verify(request, KEY.encode(), **options)


def test_the_verifier_agrees_with_rfc_9421_b_2_5():
    key = base64.b64decode("uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==")
    fields = {"host": "example.com", "date": "Tue, 20 Apr 2021 02:07:55 GMT", "content-type": "application/json"}
    request = types.SimpleNamespace(
        method="POST", target="/foo?param=Value&Pet=dog", header=lambda name: fields[name.lower()], all=lambda name: [fields[name]])
    value = 'sig-b25=("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"'
    label, components, parameters, text = parse_input(value)
    assert (label, parameters) == ("sig-b25", {"created": 1618884473, "keyid": "test-shared-secret"})
    code = hmac.new(key, signature_base(request, components, text, "https").encode(), hashlib.sha256).digest()
    assert base64.b64encode(code) == b"pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8="


@pytest.mark.parametrize("target", ["/x", "/x?", "/x?a=1&b=%2F%20", "/%E4%BD%99/a//b?q", "/x;y=1?z=%zz"])
def test_a_request_is_signed_as_it_is_sent(signing, upstream, target):
    upstream.on("GET", target.partition("?")[0], Answer(200, "ok"))
    gw = signing()
    assert get(gw, target).status == 200
    components, parameters = check(upstream.requests[0])
    assert components == ["@method", "@authority", "@path", "@query"] and parameters["keyid"] == "gateway-1"
    assert set(parameters) == {"created", "keyid"}
    assert gw.wait_audit(1)[0]["attempts"][0]["signed"] is True


def test_everything_that_can_be_covered_and_said(signing, upstream):
    upstream.on("POST", "/v1/x", Answer(200, "ok"))
    sign = {"components": ["@method", "@target-uri", "@authority", "@scheme", "@request-target", "@path", "@query", "content-type",
                           "x-list", "x-request-id", "x-absent", "via"],
            "label": "sig1", "body": True, "expires_s": 60, "nonce": True, "alg": True, "tag": 'a "tag"\\'}
    gw = signing(sign)
    fields = [("X-List", "a"), ("Content-Type", "text/plain"), ("X-List", "  b,c  "), ("Signature", "sig1=:AAAA:"),
              ("Signature-Input", "sig1=()"), ("Content-Digest", "sha-256=:AAAA:")]
    assert get(gw, "/v1/x?q=1", fields, method="POST", body=b"hello").status == 200
    components, parameters = check(upstream.requests[0], label="sig1")
    assert components == [*sign["components"][:-2], "via", "content-digest"], "what is not there can't be covered"
    assert parameters["expires"] == parameters["created"] + 60 and parameters["tag"] == 'a "tag"\\' and parameters["alg"] == "hmac-sha256"
    assert len(base64.b64decode(parameters["nonce"])) == 16


def test_a_changed_request_is_found_out(signing, upstream):
    upstream.on("POST", "/x", Answer(200, "ok"))
    gw = signing({"body": True, "components": ["@method", "@authority", "@path", "@query", "x-a"]})
    assert get(gw, "/x?a=1", [("X-A", "1")], method="POST", body=b"hello").status == 200
    request = upstream.requests[0]
    check(request)
    for name, value in [("method", "PUT"), ("target", "/x?a=2"), ("target", "/y?a=1")]:
        before = getattr(request, name)
        setattr(request, name, value)
        with pytest.raises(Rejected):
            check(request)
        setattr(request, name, before)
    request.headers = [(name, "2" if name == "X-A" else value) for name, value in request.headers]
    with pytest.raises(Rejected):
        check(request)


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("size", [0, 1, 262_145, 8 << 20])
def test_bodies_are_covered_up_to_the_bound(signing, upstream, framing, size):
    content = random.Random(size).randbytes(size)
    upstream.on("POST", "/w", Answer(200, "written"))
    gw = signing({"body": True})
    with Client(gw.port) as client:
        if framing == "length":
            client.send_request("POST", "/w", [("Content-Length", str(size))])
            client.send(content)
        else:
            client.send_request("POST", "/w", [("Transfer-Encoding", "chunked")])
            for at in range(0, size, 70_001):
                piece = content[at:at + 70_001]
                client.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            client.send(b"0\r\n\r\n")
        assert client.read_response().status == 200
    components, _ = check(upstream.requests[0], must_cover=["content-digest"])
    assert upstream.requests[0].body_bytes == size


def test_a_body_above_the_bound_is_refused(signing, upstream):
    gw = signing({"body": True})
    with Client(gw.port) as client:
        client.send_request("POST", "/w", [("Content-Length", str((8 << 20) + 1))])
        assert_failure(client.read_response(), 413, "body_not_signable", step="inject", origin="gateway", retryable=False)
    assert upstream.requests == []
    record = gw.wait_audit(1)[0]
    assert record["steps"]["inject"] == "not_signed" and record["attempts"] == []


def test_a_waiting_client_is_told_to_continue(signing, upstream):
    upstream.on("PUT", "/w", Answer(200, "written"))
    gw = signing({"body": True})
    with Client(gw.port) as client:
        client.send_request("PUT", "/w", [("Content-Length", "5"), ("Expect", "100-continue")])
        assert client.read_head().status == 100
        client.send(b"hello")
        assert client.read_response().status == 200
    check(upstream.requests[0], must_cover=["content-digest"])


def test_retries_and_replays_are_signed_afresh(signing, upstream, endpoint):
    upstream.on("POST", "/x", endpoint.guard(Answer(503, "a")), endpoint.guard(Answer(503, "a")), endpoint.guard(Answer(200, "ok")))
    gw = signing({"body": True, "nonce": True, "components": ["@method", "@path", "authorization"]},
                 route={"token": "app", "retry": {"limit": 2, "scale_ms": 10, "jitter": "none"}},
                 tokens={"app": endpoint.configuration()}, endpoint=endpoint)
    endpoint.revoke()
    assert get(gw, "/x", [("Idempotency-Key", "1")], method="POST", body=b"hello").status == 200
    requests = upstream.to("/x")
    assert len(requests) >= 3
    nonces = set()
    for request in requests:
        components, parameters = check(request, must_cover=["authorization", "content-digest"])
        nonces.add(parameters["nonce"])
    assert len(nonces) == len(requests) and len({request.header("Signature") for request in requests}) == len(requests)
    assert len({request.header("Authorization") for request in requests}) == 2


def test_a_key_may_be_bytes_and_come_from_a_file(gateway, upstream, tmp_path):
    key = bytes(range(64))
    path = tmp_path / "key"
    path.write_text(base64.b64encode(key).decode() + "\n")
    upstream.on("GET", "/x", Answer(200, "ok"))
    sign = {"key": f"file:{path}", "key_encoding": "base64"}
    gw = gateway(merged(configuration(upstream), {"upstreams": {"api": {"sign": sign}}}), secrets=[base64.b64encode(key).decode()])
    assert get(gw, "/x").status == 200
    verify(upstream.requests[0], key)


def test_a_key_that_can_t_be_had_stops_the_start(upstream, tmp_path):
    config = merged(configuration(upstream), {"upstreams": {"api": {"sign": {"key": "env:SIGNING_KEY", "key_encoding": "base64"}}}})
    gw = Gateway(config, tmp_path, env={"SIGNING_KEY": "no base64!"}, start=False)
    gw.start(wait=False)
    assert gw.wait_exit() != 0
    assert "upstreams.api.sign.key: not base64" in gw.stderr() and "no base64!" not in gw.stderr()


def test_an_upstream_without_sign_gets_no_signature_and_keeps_the_client_s(gateway, upstream):
    upstream.on("GET", "/x", Answer(200, "ok"))
    gw = gateway(configuration(upstream))
    assert get(gw, "/x", [("Signature", "a=:AAAA:"), ("Signature-Input", "a=()")]).status == 200
    request = upstream.requests[0]
    assert (request.header("Signature"), request.header("Signature-Input")) == ("a=:AAAA:", "a=()")
    assert request.header("Content-Digest") is None
