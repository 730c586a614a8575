"""No descriptor left: connections wait in the kernel, open ones are served on, the processor is left alone, and it goes on afterwards."""

import os
import resource
import subprocess
import threading

from client import Client
from failures import assert_failure
from gateway import Gateway, binary, configuration
from upstream import Answer
from waiting import wait_until

SPARE, CLIENTS = 6, 24
QUIET_SECONDS = 1.5
# A loop that spins takes all it can get; ten looks a second take next to nothing.
BUSY_SECONDS_MAX = 0.15


def limit_descriptors(gw, spare):
    """No more than `spare` beyond those it has, whatever it may have wished for; how many that is."""
    _, hard = resource.prlimit(gw.pid, resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir(f"/proc/{gw.pid}/fd"))
    resource.prlimit(gw.pid, resource.RLIMIT_NOFILE, (highest + 1 + spare, hard))
    return highest + 1 + spare


def test_without_descriptors_it_waits_and_recovers(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, workers=1))
    before = gw.descriptors()
    with Client(gw.port) as first:
        assert first.get("/x").status == 200
        full = limit_descriptors(gw, SPARE)
        clients = [Client(gw.port) for _ in range(CLIENTS)]
        wait_until(lambda: gw.descriptors() == full, 10, "every descriptor is in use")
        accepted = [client for client in clients if any_has_accepted(gw, client)]
        waiting = clients[len(accepted):]
        assert accepted == clients[:len(accepted)] and waiting
        used = gw.processor_seconds()
        for client in waiting:
            client.send_request("GET", "/x")
        # The last one in the queue has no descriptor, and nobody spins over it.
        clients[-1].assert_silent(QUIET_SECONDS)
        busy = gw.processor_seconds() - used
        assert busy < BUSY_SECONDS_MAX, f"{busy} s of processor time in {QUIET_SECONDS} s"
        assert gw.descriptors() == full
        # On an open connection, over the pooled one to the upstream.
        assert first.get("/x").status == 200
        # Each one that leaves makes room for the next.
        for leaving, client in zip([accepted[0], *waiting], waiting):
            leaving.close()
            assert client.read_response().body == b"ok"
        for client in clients:
            client.close()
    wait_until(lambda: gw.descriptors() <= before + 2, 5, "descriptors as before")
    gw.wait_audit(len(waiting) + 2)


def test_it_recovers_when_nothing_else_has_used_a_timer(gateway, upstream):
    """The listener's own rest needs a timer, and the first timer needs a descriptor."""
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, workers=1), audit=False)
    full = limit_descriptors(gw, SPARE)
    clients = [Client(gw.port) for _ in range(CLIENTS)]
    wait_until(lambda: gw.descriptors() == full, 10, "every descriptor is in use")
    for client in clients[:-1]:
        client.close()
    assert clients[-1].get("/x").body == b"ok"
    clients[-1].close()


def test_term_ends_it_also_without_descriptors(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, workers=1))
    with Client(gw.port) as first:
        assert first.get("/x").status == 200
        limit_descriptors(gw, 1)
        clients = [Client(gw.port) for _ in range(8)]
        wait_until(lambda: any_has_accepted(gw, clients[0]), 5, "the last descriptor is in use")
        first.send_request("GET", "/x")
        assert first.read_response().status == 200
        # With a connection waiting that can't be taken: the listener is at rest.
        gw.term()
        assert gw.wait_exit() == 0
        for client in clients:
            client.close()


def test_no_descriptor_for_the_upstream_is_a_failure_of_that_exchange(gateway, upstream):
    gate = threading.Event()
    upstream.on("GET", "/slow", Answer(200, "slow", gate=gate))
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, workers=1))
    with Client(gw.port) as one, Client(gw.port) as other:
        other.send_request("GET", "/slow")
        upstream.wait_requests(1)
        # What is opened once, at the first use, is there after these.
        assert one.get("/x").status == 200
        one.send_request("GET", "/slow")
        upstream.wait_requests(3)
        with Client(gw.port) as third:
            third.send("GET /x HTTP/1.1\r\nHost: localhost\r\n")
            wait_until(lambda: gw.descriptors() > 0)
            third.send("X-Wait: 1\r\n")
            wait_until(lambda: any_has_accepted(gw, third), 5, "the third client is accepted")
            limit_descriptors(gw, 0)
            third.send("\r\n")
            response = third.read_response()
            failure = assert_failure(response, 502, kind="network", step="forward")
            assert failure["reason"] in ("connect_refused", "upstream_dns_failed"), failure
            gate.set()
            # The others never noticed, and their connections serve again.
            assert one.read_response().body == b"slow" and other.read_response().body == b"slow"
            assert third.get("/x").status == 200


def any_has_accepted(gw, client):
    """Whether the gateway has the other end of that client's connection among its descriptors."""
    port = client.socket.getsockname()[1]
    with open(f"/proc/{gw.pid}/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.read().splitlines()[1:]]
    inodes = {row[9] for row in rows if row[2].endswith(f":{port:04X}") and row[1].endswith(f":{gw.port:04X}")}
    return any(f"socket:[{inode}]" in links(gw) for inode in inodes)


def links(gw):
    found = set()
    for name in os.listdir(f"/proc/{gw.pid}/fd"):
        try:
            found.add(os.readlink(f"/proc/{gw.pid}/fd/{name}"))
        except FileNotFoundError:
            pass
    return found


def test_the_soft_limit_is_raised_to_the_hard_one(gateway, upstream):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        gw = gateway(configuration(upstream, limits={"connections_max": 100}))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert resource.prlimit(gw.pid, resource.RLIMIT_NOFILE) == (hard, hard)
    assert "descriptors" not in gw.stderr()


def test_fewer_descriptors_than_connections_are_told_at_the_start(upstream, tmp_path):
    gw = Gateway(configuration(upstream), tmp_path, start=False)
    command = ["prlimit", "--nofile=200:300", binary(), "run", "--config", gw.config_file, "--ready-file", gw.ready_file]
    with open(gw.stderr_file, "wb") as err:
        gw.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=err, stderr=err, env=gw.env, cwd=gw.folder)
    gw.wait_ready()
    gw.expected_errors = [r"only 300 descriptors may be open"]
    gw.finish()
    assert "warning limits.connections_max is 10000, but only 300 descriptors may be open" in gw.stderr()
