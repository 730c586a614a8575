"""Holds records against the documented JSON Schema: as much of draft 2020-12 as that file uses, and nothing it does not know passes."""

import functools
import json
import os
import re

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Sources", "CryoGateway", "CryoGateway.docc",
                    "audit-record.schema.json")
TYPES = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list, "null": type(None)}
KNOWN = {"$schema", "$id", "$defs", "$ref", "title", "description", "type", "required", "properties", "additionalProperties", "items",
         "minItems", "maxItems", "minimum", "minLength", "pattern", "enum", "const"}


@functools.cache
def schema():
    with open(PATH, encoding="utf-8") as file:
        return json.load(file)


def problems(value, rules=None, at="record"):
    """What is wrong, as texts. At the top, members that the schema does not name are wrong too: they are to be documented."""
    rules = schema() if rules is None else rules
    assert set(rules) <= KNOWN, f"the validator lacks {set(rules) - KNOWN}"
    if "$ref" in rules:
        return problems(value, schema()["$defs"][rules["$ref"].rpartition("/")[2]], at)
    found = []
    wanted = rules.get("type")
    names = [wanted] if isinstance(wanted, str) else wanted or []
    if names and not any(isinstance(value, TYPES[name]) and not (name == "integer" and isinstance(value, bool)) for name in names):
        return [f"{at}: {value!r} is no {wanted}"]
    if "const" in rules and value != rules["const"] or "enum" in rules and value not in rules["enum"]:
        found.append(f"{at}: {value!r}")
    if isinstance(value, str):
        if "pattern" in rules and not re.search(rules["pattern"], value) or len(value) < rules.get("minLength", 0):
            found.append(f"{at}: {value!r} does not fit")
    if isinstance(value, int) and value < rules.get("minimum", value):
        found.append(f"{at}: {value} is too small")
    if isinstance(value, list):
        if not rules.get("minItems", 0) <= len(value) <= rules.get("maxItems", len(value)):
            found.append(f"{at}: {len(value)} items")
        for index, item in enumerate(value):
            found += problems(item, rules.get("items", {}), f"{at}[{index}]")
    if isinstance(value, dict):
        found += [f"{at}: {name} is missing" for name in rules.get("required", []) if name not in value]
        more = rules.get("additionalProperties", at != "record")
        for name, item in value.items():
            if name in rules.get("properties", {}):
                found += problems(item, rules["properties"][name], f"{at}.{name}")
            elif isinstance(more, dict):
                found += problems(item, more, f"{at}.{name}")
            elif not more:
                found.append(f"{at}: {name} is not in the schema")
    return found
