"""Gates: what one request costs in allocations, copies and system calls. Deterministic, so a threshold is a promise."""
import json, mmap, os, socket, struct, subprocess, sys

import rig

NAMES = ("allocations", "allocated_bytes", "copies", "copied_bytes", "reads", "writes", "waits", "controls", "timers", "others")
GATED = ("allocations", "copied_bytes", "reads", "writes", "controls", "timers", "others")
GET = b"GET %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"


class Counter:
    """The page that count.c fills."""

    def __init__(self, folder):
        self.path = f"{folder}/counts"
        with open(self.path, "wb") as file:
            file.write(bytes(4096))
        self.library = f"{folder}/count.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-fno-builtin", "-o", self.library, f"{rig.HERE}/count.c", "-ldl"], check=True)
        self.file = open(self.path, "r+b")
        self.page = mmap.mmap(self.file.fileno(), 4096)

    @property
    def environment(self): return {"LD_PRELOAD": self.library, "CRYONET_COUNTS": self.path}

    def read(self): return struct.unpack(f"<{len(NAMES)}Q", self.page[:8 * len(NAMES)])


class Client:
    """One keep-alive connection; each call sends a request and takes the whole answer."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exchange(self, request, status=b"200"):
        self.socket.sendall(request)
        bytes_ = b""
        while b"\r\n\r\n" not in bytes_:
            bytes_ += self._take()
        head, _, body = bytes_.partition(b"\r\n\r\n")
        assert head.split(b" ", 2)[1] == status, head
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        left = length - len(body)
        while left > 0:
            left -= len(self._take())

    def _take(self):
        bytes_ = self.socket.recv(1 << 18)
        assert bytes_, "the connection closed"
        return bytes_


def measure(counter, port, request, rounds):
    client = Client(port)
    for _ in range(20):
        client.exchange(request)
    before = counter.read()
    for _ in range(rounds):
        client.exchange(request)
    after = counter.read()
    client.socket.close()
    return {name: (b - a) / rounds for name, a, b in zip(NAMES, before, after)}


def run(bench, rounds):
    """Every scenario; {scenario: {counter: per request}}."""
    counter = Counter(bench.folder)
    body = os.urandom(1 << 20)
    upload = b"POST /up HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    small = b"POST /up HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(rig.BODY) + rig.BODY
    results = {}
    plain = bench.cryonet(policies=False, environment=counter.environment)
    results["pass-through, 300 bytes"] = measure(counter, plain.port, GET % b"/s", rounds)
    results["pass-through, POST 300 bytes"] = measure(counter, plain.port, small, rounds)
    results["pass-through, 1 MiB download"] = measure(counter, plain.port, GET % b"/b1m", max(20, rounds // 20))
    results["pass-through, 1 MiB upload"] = measure(counter, plain.port, upload, max(20, rounds // 20))
    plain.stop()
    judged = bench.cryonet(policies=True, environment=counter.environment)
    results["all policies, 300 bytes"] = measure(counter, judged.port, GET % b"/s", rounds)
    results["all policies, 64 KiB"] = measure(counter, judged.port, GET % b"/j64", max(50, rounds // 5))
    judged.stop()
    secure = bench.cryonet(policies=False, tls=True, environment=counter.environment)
    results["TLS upstream, 300 bytes"] = measure(counter, secure.port, GET % b"/s", rounds)
    secure.stop()
    return results


def judge(results, thresholds):
    """Prints the table; the scenarios over their threshold."""
    broken = []
    print(f"{'per request':32}" + "".join(f"{name:>17}" for name in GATED) + f"{'waits':>10}")
    for scenario, counts in results.items():
        cells = ""
        for name in GATED:
            limit = thresholds.get(scenario, {}).get(name)
            isOver = limit is not None and counts[name] > limit
            if isOver:
                broken.append(f"{scenario}: {name} {counts[name]:.1f} > {limit}")
            cells += f"{counts[name]:10.1f}{'!' if isOver else '/'}{'' if limit is None else limit:<6}"
        print(f"{scenario:32}{cells}{counts['waits']:10.1f}")
    return broken


def limit(scenario, name, count):
    """What is promised after a measurement. How often a worker goes to sleep and how much a socket takes at once is up to the machine;
    what a small request allocates, reads and writes is not."""
    if "MiB" in scenario and name != "allocations":
        return round(count * 1.5 + 3)
    if name in ("controls", "timers"):
        return round(count + 2, 1)
    # The buffer of the audit grows in few large steps, which a short run divides by fewer requests.
    if name == "copied_bytes":
        return round(count * 1.15)
    return round(count * 1.02 + 0.5, 1)


def thresholds():
    with open(f"{rig.HERE}/thresholds.json") as file:
        return json.load(file)


if __name__ == "__main__":
    bench = rig.Rig(os.environ["CRYONET_BINARY"])
    try:
        results = run(bench, int(os.environ.get("BENCH_ROUNDS", "1000")))
        if "--write" in sys.argv:
            limits = {scenario: {name: limit(scenario, name, counts[name]) for name in GATED} for scenario, counts in results.items()}
            with open(f"{rig.HERE}/thresholds.json", "w") as file:
                json.dump(limits, file, indent=1)
                file.write("\n")
        broken = judge(results, thresholds())
    finally:
        bench.close()
    for line in broken:
        print("over its threshold:", line)
    sys.exit(1 if broken else 0)
