"""CPU per request with and without the audit, interleaved in one run, so that a busy neighbour hits all of them."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Bench"))
import rig
import times

AUDITS = {"off": None, "no chain": {"chain": "off"}, "chain": {}, "chain, no gzip": {"rotate": "{ gzip: false }"}, "signed": {"signing_key": "audit.key"}, "bodies of all": {"bodies": "all"}}


def start(bench, name, audit):
    port = rig.free_port()
    lines = [f"listen: {{ address: 127.0.0.1:{port} }}", "workers: 1", f"upstreams: {{ api: {{ url: 'http://127.0.0.1:{bench.port}' }} }}",
             "tokens: { app: { static: { token: env:BENCH_TOKEN } } }", "routes: [{ name: api, path: /*, upstream: api, token: app }]"]
    if audit is not None:
        members = {"file": f"{bench.folder}/{port}.jsonl", **audit}
        lines.append("audit: { " + ", ".join(f"{key}: {value}" for key, value in members.items()) + " }")
    path = bench.write(f"{port}.yaml", "\n".join(lines) + "\n")
    return bench.start([bench.binary, "run", "--config", path], port, cpu=bench.proxy_cpu, environment={"BENCH_TOKEN": rig.TOKEN})


def main(binary, rounds, seconds):
    bench = rig.Rig(binary)
    try:
        samples = times.interleave(bench, {name: start(bench, name, audit) for name, audit in AUDITS.items()}, "/s", rounds, seconds)
        without = samples["off"]
        for name, sample in samples.items():
            differences = sorted(one - other for one, other in zip(sample.cpu, without.cpu))
            print(f"{name:14} {sample.median('cpu'):6.2f} µs CPU/request, {differences[len(differences) // 2]:+5.2f} µs with the audit")
        difference = sorted(one - other for one, other in zip(samples["chain"].cpu, without.cpu))[rounds // 2]
        return 0 if difference <= 3 else 1
    finally:
        bench.close()


sys.exit(main(os.environ["CRYONET_BINARY"], int(sys.argv[1]) if len(sys.argv) > 1 else 7, int(sys.argv[2]) if len(sys.argv) > 2 else 3))
