"""A store file of another version, cut off, a directory, unreadable, on a full or read-only disk: named, kept, never overwritten in silence."""

import json
import os
import resource
import shutil
import stat
import subprocess
import tempfile

import pytest

from client import get
from gateway import binary, configuration, instrument_environment
from upstream import Answer
from waiting import wait_until

EXPECTED_LOG = [r"warning (token|session) "]

NOT_WRITTEN, WRITTEN_AGAIN = "can't be written", "is written again"
UNUSABLE = {
    "another version": '{"version":2,"token":"t","refresh_token":"r","expires_at":null}\n',
    "truncated": '{"version":1,"token":"t","refre',
    "empty": "",
    "a page": "<html>",
    "no token": '{"version":1,"token":null}',
    "too large": json.dumps({"version": 1, "token": "t", "filler": "x" * 300_000}),
}


@pytest.fixture
def start(gateway, upstream, endpoint):
    def make(store, **options):
        upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
        return gateway(configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.configuration(store)}), endpoint=endpoint,
                       **options)
    return make


def rotate(gw, endpoint):
    endpoint.revoke()
    assert get(gw, "/x").status == 200


def holds(store, endpoint):
    try:
        pair = json.loads(store.read_text())
    except (OSError, ValueError):
        return False
    return (pair["token"], pair["refresh_token"]) == (endpoint.access, endpoint.refresh)


@pytest.mark.parametrize("flaw", UNUSABLE)
def test_at_the_start_it_is_kept_aside(start, endpoint, tmp_path, flaw):
    store = tmp_path / "app.json"
    store.write_text(UNUSABLE[flaw])
    gw = start(store)
    assert (tmp_path / "app.json.corrupt").read_text() == UNUSABLE[flaw]
    assert gw.stderr().count(f"kept as {store}.corrupt") == 1
    rotate(gw, endpoint)
    assert holds(store, endpoint)
    assert (tmp_path / "app.json.corrupt").read_text() == UNUSABLE[flaw]


def test_later_too(start, endpoint, tmp_path):
    """A newer program has written the file while this one runs."""
    store = tmp_path / "app.json"
    gw = start(store)
    rotate(gw, endpoint)
    store.write_text(UNUSABLE["another version"])
    rotate(gw, endpoint)
    assert (tmp_path / "app.json.corrupt").read_text() == UNUSABLE["another version"]
    assert holds(store, endpoint)


def test_a_directory_in_its_place_later_is_left_alone_and_said(start, endpoint, tmp_path):
    store = tmp_path / "app.json"
    gw = start(store)
    store.mkdir()
    rotate(gw, endpoint)
    assert gw.stderr().count(NOT_WRITTEN) == 1 and "not a regular file" in gw.stderr()
    refused, renewed = gw.wait_audit(1)[0]["attempts"]
    assert "token_unwritten" not in refused and renewed["token_unwritten"] is True, "the record says it at once (B-04)"
    store.rmdir()
    wait_until(lambda: holds(store, endpoint), 15, "the pair on disk")
    wait_until(lambda: gw.stderr().count(WRITTEN_AGAIN) == 1, 5, "a line about the store")
    rotate(gw, endpoint)
    assert all("token_unwritten" not in attempt for attempt in gw.wait_audit(2)[1]["attempts"][1:])


def refused_start(folder, config, **options):
    """The gateway's words when it does not start."""
    file = os.path.join(folder, "cryonet.yaml")
    with open(file, "w", encoding="utf-8") as out:
        json.dump(config, out)
    os.chmod(file, 0o644)
    result = subprocess.run([binary(), "run", "--config", file], capture_output=True, text=True, timeout=20,
                            env={"PATH": "/usr/bin:/bin", "APP_TOKEN": "t", "APP_REFRESH_TOKEN": "r", **instrument_environment()}, **options)
    assert result.returncode == 1, result.stderr
    return result.stderr


def test_a_directory_in_its_place_stops_the_start(upstream, endpoint, tmp_path):
    store = tmp_path / "app.json"
    store.mkdir()
    words = refused_start(tmp_path, configuration(upstream, tokens={"app": endpoint.configuration(store)}))
    assert "it is not a regular file" in words and str(store) in words
    assert store.is_dir()


def test_a_file_that_cannot_be_read_stops_the_start(upstream, endpoint, tmp_path):
    store = tmp_path / "app.json"
    os.symlink("app.json", store)
    words = refused_start(tmp_path, configuration(upstream, tokens={"app": endpoint.configuration(store)}))
    assert f"the store {store} can't be read" in words
    assert store.is_symlink()


def test_a_file_of_somebody_else_stops_the_start(upstream, endpoint):
    folder = tempfile.mkdtemp(prefix="cryonet-test-")
    try:
        os.chmod(folder, 0o755)
        store = os.path.join(folder, "app.json")
        with open(store, "w", encoding="utf-8") as file:
            file.write('{"version":1,"token":"t"}')
        os.chmod(store, 0)
        options = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        words = refused_start(folder, configuration(upstream, tokens={"app": endpoint.configuration(store)}), **options)
        assert "can't be read" in words and "permission denied" in words
        assert os.stat(store).st_size == 25
    finally:
        shutil.rmtree(folder)


def test_a_file_that_others_may_read_is_used_said_and_closed_to_them(start, endpoint, tmp_path):
    store = tmp_path / "app.json"
    store.write_text(json.dumps({"version": 1, "token": endpoint.access, "refresh_token": endpoint.refresh, "expires_at": None}))
    os.chmod(store, 0o644)
    gw = start(store)
    assert "has the permissions 0644: others may read it" in gw.stderr()
    rotate(gw, endpoint)
    assert stat.S_IMODE(os.stat(store).st_mode) == 0o600


@pytest.fixture
def disk(tmp_path):
    """A small file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True, timeout=10).returncode:
        pytest.skip("mount is not permitted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False, timeout=10)


def goes_on_in_memory(gw, endpoint, store, before):
    """The token is used, the trouble said once, the old file left whole."""
    for _ in range(3):
        rotate(gw, endpoint)
    assert store.read_bytes() == before
    assert gw.stderr().count(NOT_WRITTEN) == 1


def test_a_full_disk_is_said_and_written_to_when_there_is_room(start, endpoint, disk):
    store = disk / "app.json"
    gw = start(store)
    rotate(gw, endpoint)
    before = store.read_bytes()
    with open(disk / "filler", "wb", buffering=0) as filler:
        with pytest.raises(OSError):
            while True:
                filler.write(b"0" * 512)
    goes_on_in_memory(gw, endpoint, store, before)
    assert "no space left" in gw.stderr()
    os.unlink(disk / "filler")
    wait_until(lambda: holds(store, endpoint), 15, "the pair on disk")
    wait_until(lambda: gw.stderr().count(WRITTEN_AGAIN) == 1, 5, "a line about the store")


def test_a_read_only_disk_is_said_and_written_to_later(start, endpoint, disk):
    store = disk / "app.json"
    gw = start(store)
    rotate(gw, endpoint)
    before = store.read_bytes()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True, timeout=10)
    goes_on_in_memory(gw, endpoint, store, before)
    assert "read-only file system" in gw.stderr()
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True, timeout=10)
    wait_until(lambda: holds(store, endpoint), 15, "the pair on disk")


def test_a_bound_on_file_sizes_does_not_end_the_gateway(start, endpoint, tmp_path):
    """Without care it would: the signal of RLIMIT_FSIZE ends a process."""
    store = tmp_path / "app.json"
    gw = start(store, audit=False)
    rotate(gw, endpoint)
    before = store.read_bytes()
    _, hard = resource.prlimit(gw.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(gw.pid, resource.RLIMIT_FSIZE, (64, hard))
    rotate(gw, endpoint)
    assert store.read_bytes() == before
    resource.prlimit(gw.pid, resource.RLIMIT_FSIZE, (hard, hard))
    wait_until(lambda: holds(store, endpoint), 15, "the pair on disk")
    wait_until(lambda: gw.stderr().count(WRITTEN_AGAIN) == 1, 5, "a line about the store")


def test_what_the_last_process_left_half_written_is_removed(start, endpoint, tmp_path):
    store = tmp_path / "app.json"
    ended = subprocess.Popen(["/bin/true"])
    ended.wait(10)
    (tmp_path / f"app.json.{ended.pid}.new").write_text('{"version":1,"tok')
    (tmp_path / f"app.json.{os.getpid()}.new").write_text("of a process that lives")
    (tmp_path / "app.json.old.new").write_text("not ours")
    start(store)
    assert sorted(os.listdir(tmp_path / ".")) == sorted(
        {"app.json.old.new", f"app.json.{os.getpid()}.new"} | {name for name in os.listdir(tmp_path) if not name.startswith("app.json")})
