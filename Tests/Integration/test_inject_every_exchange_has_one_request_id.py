"""X-Request-Id: made when absent, kept when the client sent a usable one, the same upstream, in the answer and in the audit."""

from client import get
from gateway import configuration


def test_every_exchange_has_one_request_id(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    made = [get(gw, "/x").header("X-Request-Id") for _ in range(3)]
    assert all(made) and len(set(made)) == 3
    kept = get(gw, "/x", [("X-Request-Id", "client-chosen-id-1")])
    seen = [request.header("X-Request-Id") for request in upstream.requests]
    assert seen[:3] == made
    assert kept.header("X-Request-Id") == seen[3]
    records = gw.wait_audit(4)
    assert [record.get("request_id", record["id"]) for record in records] == seen
    assert records[3]["id"] != "client-chosen-id-1", "the exchange has an id of its own"


def test_an_unusable_id_is_not_spread(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    for bad in ("a" * 5000, 'a"b<c>', "a\tb"):
        response = get(gw, "/x", [("X-Request-Id", bad)])
        assert response.status == 200 and len(response.header("X-Request-Id")) <= 128
        assert response.header("X-Request-Id") != bad
