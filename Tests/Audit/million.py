"""A million records, and each kind of tampering with one of them: what a verification finds, and how long it takes."""

import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Integration"))
import chained
from gateway import run_command


def main(count):
    wrong = 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        original, changed = os.path.join(folder, "audit.jsonl"), os.path.join(folder, "changed.jsonl")
        chained.write(original, count)
        size = os.path.getsize(original)
        for kind in ["untouched", *chained.KINDS]:
            path, expected = original, None
            if kind != "untouched":
                path, expected = changed, chained.tamper(original, changed, kind, count * 3 // 4)
            began = time.monotonic()
            outcome = run_command("audit", "verify", "--json", "--closed", path, timeout=600)
            seconds = time.monotonic() - began
            findings = [(f["kind"], f["line"], f["first_seq"], f["last_seq"], f["id"]) for f in json.loads(outcome.stdout)["findings"]]
            good = findings == ([expected] if expected else []) and outcome.returncode == (1 if expected else 0)
            wrong += not good
            print(f"{'good ' if good else 'WRONG'} {kind:14} {seconds:6.2f} s {size / seconds / 1e6:6.0f} MB/s  {findings}", flush=True)
    return wrong


sys.exit(1 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000) else 0)
