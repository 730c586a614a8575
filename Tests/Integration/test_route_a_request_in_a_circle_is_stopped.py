"""A gateway that is its own upstream stops the third pass of a request: 508; other gateways on the way are no circle."""

from client import get
from failures import assert_failure
from gateway import configuration


def test_a_circle_is_stopped(gateway, upstream):
    gw = gateway(configuration(upstream))
    gw.reload(configuration(gw.url, audit=gw.config["audit"]))
    # The innermost pass's failure, handed on by the others: its request id is the first pass's.
    response = get(gw, "/x")
    assert response.status == 508 and response.json()["reason"] == "loop_detected"
    assert response.header("CryoNet-Failure") == "http/loop_detected"
    records = gw.wait_audit(3)
    assert sorted(record["status"] for record in records) == [508, 508, 508]
    assert [record["steps"]["route"] for record in records].count("loop_detected") == 1


def test_gateways_in_a_row_are_no_circle(gateway, upstream, tmp_path):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    assert get(gw, "/x", [("Via", "1.1 cryonet, 1.1 cryonet, 1.1 cryonet-0")]).body == b"ok"
    seen = upstream.requests[0].header("Via").rpartition(", ")[2]
    assert seen.startswith("1.1 cryonet-")
    assert get(gw, "/x", [("Via", seen)]).body == b"ok"
    assert_failure(get(gw, "/x", [("Via", f"{seen}, 1.1 p, {seen}")]), 508, "loop_detected")
