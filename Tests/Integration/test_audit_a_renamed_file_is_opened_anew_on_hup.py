"""mv under load, then HUP: a new file (0600), no record lost, torn or doubled across the two. (B-31)"""

import os
import stat
import threading

from client import Client
from gateway import configuration, read_text, records_of
from waiting import wait_until

CLIENTS, EACH = 4, 200


def test_a_renamed_file_is_opened_anew_on_hup(gateway, upstream):
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream))
    old = gw.audit_file + ".1"
    half, finish = threading.Barrier(CLIENTS + 1), threading.Event()

    def load():
        with Client(gw.port) as client:
            for number in range(EACH):
                if number == EACH // 2:
                    half.wait(20)
                    finish.wait(20)
                assert client.get("/x").status == 200
    threads = [threading.Thread(target=load, daemon=True) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    half.wait(20)
    os.rename(gw.audit_file, old)
    finish.set()
    gw.hup()
    for thread in threads:
        thread.join(30)
    wait_until(lambda: os.path.exists(gw.audit_file), 5, "the new audit file")

    def all_records():
        found = records_of(read_text(old)) + records_of(read_text(gw.audit_file))
        return found if len(found) >= CLIENTS * EACH else None
    ids = [record["id"] for record in wait_until(all_records, 10, "all records")]
    assert len(ids) == len(set(ids)) == CLIENTS * EACH
    assert stat.S_IMODE(os.stat(gw.audit_file).st_mode) == 0o600
    with Client(gw.port) as client:
        client.get("/x")
    wait_until(lambda: records_of(read_text(gw.audit_file)), 5, "a record in the new file")
