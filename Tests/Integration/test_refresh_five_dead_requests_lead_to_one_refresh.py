"""Single flight: five concurrent requests with a dead token, one call of the token endpoint, five answers with the new token.

Phases: no 401 is answered before all five have arrived; the token endpoint is held until they wait. (V4, B-01, A01, A02)
"""

import threading

import pytest

from client import get
from gateway import configuration, together
from token_endpoint import TokenEndpoint
from upstream import Answer


@pytest.mark.parametrize("style", ["login", "oauth2"])
@pytest.mark.parametrize("workers", [1, 2])
def test_five_dead_requests_lead_to_one_refresh(gateway, upstream, tmp_path, style, workers):
    endpoint = TokenEndpoint(upstream, style=style)
    upstream.on("GET", "/api/n", endpoint.guard(Answer(200, json_body={"code": 0, "data": {"n": 1}})))
    store = tmp_path / "app.json"
    gw = gateway(configuration(upstream, route={"token": "app"}, workers=workers, tokens={"app": endpoint.configuration(store)}),
                 endpoint=endpoint, env={"CLIENT_SECRET": "client-secret-0123456789"}, secrets=["client-secret-0123456789"])
    endpoint.revoke()
    endpoint.hold_refusals_until(5)
    endpoint.gate = threading.Event()
    opener = threading.Thread(target=lambda: (endpoint.wait_calls(1), endpoint.gate.set()), daemon=True)
    opener.start()
    answers = together(5, lambda _: get(gw, "/api/n"))
    opener.join(5)
    assert [(a.status, a.json()) for a in answers] == [(200, {"code": 0, "data": {"n": 1}})] * 5
    assert endpoint.calls == [endpoint.tokens[1]], "exactly one refresh, with the first refresh token"
    authorizations = [r.header("Authorization") for r in upstream.to("/api/n")]
    assert authorizations == [f"Bearer {endpoint.tokens[0]}"] * 5 + [f"Bearer {endpoint.tokens[2]}"] * 5
    records = gw.wait_audit(5)
    outcomes = sorted(record["steps"]["refresh"] for record in records)
    assert outcomes.count("led") == 1 and set(outcomes) <= {"led", "joined", "already_newer"}, outcomes
    for record in records:
        assert [a["status"] for a in record["attempts"]] == [401, 200]
        versions = [a["token_version"] for a in record["attempts"]]
        assert versions[0] != versions[1]
        assert record["steps"]["retry"] == "retried"
