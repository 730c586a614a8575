"""Holds records against the documented JSON Schema."""

import functools
import json
import os

from jsonschema import Draft202012Validator

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Sources", "CryoGateway", "CryoGateway.docc",
                    "audit-record.schema.json")


@functools.cache
def validator():
    with open(PATH, encoding="utf-8") as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    # Readers take members they do not know, but all that this version writes is to be documented.
    return Draft202012Validator({**schema, "additionalProperties": False})


def problems(record):
    """What is wrong, as texts."""
    return [f"{'.'.join(str(part) for part in error.absolute_path) or 'record'}: {error.message}"
            for error in validator().iter_errors(record)]
