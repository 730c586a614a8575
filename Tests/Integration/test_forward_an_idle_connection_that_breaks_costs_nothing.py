"""A kept upstream connection that its peer closes or resets while nobody uses it is told once, not for ever: no processor time, no leak."""

import socket
import struct
import threading
import time

import pytest

from client import get
from gateway import configuration
from waiting import wait_until

QUIET_SECONDS = 1.0
# A loop that spins takes all it can get.
BUSY_SECONDS_MAX = 0.15


class KeepingUpstream:
    """Answers one request on each connection, keeps it, and breaks all of them when told to."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.connections = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            while b"\r\n\r\n" not in connection.recv(65536):
                pass
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            self.connections.append(connection)

    def break_all(self, resets):
        for connection in self.connections:
            if resets:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        self.connections.clear()


@pytest.fixture
def keeping():
    upstream = KeepingUpstream()
    yield upstream
    upstream.listener.close()
    upstream.break_all(resets=True)


@pytest.mark.parametrize("resets", [False, True], ids=["closed", "reset"])
def test_it_is_told_once(gateway, keeping, resets):
    gw = gateway(configuration(keeping.url, workers=1))
    assert get(gw, "/x").body == b"ok"
    wait_until(lambda: len(keeping.connections) == 1, 5, "the kept connection")
    keeping.break_all(resets)
    before, end = gw.processor_seconds(), time.monotonic() + QUIET_SECONDS
    wait_until(lambda: time.monotonic() > end, 5, "a quiet second")
    assert gw.processor_seconds() - before < BUSY_SECONDS_MAX
    assert get(gw, "/x").body == b"ok"
