"""on_full: refuse completes no reply without its record, block makes exchanges wait; both go on when there is room again."""

import json
import os
import subprocess
import threading

import pytest

from client import Client
from gateway import configuration, records_of, read_text, run_command
from upstream import Answer
from waiting import wait_until

EXPECTED_LOG = [r"audit"]
# More than are answered before a batch has failed.
EACH = 400


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, timeout=10)
    if mounted.returncode:
        pytest.skip("mount is not permitted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False, timeout=10)


def fill(place):
    with open(place / "filler", "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"0" * 1024)
        except OSError:
            pass


@pytest.mark.parametrize("sync", ["never", "always"])
def test_with_refuse_there_is_no_whole_reply_without_a_record(small_disk, gateway, upstream, sync):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, audit={"file": str(small_disk / "audit.jsonl"), "on_full": "refuse", "sync": sync}))
    answered = []
    with Client(gw.port) as client:
        for _ in range(5):
            reply = client.get("/x")
            assert reply.status == 200
            # Not later: when the reply is here, so is the record.
            assert reply.header("X-Request-Id") in {record["id"] for record in records_of(read_text(small_disk / "audit.jsonl"))}
        fill(small_disk)
        for _ in range(100):
            reply = client.get("/x")
            assert reply.status in (200, 503)
            if reply.status == 200:
                answered.append(reply.header("X-Request-Id"))
            else:
                assert reply.json()["reason"] == "audit_unavailable" and reply.header("Retry-After") == "1"
        assert reply.status == 503
        reached = len(upstream.requests)
        for _ in range(5):
            assert client.get("/x").status == 503
        assert len(upstream.requests) == reached, "nothing goes to the upstream while no record can be written"
        os.unlink(small_disk / "filler")
        wait_until(lambda: client.get("/x").status == 200, 10, "an answer after room was made")
    written = {record["id"] for record in records_of(read_text(small_disk / "audit.jsonl"))}
    assert set(answered) <= written
    gw.term()
    assert gw.wait_exit() == 0
    outcome = run_command("audit", "verify", "--json", "--closed", gw.audit_file)
    assert outcome.returncode == 0, outcome.stdout


def test_with_refuse_events_come_as_they_are_sent(gateway, upstream):
    upstream.on("*", "/long", Answer(200, body=b"x" * 300_000)).on("GET", "/chunks", Answer(200, chunks=[b"one", b"two"]))
    gw = gateway(configuration(upstream, audit={"on_full": "refuse"}))
    with Client(gw.port) as client:
        assert client.get("/long").body == b"x" * 300_000
        assert client.get("/chunks").body == b"onetwo"
        assert client.request("HEAD", "/long").status == 200
    assert len(gw.wait_audit(3)) == 3


def test_with_block_exchanges_wait_for_room(small_disk, gateway, upstream):
    upstream.on("POST", "/x", "ok")
    gw = gateway(configuration(upstream, audit={"file": str(small_disk / "audit.jsonl"), "on_full": "block", "patience_ms": 60_000}))
    fill(small_disk)
    statuses = []

    def load():
        with Client(gw.port) as client:
            for _ in range(EACH):
                statuses.append(client.request("POST", "/x", body=b"a body").status)
    thread = threading.Thread(target=load, daemon=True)
    thread.start()
    wait_until(lambda: "exchanges wait" in gw.stderr(), 10, "a warning")
    assert len(statuses) < EACH
    os.unlink(small_disk / "filler")
    thread.join(30)
    assert statuses == [200] * EACH
    assert len(gw.wait_audit(EACH)) == EACH
    assert all(request.body == b"a body" for request in upstream.requests)


def test_with_block_patience_has_an_end(small_disk, gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, audit={"file": str(small_disk / "audit.jsonl"), "on_full": "block", "patience_ms": 200}))
    fill(small_disk)
    with Client(gw.port) as client:
        wait_until(lambda: client.get("/x").status == 503, 10, "a refusal")
        os.unlink(small_disk / "filler")
        wait_until(lambda: client.get("/x").status == 200, 10, "an answer")
    for line in read_text(small_disk / "audit.jsonl").splitlines():
        json.loads(line)
