"""Three Set-Cookie lines stay three lines, in order, byte for byte; also on a business failure; a replay shows only the last ones."""

from client import get
from gateway import ENVELOPE, configuration
from upstream import Answer

COOKIES = ["sid=a; Path=/", "flag=x; Max-Age=0", "e=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"]
FIELDS = [("Set-Cookie", value) for value in COOKIES]


def test_on_a_plain_answer_and_a_business_failure(gateway, upstream):
    upstream.on("GET", "/ok", Answer(200, json_body={"code": 0}, headers=FIELDS))
    upstream.on("GET", "/bad", Answer(200, json_body={"code": 5, "msg": "no"}, headers=FIELDS))
    gw = gateway(configuration(upstream, route={"policy": "envelope"}, policies={"envelope": ENVELOPE}))
    assert get(gw, "/ok").all("Set-Cookie") == COOKIES
    assert get(gw, "/bad").all("Set-Cookie") == COOKIES


def test_on_a_replay_only_the_last_answer_s(gateway, upstream, endpoint):
    upstream.on("GET", "/x", Answer(401, "no", [("Set-Cookie", "dead=1")]), Answer(200, "ok", FIELDS))
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.configuration()}), endpoint=endpoint)
    response = get(gw, "/x")
    assert response.status == 200 and response.all("Set-Cookie") == COOKIES
