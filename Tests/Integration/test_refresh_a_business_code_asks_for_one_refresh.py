"""on_business_codes: the listed codes in a 200 body lead to one refresh and one replay; others never; still failing it is final. (B-05)"""

from client import get
from failures import assert_failure
from gateway import ENVELOPE, configuration, merged
from upstream import Answer


def start(gateway, upstream, endpoint):
    policy = merged(ENVELOPE, {"success": {"field": "errcode"}, "code": "errcode", "message": ["errmsg"]})
    tokens = {"app": endpoint.configuration(refresh={"on_status": [401], "on_business_codes": [40001, 42001]})}
    return gateway(configuration(upstream, route={"token": "app", "policy": "wx"}, policies={"wx": policy}, tokens=tokens),
                   endpoint=endpoint)


def test_a_listed_code_refreshes_once(gateway, upstream, endpoint):
    def answer(request):
        if request.header("Authorization") == f"Bearer {endpoint.access}" and endpoint.version > 1:
            return Answer(200, json_body='{"errcode":0,"data":1}')
        return Answer(200, json_body='{"errcode":42001,"errmsg":"access_token expired"}')
    upstream.on("GET", "/x", answer)
    gw = start(gateway, upstream, endpoint)
    assert get(gw, "/x").body == b'{"errcode":0,"data":1}'
    assert len(endpoint.calls) == 1 and len(upstream.to("/x")) == 2


def test_still_failing_it_is_an_expired_authentication(gateway, upstream, endpoint):
    upstream.on("GET", "/x", Answer(200, json_body='{"errcode":42001,"errmsg":"access_token expired"}'))
    gw = start(gateway, upstream, endpoint)
    failure = assert_failure(get(gw, "/x"), 401, kind="authenticationExpired", businessCode=42001, attempts=2, statusCode=200)
    assert failure["responseData"] == {"errcode": 42001, "errmsg": "access_token expired"}
    assert len(endpoint.calls) == 1 and len(upstream.to("/x")) == 2


def test_another_code_never_refreshes(gateway, upstream, endpoint):
    upstream.on("GET", "/x", Answer(200, json_body='{"errcode":45009,"errmsg":"too many"}'))
    gw = start(gateway, upstream, endpoint)
    assert_failure(get(gw, "/x"), 422, "business_rejected", "business", businessCode=45009, message="too many")
    assert endpoint.calls == []
