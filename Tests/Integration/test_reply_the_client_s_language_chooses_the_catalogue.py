"""Accept-Language en gives English texts, zh Chinese; nothing or an unknown language gives the seeds' language."""

import pytest

from client import get
from failures import assert_failure
from gateway import ENVELOPE, configuration
from upstream import Answer


@pytest.mark.parametrize("language,chinese", [
    (None, True), ("zh-CN,zh;q=0.9", True), ("fr", True), ("en", False), ("en-GB,en;q=0.8", False), ("zh;q=0.1, en;q=0.9", False),
    ("en;q=0, zh", True), (";;;", True)])
def test_the_client_s_language_chooses_the_catalogue(gateway, upstream, language, chinese):
    upstream.on("GET", "/x", Answer(404, "no"))
    gw = gateway(configuration(upstream, route={"policy": "envelope"}, policies={"envelope": ENVELOPE}))
    message = assert_failure(get(gw, "/x", [("Accept-Language", language)] if language else []), 404)["message"]
    assert (message == "资源未找到") == chinese, message
    assert chinese or message.isascii()
