"""Reported, not gated: CPU per request and latency beside the peers that are installed, as ratios inside one interleaved run."""
import json, os, re, shutil, socket, statistics, subprocess, sys, time

import counts, rig

DIGITS = {"us": 1, "ms": 1_000, "s": 1_000_000}


def wrk(bench, port, path, seconds, connections, script=None):
    """Requests, requests/s, and p50 and p99 in µs."""
    command = ["taskset", "-c", str(bench.load_cpu), "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    if script:
        command += ["-s", script]
    text = subprocess.run(command + [f"http://127.0.0.1:{port}{path}"], check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit(f"bench: wrong answers from {port}{path}:\n{text}")
    latency = {int(p): float(v) * DIGITS[u] for p, v, u in re.findall(r"^\s+(50|99)%\s+([\d.]+)(us|ms|s)", text, re.M)}
    return int(re.search(r"(\d+) requests in", text)[1]), float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]), latency[50], latency[99]


class Sample:
    def __init__(self): self.cpu, self.rate, self.p50, self.p99 = [], [], [], []

    def add(self, bench, process, path, seconds, connections, script=None):
        before = process.cpu_seconds() if process else 0
        requests, rate, p50, p99 = wrk(bench, process.port if process else bench.port, path, seconds, connections, script)
        self.cpu.append(((process.cpu_seconds() if process else 0) - before) / max(1, requests) * 1e6)
        self.rate.append(rate)
        self.p50.append(p50)
        self.p99.append(p99)

    def median(self, name): return statistics.median(getattr(self, name))


def interleave(bench, targets, path, rounds, seconds, connections=32, script=None):
    """{name: Sample}; each round visits every target, so that a busy neighbour hits all of them."""
    samples = {name: Sample() for name in targets}
    for process in targets.values():
        wrk(bench, process.port if process else bench.port, path, 1, connections, script)
    for _ in range(rounds):
        for name, process in targets.items():
            samples[name].add(bench, process, path, seconds, connections, script)
    return samples


def added(samples, direct):
    """The latencies over those of `direct` in the same round."""
    over = {}
    for name, sample in samples.items():
        over[name] = Sample()
        over[name].p50 = [a - b for a, b in zip(sample.p50, samples[direct].p50)]
        over[name].p99 = [a - b for a, b in zip(sample.p99, samples[direct].p99)]
    return over


class Table:
    def __init__(self): self.rows = []

    def compare(self, label, samples, mine, peer, target, measure="cpu", unit="µs CPU/request", atLeast=False):
        """mine ≤ target × peer, or ≥; nothing when there is no such peer, no verdict without a target."""
        if peer not in samples:
            return
        ratios = [a / b for a, b in zip(getattr(samples[mine], measure), getattr(samples[peer], measure)) if b]
        ratio = round(statistics.median(ratios), 2) if ratios else float("nan")
        goal, verdict = "", ""
        if target is not None:
            goal = f"{'≥' if atLeast else '≤'} {target:.2f}"
            verdict = "met" if (ratio >= target if atLeast else ratio <= target) else "MISSED"
        mine, peer = f"{samples[mine].median(measure):.1f}", f"{peer} {samples[peer].median(measure):.1f}"
        self.rows.append((label, mine, peer, unit, f"{ratio:.2f}", goal, verdict))

    def note(self, label, value, target="", isMet=None):
        self.rows.append((label, value, "", "", "", target, "" if isMet is None else "met" if isMet else "MISSED"))

    def show(self):
        head = ("scenario", "cryonet", "peer", "unit", "ratio", "target", "verdict")
        widths = [max(len(row[i]) for row in [head, *self.rows]) for i in range(len(head))]
        for row in [head, tuple("-" * w for w in widths), *self.rows]:
            print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")


def idle(bench, process, count):
    """RSS per idle client connection, KiB. Each has made one request."""
    request = counts.GET % b"/s"
    counts.Client(process.port).exchange(request)
    before = process.rss_kib()
    sockets = []
    for _ in range(count):
        client = counts.Client(process.port)
        client.exchange(request)
        sockets.append(client)
    time.sleep(0.5)
    grown = process.rss_kib() - before
    for client in sockets:
        client.socket.close()
    return grown / count


def events(bench, rounds, seconds, streams=50):
    """{name: Sample} with the delays of events in µs."""
    port = bench.event_source()
    targets = {"all policies": bench.cryonet(upstream_port=port), "nginx": bench.nginx_proxy(upstream_port=port, unbuffered=True)}
    samples = {name: Sample() for name in targets}
    for _ in range(rounds):
        for name, process in targets.items():
            command = ["taskset", "-c", str(bench.load_cpu), sys.executable, f"{rig.HERE}/events.py", "read", str(process.port), str(streams)]
            answer = json.loads(subprocess.run(command + [str(seconds)], check=True, capture_output=True, text=True).stdout)
            samples[name].p50.append(answer["p50"])
            samples[name].p99.append(answer["p99"])
    return samples


def stripped_bytes(bench):
    copy = f"{bench.folder}/stripped"
    subprocess.run(["strip", "-o", copy, bench.binary], check=True)
    return os.path.getsize(copy)


def run(bench, rounds, seconds, connections_idle):
    table = Table()
    judged, plain = bench.cryonet(policies=True), bench.cryonet(policies=False)
    transfers = bench.cryonet(policies=True, environment={"CRYONET_FORWARDER": "libcurl"})
    table.note("start to first connection", f"{judged.start_ms:.0f} ms", "≤ 30 ms", judged.start_ms <= 30)
    table.note("RSS at rest", f"{judged.rss_kib() / 1024:.1f} MiB", "≤ 25 MiB", judged.rss_kib() <= 25 * 1024)
    table.note("binary, without symbols", f"{stripped_bytes(bench) / (1 << 20):.1f} MiB")
    peers = {"nginx": bench.nginx_proxy(), "nginx+log": bench.nginx_proxy(log=True)}
    if bench.has_lua():
        peers["nginx+Lua"] = bench.nginx_proxy(lua=True)
    if shutil.which("haproxy"):
        peers["haproxy"] = bench.haproxy()

    small = interleave(bench, {"all policies": judged, "libcurl": transfers, "pass-through": plain, **peers}, "/s", rounds, seconds)
    table.compare("all policies, 300 bytes", small, "all policies", "nginx+Lua", 0.60)
    table.compare("all policies, 300 bytes", small, "all policies", "nginx+log", 1.00)
    table.compare("the same, libcurl's transfers", small, "libcurl", "nginx+log", None)
    table.compare("pass-through, 300 bytes", small, "pass-through", "nginx+log", 0.90)
    large = interleave(bench, {"all policies": judged, "nginx": peers["nginx"]}, "/j64", rounds, seconds)
    table.compare("64 KiB judged", large, "all policies", "nginx", 1.00)
    best = {name: peers[name] for name in ("nginx", "haproxy") if name in peers}
    download = interleave(bench, {"pass-through": plain, **best}, "/b1m", rounds, seconds)
    for name in best:
        table.compare("1 MiB download", download, "pass-through", name, 1.00)
    script = bench.write("upload.lua", 'wrk.method = "POST"; wrk.body = string.rep("x", 8388608)\n')
    upload = interleave(bench, {"pass-through": plain, **best}, "/up", rounds, seconds, 16, script)
    for name in best:
        table.compare("8 MiB upload", upload, "pass-through", name, 1.00)
    # Short rounds, many of them: the median of one moves by 2 µs from round to round, and by 20 when a neighbour comes or goes.
    single = {"direct": None, "all policies": judged, "pass-through": plain, "nginx": peers["nginx"]}
    over = added(interleave(bench, single, "/s", 4 * rounds, max(1, seconds // 2), 1), "direct")
    for mine in ("all policies", "pass-through"):
        for measure in ("p50", "p99"):
            table.compare(f"one connection, {mine}, added {measure}", over, mine, "nginx", 1.00, measure, "µs")
    secure = {"TLS": bench.cryonet(policies=False, tls=True), "nginx": bench.nginx_proxy(tls=True)}
    table.compare("TLS upstream, 300 bytes", interleave(bench, secure, "/s", rounds, seconds), "TLS", "nginx", 1.10)
    delays = events(bench, 3 * rounds, seconds)
    for measure in ("p50", "p99"):
        table.compare(f"event delay, 50 streams, {measure}", delays, "all policies", "nginx", 1.00, measure, "µs")
    pair = {"two workers": bench.cryonet(workers=2, cpu=False), "nginx": bench.nginx_proxy(log=True, workers=2, cpu=False)}
    rates = interleave(bench, pair, "/s", rounds, seconds, 128)
    table.compare("two workers, 128 connections", rates, "two workers", "nginx", 1.00, "rate", "requests/s", atLeast=True)
    # A process of its own: memory that an earlier run gave back to the allocator would hide the connections.
    perConnection = idle(bench, bench.cryonet(policies=False), connections_idle)
    table.note(f"{connections_idle} idle connections", f"{perConnection:.2f} KiB each", "≤ 1.10 KiB", perConnection <= 1.1)
    table.show()
