"""kill -9 in the middle of runs under load: how old the oldest record is that was lost, and whether the chain still verifies."""

import json
import os
import random
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Integration"))
from client import Client, Ended
from gateway import Gateway, configuration, records_of, run_command
from upstream import Upstream

CLIENTS = 3


def load(gateway, answered, ended):
    try:
        with Client(gateway.port) as client:
            while not ended.is_set():
                reply = client.get("/x")
                answered.append((time.monotonic(), reply.header("X-Request-Id")))
    except (OSError, Ended):
        pass


def main(runs):
    upstream = Upstream()
    upstream.on("GET", "/x", "ok")
    oldest, lost, total, torn = 0.0, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(configuration(upstream), folder)
        for _ in range(runs):
            answered, ended = [], threading.Event()
            threads = [threading.Thread(target=load, args=(gateway, answered, ended), daemon=True) for _ in range(CLIENTS)]
            for thread in threads:
                thread.start()
            time.sleep(random.uniform(0.1, 0.5))
            gateway.kill()
            killed = time.monotonic()
            ended.set()
            for thread in threads:
                thread.join(20)
            text = gateway.audit_text()
            torn += not text.endswith("\n")
            written = {record["id"] for record in records_of(text)}
            gone = [killed - at for at, identity in answered if identity not in written]
            total, lost, oldest = total + len(answered), lost + len(gone), max([oldest, *gone])
            gateway.start()
        gateway.term()
        gateway.wait_exit()
        outcome = run_command("audit", "verify", "--json", "--closed", gateway.audit_file, timeout=120)
    upstream.stop()
    result = json.loads(outcome.stdout)
    print(f"{runs} kills, {total} answers, {lost} without a record, the oldest {oldest * 1000:.1f} ms before its kill, {torn} torn lines; "
          f"chain {'good' if result['good'] else result['findings']}, {result['records']} records")
    return 0 if result["good"] and oldest < 0.5 else 1


sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
