"""What a failure made by the gateway looks like, judged member by member."""

MEMBERS = {"type", "title", "status", "detail", "instance", "kind", "message", "statusCode", "businessCode",
           "authenticationRevision", "responseData", "underlyingError", "reason", "step", "origin", "retryable", "attempts",
           "domain", "code", "requestId", "route"}
OPTIONAL_MEMBERS = {"responseDataEncoding", "responseDataTruncated", "codeName", "problems"}
KINDS = {"authenticationExpired", "http", "business", "network", "decoding", "cancelled", "interceptorMissing", "unknown"}


def assert_failure(response, status, reason=None, kind=None, step=None, **members):
    """The answer is failure JSON with exactly the known members; return it."""
    assert response.status == status, f"{response.status}, wanted {status}: {response.body[:400]!r}"
    assert response.complete, "the failure itself is cut"
    assert (response.header("Content-Type") or "").split(";")[0] == "application/problem+json", response.headers
    failure = response.json()
    assert set(failure) - OPTIONAL_MEMBERS == MEMBERS, sorted(set(failure) ^ MEMBERS)
    assert failure["kind"] in KINDS
    assert failure["status"] == status
    assert failure["type"] == "urn:cryonet:failure:" + failure["reason"]
    assert failure["detail"] == failure["message"]
    assert failure["message"], "a failure without a message"
    assert isinstance(failure["attempts"], int) and isinstance(failure["retryable"], bool)
    assert failure["origin"] in ("upstream", "gateway", "client"), failure["origin"]
    assert response.header("CryoNet-Failure") == f"{failure['kind']}/{failure['reason']}"
    assert response.header("X-Request-Id") == failure["requestId"]
    assert failure["instance"] == f"/exchanges/{failure['requestId']}"
    assert response.header("Proxy-Status"), response.headers
    for name, wanted in {"reason": reason, "kind": kind, "step": step}.items():
        assert wanted is None or failure[name] == wanted, f"{name} is {failure[name]!r}, wanted {wanted!r}"
    for name, wanted in members.items():
        assert failure[name] == wanted, f"{name} is {failure[name]!r}, wanted {wanted!r}"
    return failure


def assert_passed(response, status, body):
    """The answer is the upstream's own: status and bytes."""
    assert response.complete, f"cut after {len(response.body)} bytes ({response.ended})"
    assert response.status == status, f"{response.status}, wanted {status}: {response.body[:400]!r}"
    assert response.body == (body.encode() if isinstance(body, str) else body)
