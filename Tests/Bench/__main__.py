"""scripts/bench: the gates, then the table."""
import argparse, os, resource, shutil, sys

import counts, rig, times

parser = argparse.ArgumentParser()
parser.add_argument("--quick", action="store_true", help="one short round: about a minute")
parser.add_argument("--counts", action="store_true", help="the gates only")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--seconds", type=int, default=3)
options = parser.parse_args()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000), hard))
bench = rig.Rig(os.environ["CRYONET_BINARY"])
try:
    broken = counts.judge(counts.run(bench, 300 if options.quick else 1000), counts.thresholds())
    print()
    if not options.counts:
        if not shutil.which("wrk"):
            raise SystemExit("bench: the load comes from wrk, and there is none (Debian package wrk)")
        rounds, seconds = (1, 1) if options.quick else (options.rounds, options.seconds)
        times.run(bench, rounds, seconds, 500 if options.quick else 5000)
finally:
    bench.close()
for line in broken:
    print("over its threshold:", line)
sys.exit(1 if broken else 0)
