"""The ledger's vectors (V1–V10 and the spares that apply) as data, run against the real binary.

A case: `config` (laid over one route `api` for everything, `policy`/`token`/`retry` go to the route), `upstream` (answers per
"METHOD /path"), `requests`, and what must hold: per request under `expect`, and `hits`, `refreshes`, `authorizations`, `waits_ms`,
`revisions`, `normalize` (that step's outcome) for all of them together. Times in the vectors are scaled down (`scale_ms`), order and number are not.
"""

import base64
import json
import os

import pytest

from client import get
from failures import assert_failure
from gateway import configuration, merged, together
from token_endpoint import TokenEndpoint
from upstream import CLOSE, RESET, STALL, Answer, closed_port

EXPECTED_LOG = [r"warning (token|session) ", r"warning breaker of upstream api: open "]

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors")


def load():
    with open(os.path.join(FOLDER, "policies.json"), encoding="utf-8") as file:
        policies = json.load(file)
    cases = []
    for name in sorted(os.listdir(FOLDER)):
        if name == "policies.json":
            continue
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            document = json.load(file)
        for case in document["cases"]:
            whole = merged(document.get("defaults", {}), case)
            whole["policies"] = policies
            cases.append(pytest.param(whole, id=f"{document['vector']}: {case['name']}"))
    return cases


def content(value):
    """Text, base64 or JSON of a vector as bytes."""
    if isinstance(value, dict):
        return base64.b64decode(value["base64"]) if "base64" in value else value["text"].encode()
    return value.encode()


def answer_of(description, endpoint):
    if "steps" in description:
        named = {"close": CLOSE, "reset": RESET, "stall": STALL}
        return Answer(script=[named[step] if isinstance(step, str) and step in named else content(step) for step in description["steps"]])
    body = content(description.get("body", ""))
    fields = [tuple(field) for field in description.get("headers", [["Content-Type", "application/json"]])]
    answer = Answer(description.get("status", 200), body, fields)
    return endpoint.guard(answer) if description.get("guarded") else answer


def start(case, gateway, upstream, tmp_path):
    style = case.get("endpoint", {})
    endpoint = TokenEndpoint(upstream, expires_in=style.get("expires_in", 3600))
    endpoint.answers = [answer_of(item, endpoint) for item in style.get("answers", [])]
    for name, answers in case.get("upstream", {}).items():
        method, path = name.split(" ")
        upstream.on(method, path, *[answer_of(item, endpoint) for item in answers])
    config = configuration(f"http://127.0.0.1:{closed_port()}" if case.get("unreachable") else upstream, policies=case["policies"],
                           tokens={"app": endpoint.configuration(tmp_path / "app.json")})
    config = merged(config, case.get("config", {}))
    config["routes"][0].update(case.get("route", {}))
    env = case.get("env", {})
    gw = gateway(config, endpoint=endpoint, env=env, secrets=[value for value in env.values() if len(value) > 7])
    gw.expected_errors = [r"token|refresh|NOT_SET"]
    if case.get("revoked"):
        endpoint.revoke()
    if case.get("concurrent"):
        endpoint.hold_refusals_until(case["concurrent"])
    return gw, endpoint


def check_answer(response, expect):
    if "failure" in expect:
        wanted = dict(expect["failure"])
        kinds = wanted.pop("kind_any", None)
        failure = assert_failure(response, expect["status"], **wanted)
        assert not kinds or failure["kind"] in kinds
    else:
        assert response.status == expect.get("status", 200), response.body[:400]
        assert response.complete == expect.get("complete", True)
    if "body" in expect:
        assert response.body == content(expect["body"])
    for name, value in expect.get("headers", {}).items():
        assert response.header(name) == value, name


@pytest.mark.parametrize("case", load())
def test_vector(case, gateway, upstream, tmp_path):
    gw, endpoint = start(case, gateway, upstream, tmp_path)
    responses = []
    for request in case["requests"]:
        method, target = request["line"].split(" ")
        fields, body = [tuple(field) for field in request.get("headers", [])], content(request.get("body", ""))
        batch = together(case.get("concurrent", 1), lambda _: get(gw, target, fields, method, body))
        for response in batch:
            check_answer(response, request.get("expect", {}))
        responses += batch
    for path, count in case.get("hits", {}).items():
        assert len(upstream.to(path)) == count, f"{len(upstream.to(path))} hits of {path}, wanted {count}"
    if "refreshes" in case:
        assert len(endpoint.calls) == case["refreshes"]
    for path, wanted in case.get("authorizations", {}).items():
        named = {f"Bearer {endpoint.tokens[0]}": "T1", f"Bearer {endpoint.access}": "T2" if endpoint.version > 1 else "T1"}
        seen = [[named.get(value, value) for value in request.all("Authorization")] for request in upstream.to(path)]
        assert sorted(seen) == sorted(wanted)
    records = gw.wait_audit(len(responses))
    if "normalize" in case:
        assert records[0]["steps"]["normalize"] == case["normalize"]
    if "waits_ms" in case:
        starts = [attempt["start_us"] for attempt in records[0]["attempts"]]
        waits = [(after - before) / 1000 for before, after in zip(starts, starts[1:])]
        assert len(waits) == len(case["waits_ms"]) and all(a >= b for a, b in zip(waits, case["waits_ms"])), waits
    if "revisions" in case:
        revisions = {response.json()["authenticationRevision"] for response in responses}
        assert len(revisions) == case["revisions"] and None not in revisions, revisions
