"""Verifies HTTP Message Signatures (RFC 9421) and Content-Digest (RFC 9530) as an upstream would. Shares no code with the product."""

import base64
import hashlib
import hmac
import re
import time

COMPONENT = r'"(?P<name>(?:[^"\\]|\\.)*)"'
PARAMETER = r';(?P<key>[a-z*][a-z0-9_.*-]*)=(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<number>-?[0-9]+))'


class Rejected(AssertionError):
    """The signature does not hold."""


def parse_input(value):
    """label=(components);parameters: the label, the components, the parameters, and the text that is signed."""
    match = re.fullmatch(r'(?P<label>[a-z*][a-z0-9_.*-]*)=(?P<rest>\((?P<list>[^)]*)\)(?P<parameters>.*))', value)
    if not match:
        raise Rejected(f"Signature-Input is not one inner list: {value!r}")
    components = [item["name"] for item in re.finditer(COMPONENT, match["list"])]
    if " ".join(f'"{name}"' for name in components) != match["list"]:
        raise Rejected(f"odd components: {match['list']!r}")
    parameters, rest = {}, match["parameters"]
    while rest:
        item = re.match(PARAMETER, rest)
        if not item or item["key"] in parameters:
            raise Rejected(f"odd parameters: {match['parameters']!r}")
        text = item["text"]
        parameters[item["key"]] = int(item["number"]) if text is None else re.sub(r"\\(.)", r"\1", text)
        rest = rest[item.end():]
    return match["label"], components, parameters, match["rest"]


def component_value(request, name, scheme):
    path, mark, query = request.target.partition("?")
    authority = request.header("Host").lower()
    authority = re.sub(r":80$" if scheme == "http" else r":443$", "", authority)
    derived = {"@method": request.method, "@authority": authority, "@scheme": scheme, "@request-target": request.target,
               "@target-uri": f"{scheme}://{authority}{request.target}", "@path": path or "/", "@query": "?" + query}
    if name in derived:
        return derived[name]
    if name.startswith("@") or not request.all(name):
        raise Rejected(f"{name} is covered, but not there")
    return ", ".join(value.strip() for value in request.all(name))


def signature_base(request, components, parameters_text, scheme="http"):
    if len(set(components)) != len(components):
        raise Rejected("a component is covered twice")
    lines = [f'"{name}": {component_value(request, name, scheme)}' for name in components]
    return "\n".join([*lines, f'"@signature-params": {parameters_text}'])


def verify(request, key, label="cryonet", scheme="http", must_cover=()):
    """The covered components and the parameters of a signature that holds."""
    name, components, parameters, text = parse_input(request.header("Signature-Input"))
    match = re.fullmatch(r"(?P<label>[^=]+)=:(?P<code>[A-Za-z0-9+/]+={0,2}):", request.header("Signature"))
    if name != label or not match or match["label"] != label:
        raise Rejected(f"no signature {label}: {request.header('Signature')!r}")
    wanted = hmac.new(key, signature_base(request, components, text, scheme).encode("latin-1"), hashlib.sha256).digest()
    if not hmac.compare_digest(wanted, base64.b64decode(match["code"], validate=True)):
        raise Rejected("the signature is another one")
    if parameters.get("alg", "hmac-sha256") != "hmac-sha256":
        raise Rejected("another algorithm")
    if abs(time.time() - parameters["created"]) > 60 or parameters.get("expires", time.time()) < time.time() - 1:
        raise Rejected("too old, or from the future")
    missing = set(must_cover) - set(components)
    if missing:
        raise Rejected(f"{sorted(missing)} must be covered")
    if "content-digest" in components:
        wanted = base64.b64encode(request.digest.digest()).decode()
        if request.header("Content-Digest") != f"sha-256=:{wanted}:":
            raise Rejected("the body is another one")
    return components, parameters
