"""/readyz and the audit: a file that takes no more records makes the gateway not ready, room makes it ready again."""

import os

from admin import Admin, with_admin
from client import get
from gateway import configuration
from test_audit_a_full_disk_does_not_stop_the_traffic import small_disk  # noqa: F401
from waiting import wait_until


def test_a_full_disk_is_not_ready(small_disk, gateway, upstream):  # noqa: F811
    upstream.on("GET", "/x", "ok")
    gw = gateway(with_admin(configuration(upstream, audit={"file": str(small_disk / "audit.jsonl")})))
    gw.expected_errors = [r"audit"]
    admin = Admin(gw)
    get(gw, "/x")
    gw.wait_audit(1)
    answer = admin.get("/readyz", key=False)
    assert answer.status == 200 and answer.json()["checks"]["audit"] == "ok"
    (small_disk / "filler").write_bytes(b"0" * (os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_bsize))

    def full():
        get(gw, "/x?" + "y" * 4000)
        answer = admin.get("/readyz", key=False)
        return answer if answer.status == 503 else None
    checks = wait_until(full, 10, "not ready").json()["checks"]
    assert checks["audit"] == "failing" and checks["started"] == "ok"
    assert admin.get("/livez", key=False).status == 200
    os.unlink(small_disk / "filler")

    def room():
        get(gw, "/x")
        return admin.get("/readyz", key=False).status == 200
    wait_until(room, 10, "ready again")
