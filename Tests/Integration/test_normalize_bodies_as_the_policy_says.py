"""reply complete, data, raw; non-JSON, empty, oversize and gzip bodies as configured; passed bytes are the upstream's bytes."""

import gzip

import pytest

from client import get
from failures import assert_failure, assert_passed
from gateway import ENVELOPE, configuration, merged
from upstream import Answer

ODD = b'{ "code" : 0 ,\t"data":{"n":1.0e2, "big":123456789012345678901234567890, "t":"\\u4f60\xe5\xa5\xbd", "a":[ ] } ,"x":null}'
ODD_DATA = b'{"n":1.0e2, "big":123456789012345678901234567890, "t":"\\u4f60\xe5\xa5\xbd", "a":[ ] }'
JSON = [("Content-Type", "application/json")]


@pytest.fixture
def start(gateway, upstream):
    def run(**change):
        return gateway(configuration(upstream, route={"policy": "p"}, policies={"p": merged(ENVELOPE, change)}))
    return run


def test_complete_data_and_raw(start, upstream):
    upstream.on("GET", "/x", Answer(200, ODD, JSON))
    assert_passed(get(start(reply="complete"), "/x"), 200, ODD)
    gw = start(reply="data")
    response = get(gw, "/x")
    assert_passed(response, 200, ODD_DATA)
    assert response.header("Content-Length") == str(len(ODD_DATA))
    assert gw.wait_audit(1)[0]["steps"]["normalize"] == "unwrapped"
    assert_passed(get(start(reply="raw"), "/x"), 200, ODD)


def test_raw_passes_a_business_failure(start, upstream):
    upstream.on("GET", "/x", Answer(200, b'{"code":7,"msg":"no"}', JSON))
    assert_passed(get(start(reply="raw"), "/x"), 200, b'{"code":7,"msg":"no"}')


def test_a_business_failure_is_mapped_by_its_code(start, upstream):
    upstream.on("GET", "/mapped", Answer(200, '{"code":10001,"msg":"login expired"}', JSON))
    upstream.on("GET", "/other", Answer(200, '{"code":40013,"msg":"余额不足"}', JSON))
    gw = start()
    assert_failure(get(gw, "/mapped"), 401, "business_rejected", "business", "normalize", businessCode=10001, message="login expired")
    response = get(gw, "/other")
    assert_failure(response, 422, "business_rejected", "business", "normalize", businessCode=40013, message="余额不足", statusCode=200,
                   domain="BusinessError", code=40013, origin="upstream", responseData={"code": 40013, "msg": "余额不足"},
                   retryable=False, attempts=1, route="api", underlyingError=None)
    assert "余额不足".encode() in response.body, "not escaped without need"
    records = gw.wait_audit(2)
    assert [(r["business_code"], r["status"]) for r in records] == [(10001, 401), (40013, 422)]
    assert all(r["steps"]["normalize"] == "business_rejected" for r in records)


@pytest.mark.parametrize("body,rejected,code", [
    (b'{"code":0}', False, 0), (b'{"code":"0"}', False, None), (b'{"code":true}', True, None), (b'{"code":null}', None, None),
    (b'{"code":"00000"}', True, "00000"), (b'{"code":"OK"}', True, "OK"), (b'{"code":123456789012345678901}', True, 123456789012345678901),
    (b'{"code":-3}', True, -3), (b'{}', False, None), (b'[]', None, None)])
def test_codes_keep_their_wire_type(start, upstream, body, rejected, code):
    upstream.on("GET", "/x", Answer(200, body, JSON))
    response = get(start(), "/x")
    assert response.status in (200, 422)
    if rejected is not None:
        assert (response.status == 422) == rejected
    if response.status == 422 and rejected and code is not None:
        assert response.json()["businessCode"] == code and type(response.json()["businessCode"]) is type(code)


@pytest.mark.parametrize("body,fields", [(b"<html>", [("Content-Type", "text/html")]), (b"{broken", JSON), (b"\xff\xfe", JSON)])
def test_non_json_fails_or_passes(start, upstream, body, fields):
    upstream.on("GET", "/x", Answer(200, body, fields))
    failure = assert_failure(get(start(), "/x"), 502, "response_not_json", "decoding", "normalize", statusCode=200)
    assert failure["responseData"]
    if body == b"\xff\xfe":
        assert failure["responseDataEncoding"] == "base64" and failure["responseData"] == "//4="
    assert_passed(get(start(non_json="pass"), "/x"), 200, body)


def test_an_empty_200_passes_or_fails(start, upstream):
    upstream.on("GET", "/x", Answer(200, b"", JSON))
    assert_passed(get(start(), "/x"), 200, b"")
    response = get(start(empty="fail"), "/x")
    assert_failure(response, 502, kind="decoding", step="normalize", statusCode=200)


def test_an_oversize_body_fails_or_passes(start, upstream):
    body = b'{"code":5,"data":"' + b"x" * 20_000 + b'"}'
    upstream.on("GET", "/x", Answer(200, body, JSON)).on("GET", "/c", Answer(200, chunks=[body[:9000], body[9000:]], headers=JSON))
    for target in ("/x", "/c"):
        assert_failure(get(start(max_body_bytes=10_000, oversize="fail"), target), 502, "response_too_large", "decoding", "normalize")
        assert_passed(get(start(max_body_bytes=10_000, oversize="pass"), target), 200, body)
        assert get(start(max_body_bytes=len(body)), target).status == 422


def test_gzip_is_decoded_for_the_judgement_only(start, upstream):
    good, bad = b'{"code":0,"data":"' + b"y" * 5000 + b'"}', b'{"code":9,"msg":"no"}'
    coded = [*JSON, ("Content-Encoding", "gzip"), ("ETag", '"a"')]
    upstream.on("GET", "/good", Answer(200, gzip.compress(good), coded)).on("GET", "/bad", Answer(200, gzip.compress(bad), coded))
    gw = start()
    response = get(gw, "/good", [("Accept-Encoding", "gzip")])
    assert response.header("Content-Encoding") == "gzip" and gzip.decompress(response.body) == good and response.header("ETag") == '"a"'
    response = get(gw, "/bad", [("Accept-Encoding", "gzip")])
    assert_failure(response, 422, "business_rejected", businessCode=9, responseData={"code": 9, "msg": "no"})
    assert response.header("Content-Encoding") is None and response.header("ETag") is None
    data = get(start(reply="data"), "/good", [("Accept-Encoding", "gzip")])
    body = gzip.decompress(data.body) if data.header("Content-Encoding") == "gzip" else data.body
    assert body.strip(b'"') == b"y" * 5000


def test_a_broken_or_endless_gzip_does_no_harm(start, upstream):
    coded = [*JSON, ("Content-Encoding", "gzip")]
    whole = gzip.compress(b'{"code":0,"data":"' + b"y" * 50_000 + b'"}')
    upstream.on("GET", "/cut", Answer(200, whole[:-20], coded)).on("GET", "/false", Answer(200, b'{"code":0}', coded))
    upstream.on("GET", "/bomb", Answer(200, gzip.compress(b"0" * 100_000_000), coded))
    gw = start()
    get(gw, "/cut")
    before = gw.rss()
    gw.reset_peak_rss()
    for target in ("/cut", "/false"):
        assert_failure(get(gw, target), 502, kind="decoding", step="normalize")
    assert_failure(get(start(oversize="fail"), "/bomb"), 502, "response_too_large", "decoding", "normalize")
    assert gw.peak_growth(before) < 16 << 20
    gw = start(non_json="pass")
    assert_passed(get(gw, "/cut"), 200, whole[:-20])


def test_big_failure_bodies_are_cut_in_the_copy(start, upstream):
    upstream.on("GET", "/x", Answer(500, "é" * 400_000, [("Content-Type", "text/plain")]))
    failure = assert_failure(get(start(), "/x"), 500, "upstream_status", "http", message="服务器错误")
    assert failure["responseDataTruncated"] and "é" * 100 in failure["responseData"]


def test_event_streams_are_exempt(start, upstream):
    upstream.on("GET", "/x", Answer(200, b"data: {\"code\":5}\n\n", [("Content-Type", "text/event-stream")]))
    assert_passed(get(start(), "/x"), 200, b"data: {\"code\":5}\n\n")
