"""The audit file on a full tmpfs: traffic goes on, no torn line, one warning that counts the drops, records again after room is made."""

import os
import subprocess

import pytest

from client import Client
from gateway import configuration, read_text
from waiting import wait_until


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True, timeout=10)
    if mounted.returncode:
        pytest.skip("mount is not permitted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False, timeout=10)


def test_a_full_disk_does_not_stop_the_traffic(small_disk, gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, audit={"file": str(small_disk / "audit.jsonl")}))
    gw.expected_errors = [r"audit"]
    (small_disk / "filler").write_bytes(b"0" * 40_000)
    with Client(gw.port) as client:
        for _ in range(400):
            assert client.get("/x").status == 200
        wait_until(lambda: "audit" in gw.stderr() and ("dropp" in gw.stderr() or "space" in gw.stderr()), 5, "a warning")
        warnings = [line for line in gw.stderr().splitlines() if "dropp" in line or "space" in line]
        assert len(warnings) <= 2, "one warning a minute"
        os.unlink(small_disk / "filler")
        count = read_text(small_disk / "audit.jsonl").count("\n")
        for _ in range(20):
            assert client.get("/x").status == 200
        wait_until(lambda: read_text(small_disk / "audit.jsonl").count("\n") > count, 5, "records after room was made")
    # Every line that ended is a whole record; the last may be on its way while it is read.
    assert len(gw.audit()) > count
