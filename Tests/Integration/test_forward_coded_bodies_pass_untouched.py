"""Without a policy a gzip, brotli-labelled or falsely labelled body passes byte for byte with its fields, on every status."""

import gzip

import pytest

from client import get
from gateway import configuration
from upstream import Answer

PLAIN = b'{"code":0,"data":"' + b"x" * 5000 + b'"}'


@pytest.mark.parametrize("status", [200, 404, 500])
@pytest.mark.parametrize("body,coding", [(gzip.compress(PLAIN), "gzip"), (b"not really", "br"), (PLAIN, "gzip")],
                         ids=["gzip", "no brotli", "no gzip"])
def test_coded_bodies_pass_untouched(gateway, upstream, status, body, coding):
    fields = [("Content-Encoding", coding), ("ETag", '"a"'), ("Content-Type", "application/json"), ("Vary", "Accept-Encoding")]
    upstream.on("GET", "/x", Answer(status, body, fields))
    gw = gateway(configuration(upstream))
    response = get(gw, "/x", [("Accept-Encoding", "gzip")])
    assert (response.status, response.body, response.framing) == (status, body, "length")
    for name, value in fields:
        assert response.header(name) == value
    assert upstream.requests[0].header("Accept-Encoding") == "gzip"
