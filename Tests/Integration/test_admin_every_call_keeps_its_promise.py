"""Every call of the description, with bodies and values that fit and that do not: an answer that is promised, in the shape that is promised."""

import json
import os
import random
import shutil
import subprocess
from urllib.parse import quote

import pytest

from admin import Admin, with_admin
from client import get
from gateway import configuration
from upstream import Answer

jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed: scripts/dependencies test does it")
# Drain ends the gateway, and the stream has no end of its own: they have tests of their own.
LEFT_OUT = {"/api/drain", "/api/exchanges/stream"}
JUNK = [None, True, -1, 2 ** 70, 1.5, "", "\u0000", "a\r\nX: 1", "余额" * 50, [], [[]], {}, {"token": []}, "x" * 5000]
ROUNDS = 400


@pytest.fixture
def admin(gateway, upstream):
    upstream.on("GET", "/x", Answer(json_body={"code": 0}))
    config = configuration(upstream, route={"token": "app"}, tokens={"app": {"env": {"name": "APP_TOKEN"}}}, audit={"bodies": "all"})
    gw = gateway(with_admin(config), env={"APP_TOKEN": "the-value-of-the-token"})
    for number in range(3):
        get(gw, f"/x?{number}")
    gw.wait_audit(3)
    return Admin(gw)


def value(schema, chance, document):
    """Something that fits the schema, or does not."""
    if chance.random() < .25:
        return chance.choice(JUNK)
    if "$ref" in schema:
        return value(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], chance, document)
    if "enum" in schema:
        return chance.choice(schema["enum"])
    kind = schema.get("type", "object")
    kind = chance.choice(kind) if isinstance(kind, list) else kind
    if kind == "object":
        members = schema.get("properties", {})
        return {name: value(member, chance, document) for name, member in members.items() if name in schema.get("required", []) or chance.random() < .6}
    if kind == "array":
        return [value(schema["items"], chance, document) for _ in range(chance.randrange(3))]
    return {"integer": chance.randrange(1, 1000), "boolean": True, "null": None}.get(kind, chance.choice(["app", "/x", "GET", "text"]))


def check(answer, operation, document, what):
    assert str(answer.status) in operation["responses"] or answer.status in (405, 413), f"{what}: {answer.status} is not promised"
    promised = operation["responses"].get(str(answer.status), {}).get("content", {})
    kind = (answer.header("Content-Type") or "").split(";")[0]
    assert not promised or kind in promised, f"{what}: {kind} is not promised"
    if kind.endswith("json") and "schema" in promised.get(kind, {}):
        schema = {"$ref": promised[kind]["schema"]["$ref"], "components": document["components"]}
        jsonschema.Draft202012Validator(schema).validate(json.loads(answer.body))


def test_every_call_answers_as_described_whatever_it_is_given(admin):
    document = admin.json("GET", "/api/openapi.json")
    chance = random.Random(20261130)
    operations = [(path, method, item[method]) for path, item in document["paths"].items() if path not in LEFT_OUT for method in item if method != "parameters"]
    ids = [one["id"] for one in admin.json("GET", "/api/exchanges")["exchanges"]]
    for number in range(ROUNDS):
        path, method, operation = operations[number % len(operations)] if number < len(operations) else chance.choice(operations)
        target = path.replace("{id}", chance.choice([*ids, "nobody", "%00", "..%2f"])).replace("{name}", chance.choice(["app", "app", "nobody", "%F0%9F%A7%8A"]))
        query = [(one["name"], value(one["schema"], chance, document)) for one in operation.get("parameters", []) if chance.random() < .7]
        if query:
            target += "?" + "&".join(f"{name}={quote(str(given), safe='')}" for name, given in query)
        body = None
        if "requestBody" in operation:
            schema = next(iter(operation["requestBody"]["content"].values()))["schema"]
            body = chance.choice([value(schema, chance, document)] * 8 + [b"", b"{", b"\xff\xfe"])
        answer = admin.call(method.upper(), target, body)
        check(answer, operation, document, f"{method} {target[:80]} {str(body)[:80]}")
    assert admin.get("/readyz", key=False).status in (200, 503)


@pytest.mark.skipif(not (os.environ.get("CRYONET_SCHEMATHESIS") or shutil.which("schemathesis")),
                    reason="no schemathesis (pip install schemathesis; CRYONET_SCHEMATHESIS names it)")
def test_schemathesis_has_nothing_to_say(admin, tmp_path):
    program = os.environ.get("CRYONET_SCHEMATHESIS") or "schemathesis"
    left_out = [word for path in LEFT_OUT | {"/api/reload"} for word in ("--exclude-path", path)]
    run = subprocess.run([program, "run", f"{admin.url}/api/openapi.json", "-H", f"Authorization: Bearer {admin.key}", *left_out, "--max-examples", "20",
                          "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
                          "--phases", "examples,coverage,fuzzing", "--no-color"], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
