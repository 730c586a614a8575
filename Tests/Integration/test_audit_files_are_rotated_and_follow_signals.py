"""Rotation by count under load with compression and retention, USR1 for logrotate, a second sink on the standard output
or in the system's log."""

import glob
import gzip
import json
import os
import signal
import socket
import stat

from client import Client, get
from gateway import configuration, read_text, records_of, run_command, together
from waiting import wait_until


def rotated(gw):
    """As a verification sees them: the end may have come while one was being compressed."""
    found = sorted(glob.glob(gw.audit_file.replace(".jsonl", "-*.jsonl")) + glob.glob(gw.audit_file.replace(".jsonl", "-*.jsonl.gz")))
    return [path for path in found if path + ".gz" not in found]


def test_rotation_loses_nothing_and_keeps_the_chain(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, audit={"rotate": {"max_records": 50, "keep": 0}}))

    def load(_index):
        with Client(gw.port) as client:
            return [client.get("/x").header("X-Request-Id") for _ in range(150)]
    ids = {identity for part in together(3, load) for identity in part}
    gw.term()
    assert gw.wait_exit() == 0
    texts = []
    for path in rotated(gw):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            texts.append(file.read())
    records = [record for text in [*texts, gw.audit_text()] for record in records_of(text)]
    assert len(records) == 450 and {record["id"] for record in records} == ids
    assert len(texts) >= 2
    outcome = run_command("audit", "verify", "--all", "--closed", gw.audit_file)
    assert outcome.returncode == 0, outcome.stdout
    outcome = run_command("audit", "verify", *reversed([*rotated(gw)[1:], gw.audit_file]))
    assert outcome.returncode == 0 and "are in files not given" in outcome.stdout
    if len(texts) > 2:
        outcome = run_command("audit", "verify", rotated(gw)[0], *rotated(gw)[2:], gw.audit_file)
        assert outcome.returncode == 1 and "truncated" in outcome.stdout


def test_only_so_many_files_are_kept_and_they_are_compressed(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, audit={"rotate": {"max_records": 1, "keep": 2}}))
    for _ in range(5):
        # Those of one batch stay together.
        identity = get(gw, "/x").header("X-Request-Id")
        wait_until(lambda: identity in gw.audit_text(), 5, "its record")
    wait_until(lambda: len(rotated(gw)) == 2 and all(path.endswith(".jsonl.gz") for path in rotated(gw)), 10, "two compressed files")


def test_usr1_opens_what_logrotate_moved(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    get(gw, "/x")
    gw.wait_audit(1)
    moved = gw.audit_file + ".1"
    os.rename(gw.audit_file, moved)
    os.kill(gw.pid, signal.SIGUSR1)
    wait_until(lambda: os.path.exists(gw.audit_file), 5, "the new file")
    get(gw, "/x")
    gw.wait_audit(1)
    gw.term()
    assert gw.wait_exit() == 0
    outcome = run_command("audit", "verify", "--closed", gw.audit_file, moved)
    assert outcome.returncode == 0, outcome.stdout


def test_the_chain_survives_a_move_while_nobody_runs(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    get(gw, "/x")
    gw.term()
    assert gw.wait_exit() == 0
    os.rename(gw.audit_file, gw.audit_file + ".1")
    gw.start()
    get(gw, "/x")
    gw.term()
    assert gw.wait_exit() == 0
    outcome = run_command("audit", "verify", "--json", gw.audit_file, gw.audit_file + ".1")
    assert outcome.returncode == 0 and '"records":2' in outcome.stdout, outcome.stdout


def test_a_second_sink_gets_the_same_lines(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, audit={"also": "stdout"}))
    for _ in range(5):
        get(gw, "/x")
    gw.term()
    assert gw.wait_exit() == 0
    assert gw.stdout() == gw.audit_text()


def test_the_system_s_log_gets_each_record_as_a_datagram(gateway, upstream, tmp_path):
    upstream.on("GET", "/x", "ok")
    path = str(tmp_path / "log")
    def listen():
        log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        log.settimeout(20)
        log.bind(path)
        return log
    gw = gateway(configuration(upstream, audit={"also": "syslog", "syslog_socket": path, "chain": "off"}))
    gw.expected_errors = [r"second sink: \d+ records were not taken"]
    get(gw, "/x")
    wait_until(lambda: "records were not taken" in gw.stderr(), 20, "a line about the log that is not there")
    with listen() as log:
        get(gw, "/x?b")
        first = log.recv(65_536)
    # The daemon is started anew: the next record finds its new socket.
    os.unlink(path)
    with listen() as log:
        get(gw, "/x?c")
        second = log.recv(65_536)
    gw.term()
    assert gw.wait_exit() == 0
    head = b"<134>cryonet[%d]: " % gw.pid
    lines = [line for line in gw.audit_text().splitlines() if '"id"' in line]
    assert len(lines) == 3, "a log that takes nothing takes nothing from the file"
    assert [first, second] == [head + line.encode() for line in lines[1:]]


def test_a_second_gateway_does_not_write_into_the_same_file(gateway, upstream):
    gw = gateway(configuration(upstream))
    config = configuration(upstream, audit={"file": gw.audit_file})
    other = os.path.join(gw.folder, "other.yaml")
    with open(other, "w", encoding="utf-8") as file:
        json.dump(config, file)
    outcome = run_command("run", "--config", other)
    assert outcome.returncode == 1 and "written by another gateway" in outcome.stderr
    assert read_text(gw.audit_file).count('"opened"') == 1
