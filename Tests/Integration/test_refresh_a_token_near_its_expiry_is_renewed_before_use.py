"""before_expiry_s: a token that ends soon is renewed before the upstream is asked; while the endpoint is down it is still used."""

from client import get
from gateway import configuration
from upstream import Answer
from waiting import wait_until


def test_a_token_near_its_expiry_is_renewed_before_use(gateway, upstream, endpoint):
    endpoint.expires_in = 30
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    tokens = {"app": endpoint.configuration(refresh={"before_expiry_s": 60})}
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens=tokens), endpoint=endpoint)
    endpoint.revoke()
    assert get(gw, "/x").status == 200  # By the 401; now the expiry is known and already near.
    endpoint.expires_in = 3600
    assert get(gw, "/x").status == 200
    # The renewal runs in the background; where the endpoint kills the old token at once, the request that used it is replayed.
    assert endpoint.refused <= 2
    wait_until(lambda: len(endpoint.calls) == 2, 5, "the renewal")
    assert get(gw, "/x").status == 200
    assert len(endpoint.calls) == 2


def test_a_valid_token_is_used_while_the_endpoint_is_down(gateway, upstream, endpoint):
    endpoint.expires_in = 30
    endpoint.answers = [None] + [Answer(500, "down")] * 20
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    tokens = {"app": endpoint.configuration(refresh={"before_expiry_s": 60})}
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens=tokens), endpoint=endpoint)
    gw.expected_errors = [r"token|refresh"]
    endpoint.revoke()
    for _ in range(3):
        assert get(gw, "/x").status == 200
