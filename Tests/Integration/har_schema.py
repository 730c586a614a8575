"""HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/) as a JSON Schema. Members that begin with `_` are free by the specification."""

TEXT = {"type": "string"}
COMMENT = {"comment": TEXT}
# ISO 8601 with a zone, as the specification wants it.
MOMENT = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"}
SIZE = {"type": "integer", "minimum": -1}
TIME = {"type": "number", "minimum": 0}
PHASE = {"type": "number", "anyOf": [{"minimum": 0}, {"const": -1}]}


def of(required, **properties):
    """An object with these members, of which some must be there, and its own that begin with `_`."""
    return {"type": "object", "properties": {**properties, **COMMENT}, "required": required.split(), "patternProperties": {"^_": {}},
            "additionalProperties": False}


def many(items):
    return {"type": "array", "items": items}


PAIR = of("name value", name=TEXT, value=TEXT)
COOKIE = of("name value", name=TEXT, value=TEXT, path=TEXT, domain=TEXT, expires=MOMENT, httpOnly={"type": "boolean"}, secure={"type": "boolean"})
PARAMETER = of("name", name=TEXT, value=TEXT, fileName=TEXT, contentType=TEXT)
REQUEST = of(
    "method url httpVersion cookies headers queryString headersSize bodySize", method=TEXT,
    url={"type": "string", "pattern": r"^https?://[^/\s]+/\S*$"}, httpVersion=TEXT, cookies=many(COOKIE), headers=many(PAIR), queryString=many(PAIR),
    postData=of("mimeType text", mimeType=TEXT, params=many(PARAMETER), text=TEXT), headersSize=SIZE, bodySize=SIZE)
RESPONSE = of(
    "status statusText httpVersion cookies headers content redirectURL headersSize bodySize", status={"type": "integer", "minimum": 0, "maximum": 999},
    statusText=TEXT, httpVersion=TEXT, cookies=many(COOKIE), headers=many(PAIR), redirectURL=TEXT, headersSize=SIZE, bodySize=SIZE,
    content=of("size mimeType", size=SIZE, compression={"type": "integer"}, mimeType=TEXT, text=TEXT, encoding=TEXT))
ENTRY = of(
    "startedDateTime time request response cache timings", pageref=TEXT, startedDateTime=MOMENT, time=TIME, request=REQUEST, response=RESPONSE,
    cache=of("", beforeRequest={}, afterRequest={}), serverIPAddress=TEXT, connection=TEXT,
    timings=of("send wait receive", blocked=PHASE, dns=PHASE, connect=PHASE, send=TIME, wait=TIME, receive=TIME, ssl=PHASE))
HAR = {
    "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["log"], "additionalProperties": False,
    "properties": {"log": of("version creator entries", version={"const": "1.2"}, creator=of("name version", name=TEXT, version=TEXT),
                             browser=of("name version", name=TEXT, version=TEXT), pages=many({}), entries=many(ENTRY))}}
