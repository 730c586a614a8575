"""Reads llvm-cov's export, prints line coverage per module and group, and says whether the gates hold."""

import json
import os
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXCEPTIONS = Path(__file__).with_name("exceptions")
OVERALL_MIN = 90.0
# What an outsider's bytes, or a token's life, go through.
GROUPS = {
    "parsers": (["Sources/CryoHTTP/", "Sources/CryoJSON/", "Sources/CSimdJSON/"], 95.0),
    "refresh": (["Sources/CryoPipeline/Refresh/", "Sources/CryoPipeline/Token/", "Sources/CryoTokens/"], 95.0),
    "normalize": (["Sources/CryoPipeline/Normalize/"], 95.0),
}


def exceptions():
    """File → reason. A line is `Sources/…  reason`; an exception without a reason, or of no file, is an error."""
    found = {}
    for line in EXCEPTIONS.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        path, _, reason = line.partition(" ")
        if not reason.strip() or not (ROOT / path).is_file():
            sys.exit(f"Tests/Coverage/exceptions: no such file, or no reason: {line}")
        found[path] = reason.strip()
    return found


def files(export):
    """(path below the root, lines, covered lines) of every file of Sources."""
    for item in export["data"][0]["files"]:
        path = os.path.relpath(item["filename"], ROOT)
        if path.startswith("Sources/"):
            lines = item["summary"]["lines"]
            yield path, lines["count"], lines["covered"]


def share(lines, covered):
    return 100.0 * covered / lines if lines else 100.0


def main():
    left_out = exceptions()
    modules = defaultdict(lambda: [0, 0])
    groups = defaultdict(lambda: [0, 0])
    total = [0, 0]
    worst = []
    for path, lines, covered in files(json.load(sys.stdin)):
        if path in left_out:
            continue
        sums = [total, modules[path.split("/")[1]]]
        sums += [groups[name] for name, (prefixes, _) in GROUPS.items() if path.startswith(tuple(prefixes))]
        for item in sums:
            item[0] += lines
            item[1] += covered
        worst.append((lines - covered, share(lines, covered), path))

    print(f"{'module':20} {'lines':>7} {'covered':>8} {'%':>6}")
    for name, (lines, covered) in sorted(modules.items()):
        print(f"{name:20} {lines:7} {covered:8} {share(lines, covered):6.1f}")
    print(f"\n{'most lines missing':60} {'lines':>6} {'%':>6}")
    for missing, percent, path in sorted(worst, reverse=True)[:15]:
        print(f"{path:60} {missing:6} {percent:6.1f}")
    if left_out:
        print("\nnot counted")
        for path, reason in left_out.items():
            print(f"{path:60} {reason}")
    print(f"\n{'gate':20} {'least':>7} {'is':>8}")
    gates = [("overall", total, OVERALL_MIN)] + [(name, groups[name], least) for name, (_, least) in GROUPS.items()]
    failed = False
    for name, (lines, covered), least in gates:
        holds = lines > 0 and share(lines, covered) >= least
        failed |= not holds
        print(f"{name:20} {least:7.1f} {share(lines, covered):8.1f}{'' if holds else '   below'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
