"""A token in a query or a cookie: once, encoded, in the place of the client's own value or not; never in an output of the gateway."""

import pytest

from client import get
from failures import assert_failure
from gateway import configuration, merged
from upstream import Answer

TOKEN = "the/static+token=0123456789"
QUERY = {"query": "api_key"}
COOKIE = {"cookie": "sid"}
OWN = {"header": ("/x?api_key=1", [("AUTHORIZATION", "mine")]), "query": ("/x?a=1&api%5Fkey=mine", []),
       "cookie": ("/x", [("Cookie", "a=b; sid=mine")])}


def start(gateway, upstream, inject, **route):
    upstream.on("GET", "/x", "ok")
    tokens = {"app": {"static": {"token": "env:APP_TOKEN"}, "inject": inject}}
    config = configuration(upstream, route={"token": "app", **route}, tokens=tokens, audit={"bodies": "all"})
    return gateway(config, env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])


def test_in_a_query(gateway, upstream):
    gw = start(gateway, upstream, QUERY)
    for target in ["/x", "/x?a=%2F&b", "/x?a=1&api%5fkey=of-the-client&c"]:
        assert get(gw, target, [("Authorization", "Basic abc")]).status == 200
    encoded = "api_key=the%2Fstatic%2Btoken%3D0123456789"
    assert [r.target for r in upstream.requests] == [f"/x?{encoded}", f"/x?a=%2F&b&{encoded}", f"/x?a=1&c&{encoded}"]
    assert upstream.requests[0].all("Authorization") == ["Basic abc"]
    gw.wait_audit(3)
    assert "of-the-client" not in gw.audit_text()


def test_in_a_cookie(gateway, upstream):
    gw = start(gateway, upstream, COOKIE)
    get(gw, "/x")
    get(gw, "/x", [("Cookie", "a=b; sid=of-the-client"), ("Cookie", "c=d")])
    assert [r.all("Cookie") for r in upstream.requests] == [[f"sid={TOKEN}"], [f"a=b; c=d; sid={TOKEN}"]]
    gw.wait_audit(2)
    assert "of-the-client" not in gw.audit_text()


@pytest.mark.parametrize("place", OWN)
def test_the_client_s_own_value_can_be_refused_or_kept(gateway, upstream, place):
    inject = {"header": {}, "query": QUERY, "cookie": COOKIE}[place]
    target, fields = OWN[place]
    refusing = start(gateway, upstream, merged(inject, {"on_client_value": "reject"}))
    assert_failure(get(refusing, target, fields), 400, "client_value_rejected", "http", "inject")
    assert upstream.requests == []
    assert get(refusing, "/x?other=1").status == 200
    keeping = start(gateway, upstream, merged(inject, {"on_client_value": "keep"}))
    assert get(keeping, target, fields).status == 200
    request = upstream.requests[1]
    assert request.target == target and all(request.all(name) == [value] for name, value in fields)
    assert TOKEN.encode() not in request.head and b"the%2Fstatic" not in request.head


def test_an_upstream_that_redirects_with_the_query_it_got_does_not_tell_the_token(gateway, upstream):
    upstream.on("GET", "/old", lambda r: Answer(302, "", headers=[("Location", r.target.replace("/old", "/x"))]))
    gw = start(gateway, upstream, QUERY)
    response = get(gw, "/old?a=1")
    assert response.status == 302 and response.header("Location") == "/x?a=1"


def test_optional_auth_goes_on_without_a_token_and_its_401_passes(gateway, upstream, endpoint):
    def answer(request):
        return Answer(200, "fine") if request.header("Authorization") else Answer(401, "who are you")
    upstream.on("GET", "/y", answer)
    endpoint.answers = [Answer(400, json_body='{"code":40101,"msg":"no"}')]
    tokens = {"app": merged(endpoint.configuration(), {"initial": None})}
    config = configuration(upstream, route={"token": "app", "auth": "optional"}, tokens=tokens)
    gw = gateway(config, endpoint=endpoint)
    response = get(gw, "/y", [("Authorization", "Basic dummy")])
    assert response.status == 401 and response.body == b"who are you" and response.header("CryoNet-Failure") is None
    assert gw.wait_audit(1)[0]["steps"]["inject"] == "unauthenticated"


def test_auth_none_injects_nothing(gateway, upstream):
    gw = start(gateway, upstream, {}, auth="none")
    get(gw, "/x", [("Authorization", "Basic of-the-client")])
    assert upstream.requests[0].all("Authorization") == ["Basic of-the-client"]
