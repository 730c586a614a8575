"""The new pair is in the store (0600, whole) when the replay reaches the upstream; it survives SIGKILL; r0, r1, r2 in this order.

When the store cannot be written, the token is still used and the trouble is said. (B-04, A06)
"""

import os
import stat

from client import get
from gateway import configuration
from upstream import Answer


def test_the_pair_is_on_disk_before_the_replay(gateway, upstream, endpoint, tmp_path):
    store = tmp_path / "state" / "app.json"
    store.parent.mkdir()
    seen = []

    def look(_request):
        seen.append((store.read_text(), stat.S_IMODE(os.stat(store).st_mode), sorted(os.listdir(store.parent))))
        return Answer(200, "in")
    upstream.on("GET", "/x", endpoint.guard(look))
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.configuration(store)}), endpoint=endpoint)
    endpoint.revoke()
    assert get(gw, "/x").status == 200
    text, mode, files = seen[-1]
    assert endpoint.access in text and endpoint.refresh in text
    assert mode == 0o600
    assert [name for name in files if name != "app.json" and "lock" not in name] == []


def test_rotation_goes_on_across_a_kill(gateway, upstream, endpoint, tmp_path):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    store = tmp_path / "app.json"
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.configuration(store)}), endpoint=endpoint)
    for _ in range(2):
        endpoint.revoke()
        assert get(gw, "/x").status == 200
    gw.kill()
    gw.start()
    assert get(gw, "/x").status == 200
    endpoint.revoke()
    assert get(gw, "/x").status == 200
    assert endpoint.calls == [endpoint.tokens[1], endpoint.tokens[3], endpoint.tokens[5]]


def test_a_store_that_cannot_be_written_is_said_and_the_token_used(gateway, upstream, endpoint, tmp_path):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    store = tmp_path / "state" / "app.json"
    store.parent.mkdir()
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.configuration(store)}), endpoint=endpoint)
    gw.expected_errors = [r"store|app\.json"]
    os.rename(store.parent, tmp_path / "moved")
    endpoint.revoke()
    assert get(gw, "/x").status == 200
    assert get(gw, "/x").status == 200
    assert len(endpoint.calls) == 1
    assert "app.json" in gw.stderr()
