"""A real redis-server for one test: on a UNIX socket or a free port, without persistence, ended by its process."""

import os
import shutil
import signal
import socket
import subprocess

import pytest

from waiting import wait_until

START_SECONDS = 10.0


class RedisServer:
    """`stop` and `start` end and begin it on the same address; what it held is gone then."""

    def __init__(self, folder, password=None, tcp=False):
        self.program = shutil.which("redis-server")
        if not self.program:
            pytest.skip("there is no redis-server: scripts/dependencies test")
        self.folder = str(folder)
        self.password = password
        self.socket_path = os.path.join(self.folder, "r.sock")
        self.port = free_port() if tcp else 0
        self.process = None
        self.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}" if self.port else f"unix:{self.socket_path}"

    def start(self):
        # The test speaks to it over the socket in both cases.
        command = [self.program, "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", self.socket_path, "--save", "",
                   "--appendonly", "no", "--dir", self.folder, "--logfile", os.path.join(self.folder, "redis.log")]
        if self.password:
            command += ["--requirepass", self.password]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.answers, START_SECONDS, "an answer of redis-server")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        if os.path.exists(self.socket_path):
            os.unlink(self.socket_path)

    def freeze(self):
        """It accepts connections and says nothing."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def answers(self):
        try:
            return self.command("PING") == b"PONG"
        except (OSError, AssertionError):
            return False

    def command(self, *words):
        """One command over a connection of its own; the reply as bytes, int, list or None."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(10)
            sock.connect(self.socket_path)
            file = sock.makefile("rwb")
            if self.password:
                assert exchange(file, ("AUTH", self.password)) == b"OK"
            return exchange(file, words)

    def entry(self, key):
        fields = self.command("HGETALL", key)
        return {name.decode(): value.decode() for name, value in zip(fields[::2], fields[1::2])}


def exchange(file, words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    file.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
    file.flush()
    return reply(file)


def reply(file):
    line = file.readline()
    kind, rest = line[:1], line[1:-2]
    if kind == b"+":
        return rest
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return None if rest == b"-1" else file.read(int(rest) + 2)[:-2]
    if kind == b"*":
        return [reply(file) for _ in range(int(rest))]
    raise AssertionError(f"redis: {line!r}")


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]
