"""Torture: every call that can fail is made to fail at its k-th use, for all k of a scripted life of the gateway.

A library that is preloaded (torture.c) counts the uses and makes one fail; this program tells it which through a file both map. Three
parts of the life are gone through: serving (one process for many failures), the start, and the drain (one process for each failure).
After each failure: no crash, no client left waiting, no answer that looks whole and is not, no request at the upstream that nobody
sent, as many descriptors as before, no spinning, and the next requests are served. At the end: no more memory than before.
"""

import argparse
import ctypes
import mmap
import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Integration"))

import client as clients
from certificates import Authority, public_key_pin
from client import Client, Ended
from gateway import CRASH_SIGNS, ENVELOPE, Gateway, binary, merged
import tls_client
from tls_client import TLSClient, client_context
from token_endpoint import TokenEndpoint
from upstream import Answer, Upstream
from waiting import wait_until
from websocket_server import ASKING, SWITCHING

# A client that has not been answered (or closed) after this long is left waiting. The gateway's own deadlines are shorter.
HANG_SECONDS = 6.0
DEADLINE_MS = 2000
# Within this after a failure everything must be as before; a refresh that failed is not tried again at once.
SETTLE_SECONDS = 5.0
# Shares of a processor that an idle gateway may use, measured over this long.
IDLE_SHARE_MAX = 0.5
IDLE_SECONDS = 0.04
# Idle connections kept to upstreams.
POOLED_MAX = 24
GROWTH_BYTES_MAX = 24 << 20
USES_MAX = 600
UPLOAD = bytes(range(256)) * 1200
EVENTS = [b"data: %d\n\n" % number for number in range(3)]
PARTS = ["serve", "serve_tls", "start", "drain"]
# A call that was interrupted is to be made again: then nobody notices at all.
INTERRUPTIBLE = ["read", "write", "pread", "recv", "send", "sendmsg", "accept4", "epoll_wait"]
EINTR = 4
# Calls of the client side, which TLS uses in another way.
TLS_TOO = ["recv", "send", "sendmsg", "accept4", "epoll_ctl", "setsockopt", "shutdown"]
# Only when asked for by --call: here it is libcurl and OpenSSL that must go on without memory, and libcurl 7.88.1 does not always (it
# divides by the size of a table it could not make).
ON_REQUEST = ["malloc", "calloc", "strdup"]


class Finding(Exception):
    """What must not happen has happened."""


class Shim:
    """The preloaded library and the file that tells it what to do."""

    HEAD = struct.Struct("=iiIIII")

    def __init__(self, folder):
        self.library = os.path.join(folder, "torture.so")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", self.library, str(HERE / "torture.c")],
                       check=True, timeout=60)
        loaded = ctypes.CDLL(self.library)
        loaded.torture_call_name.restype = ctypes.c_char_p
        self.names = [loaded.torture_call_name(call).decode() for call in range(loaded.torture_calls_count())]
        self.codes = [loaded.torture_call_code(call) for call in range(len(self.names))]
        self.path = os.path.join(folder, "control")
        with open(self.path, "wb") as file:
            file.write(bytes(4096))
        with open(self.path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 4096)
        self.disarm()

    def environment(self):
        return {"LD_PRELOAD": self.library, "TORTURE_FILE": self.path}

    def arm(self, name, first, code=None, times=1):
        call = self.names.index(name)
        # `call` last: it is what the library looks at first.
        self.map[4:24] = self.HEAD.pack(-1, self.codes[call] if code is None else code, first, times, 0, 0)[4:]
        self.map[0:4] = struct.pack("=i", call)

    def disarm(self):
        self.map[0:4] = struct.pack("=i", -1)

    @property
    def failed(self):
        return self.HEAD.unpack(self.map[:24])[5]

    def totals(self):
        counts = struct.unpack(f"={len(self.names)}I", self.map[24:24 + 4 * len(self.names)])
        return dict(zip(self.names, counts))

    def forget(self):
        self.map[24:24 + 4 * len(self.names)] = bytes(4 * len(self.names))


class EchoTunnels:
    """Answers every upgrade and sends the tunnel's bytes back."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                opened, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(opened,), daemon=True).start()

    def serve(self, opened):
        head = b""
        with opened:
            try:
                while not head.endswith(b"\r\n\r\n"):
                    piece = opened.recv(65536)
                    if not piece:
                        return
                    head += piece
                opened.sendall(SWITCHING)
                while piece := opened.recv(65536):
                    opened.sendall(piece)
            except OSError:
                pass

    def stop(self):
        self.listener.close()


class World:
    """Upstreams, files and the configuration for gateways that are tortured."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.shim = Shim(folder)
        authority = Authority(folder)
        leaf = authority.leaf()
        self.upstream = Upstream()
        self.secure = Upstream(tls=leaf)
        self.tunnels = EchoTunnels()
        # Not rotating: a failure between the endpoint's answer and its arrival would rightly end the session.
        self.endpoint = TokenEndpoint(self.upstream, rotate=False)
        (self.folder / "mounted").write_text("mounted-token")
        self.streaming = threading.Event()
        self.wrong = []
        guard = self.endpoint.guard
        api = self.upstream
        api.on("GET", "/api/news", self.expecting(guard(Answer(json_body={"code": 0, "data": {"n": 1}}))))
        api.on("GET", "/api/rejected", self.expecting(guard(Answer(json_body={"code": 40013, "msg": "no"}))))
        api.on("GET", "/api/closing", self.expecting(guard(Answer(json_body={"code": 0, "data": 2}, close=True))))
        api.on("POST", "/api/upload", self.expecting(guard(Answer(json_body={"code": 0, "data": 3})), UPLOAD))
        api.on("GET", "/events", self.expecting(guard(
            Answer(headers=[("Content-Type", "text/event-stream")], chunks=EVENTS))))
        api.on("GET", "/gated", self.expecting(guard(Answer(
            headers=[("Content-Type", "text/event-stream")], chunks=[EVENTS[0], self.streaming, *EVENTS[1:]]))))
        self.secure.on("GET", "/secure/news", lambda request: self.check_mounted(request))
        self.config = self.configuration(authority, leaf)
        self.tls = {"listen": {"tls": {"certificate": leaf[0], "key": leaf[1]}}}
        self.trust = client_context(authority)
        self.made = 0

    def expecting(self, answer, body=b""):
        """A handler that notes requests no client has sent like that."""
        def respond(request):
            if not (request.header("Authorization") or "").startswith("Bearer "):
                self.wrong.append(f"{request.line} without its token")
            if request.body != body:
                self.wrong.append(f"{request.line} with a body of {len(request.body)} bytes")
            return answer(request) if callable(answer) else answer
        return respond

    def check_mounted(self, request):
        if request.header("Authorization") != "Bearer mounted-token":
            self.wrong.append(f"{request.line} with another token than the mounted one")
        return Answer(200, "secure", close=True)

    def configuration(self, authority, leaf):
        timeouts = {"connect_ms": DEADLINE_MS, "response_ms": DEADLINE_MS, "idle_ms": DEADLINE_MS, "total_ms": 2 * DEADLINE_MS,
                    "tunnel_idle_ms": DEADLINE_MS}
        tls = {"ca": authority.certificate, "pins": [public_key_pin(leaf[0])]}
        port = self.upstream.port
        return {
            "listen": {"address": "127.0.0.1:0"}, "workers": 2,
            "limits": {"head_timeout_ms": DEADLINE_MS, "body_timeout_ms": DEADLINE_MS, "write_timeout_ms": DEADLINE_MS,
                       "drain_timeout_ms": 2 * DEADLINE_MS},
            "upstreams": {"api": {"url": f"http://localhost:{port}", "timeouts": timeouts},
                          "secure": {"url": self.secure.url, "timeouts": timeouts, "tls": tls},
                          "tunnels": {"url": self.tunnels.url, "timeouts": timeouts}},
            "tokens": {"app": self.endpoint.configuration(self.folder / "store.json", refresh={
                           "on_status": [401], "window": {"seconds": 1, "max": 1000}, "timeout_ms": DEADLINE_MS}),
                       "mounted": {"file": {"path": str(self.folder / "mounted")}}},
            "policies": {"envelope": ENVELOPE},
            "routes": [{"name": "api", "path": "/api/*", "upstream": "api", "token": "app", "policy": "envelope"},
                       {"name": "streams", "path": "/*", "upstream": "api", "token": "app"},
                       {"name": "secure", "path": "/secure/*", "upstream": "secure", "token": "mounted"},
                       {"name": "raw", "path": "/raw", "upstream": "tunnels", "token": "none"}]}

    def gateway(self, wait=True, tls=False):
        folder = self.folder / f"gateway{self.made}"
        folder.mkdir()
        self.made += 1
        (self.folder / "store.json").unlink(missing_ok=True)
        with self.endpoint.lock:
            self.endpoint.access = self.endpoint.tokens[0]
        config = merged(self.config, self.tls) if tls else self.config
        made = Gateway(config, folder, env={**self.endpoint.environment(), **self.shim.environment()}, start=False)
        made.start(wait=wait)
        return made

    def ports(self):
        return {self.upstream.port, self.secure.port, int(self.tunnels.url.rpartition(":")[2])}

    def stop(self):
        self.upstream.stop()
        self.secure.stop()
        self.tunnels.stop()


# The script

class Script:
    """What clients do during the torture. Each scene returns a word; `as it should be` is `ok`."""

    def __init__(self, world, gateway, tls=False):
        self.world, self.gateway, self.tls = world, gateway, tls

    def connect(self):
        return TLSClient(self.gateway.port, self.world.trust) if self.tls else Client(self.gateway.port)

    def run(self):
        """Name of scene → what came of it."""
        scenes = [self.reload, self.envelopes, self.refresh, self.upload, self.secure, self.events, self.tunnel]
        return {scene.__name__: self.play(scene) for scene in scenes}

    def play(self, scene):
        try:
            return scene()
        except (TimeoutError, socket.timeout):
            raise Finding(f"{scene.__name__}: a client waits for more than {HANG_SECONDS} s") from None
        except Ended as ended:
            return ended.how
        except ConnectionError:
            return "reset"
        except ssl.SSLError as error:
            return error.reason or "tls"

    def asked(self, client, target, status, body=None, method="GET", sent=b""):
        response = client.request(method, target, body=sent)
        if not response.complete:
            return f"cut {response.status}"
        if response.status != status:
            return f"{response.status} {response.header('CryoNet-Failure') or ''}".strip()
        if body is not None and response.body != body:
            raise Finding(f"{target}: a {status} that looks whole has the body {response.body[:200]!r}")
        return None

    def all(self, *asked):
        with self.connect() as client:
            for target, status, body in asked:
                if wrong := self.asked(client, target, status, body):
                    return wrong
        return "ok"

    def reload(self):
        size = os.path.getsize(self.gateway.stderr_file)
        before = read_from(self.gateway.stderr_file, 0).count("reload")
        self.gateway.hup()
        end = time.monotonic() + 1
        while time.monotonic() < end:
            text = read_from(self.gateway.stderr_file, size)
            if "reload" in text and "\n" in text[text.index("reload"):]:
                return "ok" if "configuration reloaded" in text else "refused"
            time.sleep(0.002)
        return f"no word ({before} before)"

    def envelopes(self):
        return self.all(("/api/news", 200, b'{"code": 0, "data": {"n": 1}}'), ("/api/rejected", 422, None),
                        ("/api/closing", 200, b'{"code": 0, "data": 2}'), ("/api/news", 200, b'{"code": 0, "data": {"n": 1}}'))

    def refresh(self):
        self.world.endpoint.revoke()
        return self.all(("/api/news", 200, b'{"code": 0, "data": {"n": 1}}'))

    def upload(self):
        self.world.endpoint.revoke()
        with self.connect() as client:
            return self.asked(client, "/api/upload", 200, b'{"code": 0, "data": 3}', "POST", UPLOAD) or "ok"

    def secure(self):
        return self.all(("/secure/news", 200, b"secure"))

    def events(self):
        return self.all(("/events", 200, b"".join(EVENTS)))

    def tunnel(self):
        with self.connect() as client:
            opened = client.socket
            opened.settimeout(HANG_SECONDS)
            opened.sendall(ASKING)
            head = b""
            while b"\r\n\r\n" not in head:
                piece = opened.recv(65536)
                if not piece:
                    return "closed"
                head += piece
            if not head.startswith(b"HTTP/1.1 101"):
                return head.split(b" ")[1].decode()
            sent, back = b"tunnel" * 5000, head.partition(b"\r\n\r\n")[2]
            opened.sendall(sent)
            while len(back) < len(sent):
                piece = opened.recv(65536)
                if not piece:
                    break
                back += piece
            if not sent.startswith(back):
                raise Finding("other bytes came out of the tunnel than went in")
            return "ok" if back == sent else "closed"


def read_from(path, offset):
    with open(path, encoding="utf-8", errors="replace") as file:
        file.seek(offset)
        return file.read()


# What a process uses

def cpu_seconds(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total / 1e9


def descriptors(pid, pooled_ports):
    """(names of the open files, number of connections to those ports)."""
    peers = {}
    for name in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{name}", encoding="ascii") as file:
            for line in file.readlines()[1:]:
                parts = line.split()
                peers[parts[9]] = int(parts[2].rpartition(":")[2], 16)
    names, pooled = [], 0
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{entry}")
        except FileNotFoundError:
            continue
        inode = re.match(r"socket:\[(\d+)\]", target)
        if inode and peers.get(inode[1]) in pooled_ports:
            pooled += 1
        else:
            names.append("socket" if inode else re.sub(r"gateway\d+", "gateway", target))
    return sorted(names), pooled


class Subject:
    """A serving gateway under torture; what it used before the first failure."""

    def __init__(self, world, tls):
        self.world = world
        self.gateway = world.gateway(tls=tls)
        self.script = Script(world, self.gateway, tls)
        self.checked = 0
        for _ in range(3):
            self.expect_whole_script("before any failure")
        self.files = descriptors(self.gateway.pid, world.ports())[0]

    def expect_whole_script(self, when):
        results = {}

        def is_whole():
            nonlocal results
            self.expect_alive()
            results = self.script.run()
            return set(results.values()) == {"ok"}
        try:
            wait_until(is_whole, SETTLE_SECONDS, "whole")
        except AssertionError:
            raise Finding(f"{when}: not everything works again: {results}") from None

    def expect_alive(self):
        code = self.gateway.process.poll()
        if code is not None:
            raise Finding(f"the gateway ended with {code}")

    def expect_all_as_before(self):
        self.expect_alive()
        self.expect_no_spin()
        found = None

        def is_as_before():
            nonlocal found
            found, pooled = descriptors(self.gateway.pid, self.world.ports())
            return found == self.files and pooled <= POOLED_MAX
        try:
            wait_until(is_as_before, SETTLE_SECONDS, "as before")
        except AssertionError:
            more = [name for name in set(found) if found.count(name) > self.files.count(name)]
            less = [name for name in set(self.files) if found.count(name) < self.files.count(name)]
            raise Finding(f"descriptors are not as before: more {more}, fewer {less}") from None

    def expect_no_spin(self):
        """Something may still be on its way, so the best of some looks counts."""
        for _ in range(20):
            before, start = cpu_seconds(self.gateway.pid), time.monotonic()
            time.sleep(IDLE_SECONDS)
            share = (cpu_seconds(self.gateway.pid) - before) / (time.monotonic() - start)
            if share < IDLE_SHARE_MAX:
                return
        raise Finding(f"an idle gateway uses {share:.0%} of a processor")

    def expect_sound_output(self):
        if self.world.wrong:
            wrong, self.world.wrong = self.world.wrong, []
            raise Finding(f"a request nobody sent: {wrong[0]}")
        for upstream in (self.world.upstream, self.world.secure):
            if upstream.unexpected:
                request = upstream.unexpected.pop()
                raise Finding(f"a request nobody sent: {request.head!r}")
            upstream.requests.clear()
        text = read_from(self.gateway.stderr_file, self.checked)
        for sign in CRASH_SIGNS:
            if sign in text:
                raise Finding(f"{sign!r} in the output")

    def end(self):
        if self.gateway.running():
            self.gateway.term()
            try:
                if self.gateway.wait_exit(HANG_SECONDS) != 0:
                    raise Finding(f"the end is {self.gateway.exit_code}")
            except subprocess.TimeoutExpired:
                self.gateway.kill()
                raise Finding("the gateway does not end") from None


# The parts

class Torture:
    def __init__(self, folder, chosen=None, quick=False, verbose=False):
        clients.READ_SECONDS = tls_client.READ_SECONDS = HANG_SECONDS
        self.world = World(folder)
        self.chosen = chosen
        self.quick = quick
        self.verbose = verbose
        self.findings = []
        self.failures = 0
        self.rows = []

    def calls(self, totals):
        wanted = self.chosen or [name for name in self.world.shim.names if name not in ON_REQUEST]
        return [name for name in self.world.shim.names if totals[name] and name in wanted]

    def uses(self, total):
        """Which uses to fail of `total`."""
        if not self.quick:
            return range(1, min(total, USES_MAX) + 1)
        return sorted({1, (total + 1) // 2})

    def note(self, part, name, use, finding):
        self.findings.append(f"{part} {name} {use}: {finding}")
        print("FINDING", self.findings[-1], flush=True)

    def told(self, part, name, use, results):
        if self.verbose:
            print(part, name, use, results, flush=True)

    # Serving

    def serve(self):
        self.fail_all_serving("serve", tls=False)

    def serve_tls(self):
        """The same with clients that use TLS; of the calls only those that this adds to."""
        self.fail_all_serving("serve_tls", tls=True)

    def fail_all_serving(self, part, tls):
        shim = self.world.shim
        subject = Subject(self.world, tls)
        shim.forget()
        subject.script.run()
        totals = shim.totals()
        memory = subject.gateway.rss()
        kinds = [(name, None) for name in self.calls(totals) if not tls or name.startswith(("SSL", "BIO")) or name in TLS_TOO]
        kinds += [(name, EINTR) for name, _ in kinds if name in INTERRUPTIBLE and not self.quick]
        for name, code in kinds:
            count = 0
            # A little more than seen, as no two runs use the same number; until none is left to fail.
            for use in self.uses(totals[name] + (0 if self.quick else totals[name] // 2 + 2)):
                try:
                    if not self.fail_serving(subject, name, use, code):
                        break
                    count += 1
                except Finding as finding:
                    self.note(part, name if code is None else f"{name} (interrupted)", use, finding)
                    shim.disarm()
                    subject.gateway.kill()
                    subject = Subject(self.world, tls)
                    memory = subject.gateway.rss()
            self.failures += count
            self.rows.append((part, name if code is None else f"{name} (interrupted)", totals[name], count))
            if self.verbose:
                print(self.rows[-1], flush=True)
        try:
            subject.expect_whole_script("after all failures")
            growth = subject.gateway.rss() - memory
            if growth > GROWTH_BYTES_MAX:
                raise Finding(f"memory grew by {growth >> 10} KiB")
            print(f"memory grew by {growth >> 10} KiB over {self.failures} failures", flush=True)
            subject.end()
        except Finding as finding:
            self.note(part, "all", 0, finding)
            subject.gateway.kill()

    def fail_serving(self, subject, name, use, code):
        shim = self.world.shim
        started = time.monotonic()
        shim.arm(name, use, code)
        results = subject.script.run()
        shim.disarm()
        if not shim.failed:
            return False
        seconds = time.monotonic() - started
        self.told("serve", name, use, {"seconds": round(seconds, 2), **{k: v for k, v in results.items() if v != "ok"}})
        if code == EINTR and set(results.values()) != {"ok"}:
            raise Finding(f"an interruption was noticed: {results}")
        subject.expect_whole_script("afterwards")
        subject.expect_all_as_before()
        subject.expect_sound_output()
        return True

    # The start

    def start(self):
        shim = self.world.shim
        shim.forget()
        gateway = self.world.gateway()
        totals = shim.totals()
        gateway.kill()
        for name in self.calls(totals):
            count = 0
            for use in self.uses(totals[name]):
                try:
                    count += self.fail_start(name, use)
                except Finding as finding:
                    self.note("start", name, use, finding)
            self.failures += count
            self.rows.append(("start", name, totals[name], count))

    def fail_start(self, name, use):
        shim = self.world.shim
        shim.arm(name, use)
        gateway = self.world.gateway(wait=False)
        try:
            try:
                gateway.wait_ready()
            except AssertionError:
                self.expect_refusal(gateway, name)
                return 1
            finally:
                shim.disarm()
            subject = Script(self.world, gateway)
            results = {}

            def is_whole():
                nonlocal results
                results = subject.run()
                return set(results.values()) == {"ok"}
            try:
                wait_until(is_whole, SETTLE_SECONDS, "whole")
            except AssertionError:
                raise Finding(f"started, but does not work: {results}") from None
            if gateway.process.poll() is not None:
                raise Finding(f"the gateway ended with {gateway.process.poll()}")
            self.told("start", name, use, "started")
            gateway.term()
            if gateway.wait_exit(HANG_SECONDS) != 0:
                raise Finding(f"the end is {gateway.exit_code}")
            return int(shim.failed > 0)
        except subprocess.TimeoutExpired:
            raise Finding("the gateway does not end") from None
        finally:
            if gateway.running():
                gateway.kill()

    def expect_refusal(self, gateway, name):
        """It says why it does not start, and leaves with a status."""
        try:
            code = gateway.wait_exit(1)
        except subprocess.TimeoutExpired:
            raise Finding("neither ready nor ended") from None
        text = gateway.stderr()
        if code not in (1, 2):
            raise Finding(f"the start ended with {code}: {text[-300:]}")
        if not text.strip() and name != "write":
            raise Finding("the start was refused without a word")

    # The drain

    def drain(self):
        shim = self.world.shim
        totals = self.fail_drain(None, 0)
        for name in self.calls(totals):
            count = 0
            for use in self.uses(totals[name]):
                try:
                    count += self.fail_drain(name, use)
                except Finding as finding:
                    self.note("drain", name, use, finding)
                shim.disarm()
            self.failures += count
            self.rows.append(("drain", name, totals[name], count))

    def fail_drain(self, name, use):
        """TERM with an exchange in the middle and an idle connection. Without a name: the uses of each call."""
        shim, world = self.world.shim, self.world
        gateway = world.gateway()
        try:
            script = Script(world, gateway)
            script.refresh()
            world.streaming.clear()
            with Client(gateway.port) as busy, Client(gateway.port) as idle:
                idle.request("GET", "/api/news")
                busy.send_request("GET", "/gated")
                body = clients.Body(busy, busy.read_final_head())
                body.at_least(len(EVENTS[0]))
                shim.forget()
                if name:
                    shim.arm(name, use)
                gateway.term()
                try:
                    idle.read_to_end(HANG_SECONDS)
                except (Ended, ConnectionError):
                    pass
                world.streaming.set()
                try:
                    if body.rest() != b"".join(EVENTS):
                        raise Finding("a stream that looks whole is not")
                except (Ended, ConnectionError):
                    pass
            code = gateway.wait_exit(HANG_SECONDS)
            if code != 0:
                raise Finding(f"the end is {code}: {gateway.stderr()[-300:]}")
            for sign in CRASH_SIGNS:
                if sign in gateway.stderr():
                    raise Finding(f"{sign!r} in the output")
            self.told("drain", name, use, "ended")
            return int(shim.failed > 0) if name else shim.totals()
        except (TimeoutError, socket.timeout):
            raise Finding(f"a client waits for more than {HANG_SECONDS} s") from None
        except subprocess.TimeoutExpired:
            raise Finding("the gateway does not end") from None
        finally:
            world.streaming.set()
            if gateway.running():
                gateway.kill()

    def run(self, parts):
        try:
            for part in parts:
                getattr(self, part)()
        finally:
            self.world.stop()
        return self.findings


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the first and the middle use of each call")
    parser.add_argument("--part", action="append", choices=PARTS, help="only that part of the life; may be repeated")
    parser.add_argument("--call", action="append", help="only that call; may be repeated")
    parser.add_argument("--verbose", action="store_true", help="what became of each failure")
    told = parser.parse_args()
    print(f"torture of {binary()}", flush=True)
    with tempfile.TemporaryDirectory(prefix="cryonet-torture-") as folder:
        started = time.monotonic()
        torture = Torture(folder, told.call, told.quick, told.verbose)
        findings = torture.run(told.part or PARTS)
        print(f"\n{'part':9} {'call':34} {'uses':>6} {'failed':>7}")
        for part, name, total, count in torture.rows:
            print(f"{part:9} {name:34} {total:6} {count:7}")
        print(f"\n{torture.failures} failures in {time.monotonic() - started:.0f} s, {len(findings)} findings")
        for finding in findings:
            print(" ", finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
