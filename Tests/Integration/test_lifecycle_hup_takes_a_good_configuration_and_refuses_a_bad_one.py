"""HUP: a valid change applies to new exchanges, running ones keep theirs; with any problem all are printed and nothing changes. (B-30)"""

import threading

import pytest

from client import Client, get
from gateway import configuration, merged
from upstream import Answer
from waiting import wait_until


def test_a_good_change_applies(gateway, make_upstream):
    one, two = make_upstream(), make_upstream()
    gate = threading.Event()
    one.on("GET", "/x", "one").on("GET", "/slow", Answer(200, "still one", gate=gate))
    two.on("*", "/*", "two")
    gw = gateway(configuration(one))
    with Client(gw.port) as kept, Client(gw.port) as slow:
        assert kept.get("/x").body == b"one"
        slow.send_request("GET", "/slow")
        one.wait_requests(1, "/slow")
        gw.write_config(merged(gw.config, {"upstreams": {"api": {"url": two.url}}}))
        gw.hup()
        wait_until(lambda: get(gw, "/x").body == b"two", 5, "the new configuration")
        assert kept.get("/x").body == b"two"
        gate.set()
        assert slow.read_response().body == b"still one"


BROKEN = {
    "syntax": lambda config: "listen: {address: [",
    "unknown key": lambda config: merged(config, {"upstreams": {"api": {"ulr": "x"}}}),
    "unknown upstream": lambda config: merged(config, {"routes": [{"name": "api", "path": "/*", "upstream": "nobody"}]}),
    "no routes": lambda config: merged(config, {"routes": None}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_bad_file_changes_nothing(gateway, upstream, name):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    gw.expected_errors = [r"cryonet\.yaml|reload|configuration"]
    bad = BROKEN[name](gw.config)
    if isinstance(bad, str):
        with open(gw.config_file, "w", encoding="utf-8") as file:
            file.write(bad)
    else:
        gw.write_config(bad)
    with Client(gw.port) as client:
        assert client.get("/x").status == 200
        gw.hup()
        wait_until(lambda: "cryonet.yaml:" in gw.stderr(), 5, "the problems in the log")
        assert client.get("/x").status == 200
    assert get(gw, "/x").status == 200


def test_no_exchange_fails_while_reloading(gateway, upstream, endpoint):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "ok")))
    gw = gateway(configuration(upstream, route={"token": "app"}, workers=2, tokens={"app": endpoint.configuration()}), endpoint=endpoint)
    endpoint.revoke()
    stop, served = threading.Event(), []

    def load():
        with Client(gw.port) as client:
            while not stop.is_set():
                served.append(client.get("/x").status)
    threads = [threading.Thread(target=load, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for number in range(5):
        count = len(served)
        gw.write_config(merged(gw.config, {"limits": {"idle_timeout_ms": 60_000 + number}}))
        gw.hup()
        wait_until(lambda: len(served) > count + 50, 10, "load goes on")
    stop.set()
    for thread in threads:
        thread.join(10)
    assert set(served) == {200}
    assert len(endpoint.calls) == 1, "the token survives a reload"
