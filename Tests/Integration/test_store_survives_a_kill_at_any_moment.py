"""SIGKILL at seeded moments of rotations: each time the file holds one whole pair, and the next start goes on with it. (B-04, A06)

The moments are spread over the whole rotation: before the endpoint is asked, while it answers, while the file is written, after it.
"""

import json
import os
import random
import threading
import time

import pytest

from client import Ended, Client, get
from gateway import configuration
from token_endpoint import TokenEndpoint
from upstream import Answer

EXPECTED_LOG = [r"warning (token|session) "]

IS_LONG = os.environ.get("CRYONET_LONG") == "1"
KILLS = 1000 if IS_LONG else 200
SECONDS = 800 if IS_LONG else 40
SEED = int(os.environ.get("CRYONET_SEED", "20261130"))


class Rotations(threading.Thread):
    """Lets the token die and asks again, until the gateway is gone."""

    def __init__(self, gateway, endpoint):
        super().__init__(daemon=True)
        self.gateway, self.endpoint = gateway, endpoint
        self.answered = None
        self.unexpected = []

    def run(self):
        try:
            with Client(self.gateway.port) as client:
                while True:
                    self.endpoint.revoke()
                    answer = client.get("/x")
                    if answer.status != 200:
                        self.unexpected.append((answer.status, answer.body))
                    self.answered = answer.body.decode()
        except (Ended, OSError):
            return


@pytest.mark.deadline(SECONDS + 60)
def test_the_file_holds_a_whole_pair_and_the_next_start_goes_on(gateway, upstream, tmp_path, capsys):
    endpoint = TokenEndpoint(upstream, grace=True)
    upstream.on("GET", "/x", endpoint.guard(lambda request: Answer(200, request.header("Authorization").split()[1])))
    store = tmp_path / "state" / "app.json"
    store.parent.mkdir()
    tokens = endpoint.configuration(store, refresh={"window": {"seconds": 1, "max": 1000}})
    gw = gateway(configuration(upstream, route={"token": "app"}, tokens={"app": tokens}), endpoint=endpoint, audit=False)
    chance = random.Random(SEED)
    kills = behind = 0
    end = time.monotonic() + SECONDS
    while kills < KILLS and time.monotonic() < end:
        known = endpoint.access
        rotations = Rotations(gw, endpoint)
        calls = len(endpoint.calls)
        rotations.start()
        endpoint.wait_calls(calls + chance.randint(1, 3))
        # Most of what follows the endpoint's answer happens within a few milliseconds.
        time.sleep(chance.choice([0.002, 0.005, 0.01, 0.03]) * chance.random())
        gw.kill()
        rotations.join(20)
        kills += 1
        assert not rotations.is_alive() and not rotations.unexpected, (SEED, kills, rotations.unexpected)
        behind += check_store(store, endpoint, rotations.answered or known, kills)
        gw.start()
        assert [name for name in os.listdir(store.parent) if name != "app.json"] == [], "a start leaves nothing of its predecessor"
        answer = get(gw, "/x")
        assert answer.status == 200, (SEED, kills, answer.body, gw.stderr()[-2000:])
    with capsys.disabled():
        print(f" [{kills} kills, {len(endpoint.calls)} refreshes, {behind} between the endpoint's answer and the disk; seed {SEED}]", end="")
    assert kills >= min(KILLS, 20)
    assert "corrupt" not in gw.stderr() and "expired, log in again" not in gw.stderr()


def check_store(store, endpoint, answered, kills):
    """The pair belongs together and is not older than what a client has seen; 1 if the endpoint is one pair ahead."""
    if not store.exists():
        assert answered == endpoint.tokens[0], (SEED, kills)
        return 0
    text = store.read_text()
    pair = json.loads(text)
    position = endpoint.tokens.index(pair["token"])
    assert pair["version"] == 1 and endpoint.tokens[position + 1] == pair["refresh_token"], (SEED, kills, text)
    if answered in endpoint.tokens:
        assert position >= endpoint.tokens.index(answered), f"a client has seen a later token than the disk (seed {SEED}, kill {kills})"
    ahead = (len(endpoint.tokens) - 2 - position) // 2
    assert ahead in (0, 1), (SEED, kills, ahead)
    return ahead


@pytest.fixture
def cut(gateway, upstream, tmp_path):
    """A gateway that is killed when the endpoint has rotated and before it knows; then started again."""
    def make(grace):
        endpoint = TokenEndpoint(upstream, grace=grace)
        upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
        config = configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.configuration(tmp_path / "app.json")})
        gw = gateway(config, endpoint=endpoint)
        endpoint.revoke()
        assert get(gw, "/x").status == 200

        def answer_and_kill(request):
            answer = endpoint.answer(request)
            gw.kill()
            return answer
        upstream.on("POST", endpoint.path, answer_and_kill)
        endpoint.revoke()
        with pytest.raises((Ended, OSError)):
            get(gw, "/x")
        upstream.on("POST", endpoint.path, endpoint.answer)
        gw.start()
        assert gw.stderr().count("the last process ended while it refreshed") == 1
        return gw, endpoint
    return make


def test_in_the_window_an_endpoint_with_a_grace_period_goes_on(cut):
    gw, _ = cut(grace=True)
    assert get(gw, "/x").status == 200


def test_in_the_window_a_strict_endpoint_ends_the_login_and_a_new_one_begins(cut, tmp_path):
    """No client can know an answer it never got: the refresh token is used up. It is presented once, the end is said, and nothing is lost."""
    gw, endpoint = cut(grace=False)
    assert get(gw, "/x").status == 401
    assert get(gw, "/x").status == 401
    assert len(endpoint.calls) == 3
    assert "expired, log in again" in gw.stderr()
    assert endpoint.tokens[3] in (tmp_path / "app.json.rejected").read_text()
    assert not (tmp_path / "app.json").exists()
    gw.term()
    assert gw.wait_exit() == 0
    gw.env.update({"APP_TOKEN": endpoint.tokens[-2], "APP_REFRESH_TOKEN": endpoint.tokens[-1]})
    gw.start()
    endpoint.revoke()
    assert get(gw, "/x").status == 200
