"""Bodies that come a byte at a time: a business failure's message keeps its characters, what passes keeps its bytes, also those that are no
UTF-8, which in a failure's copy are carried as base64. (B-11, A12)
"""

import base64

import pytest

from client import get
from failures import assert_failure, assert_passed
from gateway import ENVELOPE, configuration
from upstream import chunk, script

TEXT = "你好🙂"


def byte_by_byte(body, status=200, media="application/json", chunked=True):
    if chunked:
        framing, pieces = "Transfer-Encoding: chunked", [chunk(bytes([byte])) for byte in body] + [b"0\r\n\r\n"]
    else:
        framing, pieces = f"Content-Length: {len(body)}", [bytes([byte]) for byte in body]
    return script(f"HTTP/1.1 {status} Scripted\r\nContent-Type: {media}\r\n{framing}\r\n\r\n".encode(), *pieces)


@pytest.fixture
def judged(gateway, upstream):
    return gateway(configuration(upstream, route={"policy": "envelope"}, policies={"envelope": ENVELOPE}))


@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "length"])
def test_the_message_of_a_business_failure(judged, upstream, chunked):
    upstream.on("GET", "/x", byte_by_byte(f'{{"code":7,"msg":"{TEXT}"}}'.encode(), chunked=chunked))
    failure = assert_failure(get(judged, "/x"), 422, "business_rejected", message=TEXT)
    assert failure["responseData"] == {"code": 7, "msg": TEXT}


def test_what_passes_keeps_its_bytes(gateway, upstream):
    body = f"a {TEXT} b".encode() + b"\xff\x00\xc3"
    upstream.on("GET", "/x", byte_by_byte(body, media="text/plain; charset=utf-8"))
    assert_passed(get(gateway(configuration(upstream)), "/x"), 200, body)


def test_a_success_under_a_policy_keeps_its_bytes(judged, upstream):
    body = f'{{"code":0,"data":"{TEXT}"}}'.encode()
    upstream.on("GET", "/x", byte_by_byte(body))
    assert_passed(get(judged, "/x"), 200, body)


def test_invalid_bytes_in_a_failure_s_copy(judged, upstream):
    body = TEXT.encode() + b"\xff"
    upstream.on("GET", "/x", byte_by_byte(body, 500, "text/plain"))
    failure = assert_failure(get(judged, "/x"), 500, "upstream_status")
    assert failure["responseDataEncoding"] == "base64" and base64.b64decode(failure["responseData"]) == body
