"""kill -9 under load, and again: only what was answered in the last moment has no record, half a line may be left, and the next start goes
on with the chain and says so."""

import threading
import time

from client import Client, Ended
from gateway import configuration, records_of, run_command
from waiting import wait_until

RUNS = 5
# A record is in the file 20 ms after its exchange; the rest is for a slow machine.
WINDOW_SECONDS = 0.5


def test_a_kill_loses_a_batch_at_most(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    answered = []
    for run in range(RUNS):
        began = time.monotonic()
        before = len(answered)
        ended = threading.Event()

        def load():
            try:
                with Client(gw.port) as client:
                    while not ended.is_set():
                        reply = client.get("/x")
                        answered.append((time.monotonic(), reply.header("X-Request-Id")))
            except (OSError, Ended):
                pass
        threads = [threading.Thread(target=load, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        length = 2 * WINDOW_SECONDS + 0.013 * run
        wait_until(lambda: len(answered) > before + 20 and time.monotonic() > began + length, 20, "some answers")
        gw.kill()
        killed = time.monotonic()
        ended.set()
        for thread in threads:
            thread.join(20)
        written = {record["id"] for record in records_of(gw.audit_text())}
        lost = [at for at, identity in answered[before:] if identity not in written and at < killed - WINDOW_SECONDS]
        assert not lost, f"{len(lost)} records are lost, the oldest {killed - min(lost)} s old"
        gw.start()
    gw.term()
    assert gw.wait_exit() == 0
    outcome = run_command("audit", "verify", "--json", "--closed", gw.audit_file)
    assert outcome.returncode == 0, outcome.stdout
    assert sum('"audit":"opened"' in line for line in gw.audit_text().splitlines()) == RUNS + 1
