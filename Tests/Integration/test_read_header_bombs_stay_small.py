"""Heads made to hurt: many fields, long names and values, many Set-Cookie from the upstream. What is within the limits passes whole, what is
beyond is refused in words, and the memory of many of them at once is bounded.
"""

import pytest

from client import Client, get
from failures import assert_failure
from gateway import configuration
from upstream import Answer

FIELDS_MAX, FIELD_BYTES_MAX, HEAD_BYTES_MAX = 128, 16_384, 65_536
RESPONSE_FIELDS_MAX, RESPONSE_FIELD_BYTES_MAX, RESPONSE_HEAD_BYTES_MAX = 512, 65_536, 262_144


def sent(gw, head):
    with Client(gw.port) as client:
        client.send(head)
        return client.read_response()


def head(fields=(), target="/x"):
    return (f"GET {target} HTTP/1.1\r\nHost: localhost\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields) + "\r\n").encode()


@pytest.fixture
def started(gateway, upstream):
    upstream.on("*", "/*", "ok")
    return gateway(configuration(upstream, workers=1))


def test_the_number_of_fields(started, upstream):
    fields = [(f"X-{number}", "v") for number in range(FIELDS_MAX - 1)]
    assert sent(started, head(fields)).status == 200
    assert len([name for name in upstream.requests[0].names() if name.startswith("x-") and name[2:].isdigit()]) == FIELDS_MAX - 1
    assert_failure(sent(started, head(fields + [("X-One-More", "v")])), 431, "request_too_large", "http", "read")


@pytest.mark.parametrize("part", ["name", "value"])
def test_the_length_of_a_field(started, upstream, part):
    def field(total):
        return ("X" * (total - 3), "v") if part == "name" else ("X", "v" * (total - 3))
    assert sent(started, head([field(FIELD_BYTES_MAX)])).status == 200
    assert_failure(sent(started, head([field(FIELD_BYTES_MAX + 1)])), 431, "request_too_large", "http", "read")
    assert len(upstream.requests) == 1


def test_the_length_of_the_whole_head(started, upstream):
    def filled(total):
        fields = [(f"X-{number}", "v" * 16_000) for number in range(4)]
        rest = total - len(head(fields + [("X-Rest", "")]))
        return head(fields + [("X-Rest", "v" * rest)])
    assert len(filled(HEAD_BYTES_MAX)) == HEAD_BYTES_MAX
    assert sent(started, filled(HEAD_BYTES_MAX)).status == 200
    assert_failure(sent(started, filled(HEAD_BYTES_MAX + 1)), 431, "request_too_large", "http", "read")
    assert len(upstream.requests) == 1


def test_the_length_of_a_target(started, upstream):
    assert sent(started, head(target="/" + "t" * 8191)).status == 200
    assert_failure(sent(started, head(target="/" + "t" * 8192)), 414, "request_too_large", "http", "read")
    assert len(upstream.requests) == 1


def test_a_head_that_never_ends_is_cut_at_its_limit(started):
    with Client(started.port) as client:
        client.send(b"GET /x HTTP/1.1\r\nHost: localhost\r\n")
        try:
            for number in range(100_000):
                client.send(b"X-%d: %s\r\n" % (number, b"v" * 500))
        except ConnectionError:
            pass
        assert_failure(client.read_response(), 431, "request_too_large", "http", "read")


def test_many_unfinished_heads_at_once_need_bounded_memory(started):
    before = started.rss()
    started.reset_peak_rss()
    clients = [Client(started.port) for _ in range(200)]
    for client in clients:
        client.send(head([(f"X-{number}", "v" * 16_000) for number in range(4)])[:-4])
    # Proves that the gateway has read them: it answers one that is behind them.
    assert get(started, "/x").status == 200
    assert started.peak_growth(before) < 200 * 2 * HEAD_BYTES_MAX + (8 << 20)
    for client in clients:
        client.close()
    assert get(started, "/x").status == 200


def test_many_cookies_keep_their_lines(started, upstream):
    cookies = [("Set-Cookie", f"c{number}=v; Path=/{number}") for number in range(RESPONSE_FIELDS_MAX - 1)]
    upstream.on("GET", "/cookies", Answer(200, "ok", headers=cookies))
    response = get(started, "/cookies")
    assert response.status == 200 and response.all("Set-Cookie") == [value for _, value in cookies]
    upstream.on("GET", "/more", Answer(200, "ok", headers=cookies + [("Set-Cookie", "one=more")]))
    assert_failure(get(started, "/more"), 502, "response_malformed", "network", "forward")


@pytest.mark.parametrize("part", ["name", "value"])
def test_a_long_field_of_the_upstream(started, upstream, part):
    def field(total):
        return ("X" * (total - 3), "v") if part == "name" else ("X", "v" * (total - 3))
    upstream.on("GET", "/at", Answer(200, "ok", headers=[field(RESPONSE_FIELD_BYTES_MAX)]))
    upstream.on("GET", "/beyond", Answer(200, "ok", headers=[field(RESPONSE_FIELD_BYTES_MAX + 1)]))
    assert get(started, "/at").status == 200
    assert_failure(get(started, "/beyond"), 502, "response_malformed", "network", "forward")


def test_a_long_head_of_the_upstream(started, upstream):
    def answer(total):
        fields = [(f"X-{number}", "v" * 60_000) for number in range(4)]
        rest = total - len(Answer(200, "ok", headers=fields + [("X-Rest", "")]).head())
        return Answer(200, "ok", headers=fields + [("X-Rest", "v" * rest)])
    upstream.on("GET", "/at", answer(RESPONSE_HEAD_BYTES_MAX))
    upstream.on("GET", "/beyond", answer(RESPONSE_HEAD_BYTES_MAX + 1))
    assert get(started, "/at").status == 200
    assert_failure(get(started, "/beyond"), 502, "response_malformed", "network", "forward")
