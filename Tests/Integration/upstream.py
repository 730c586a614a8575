"""A scripted upstream on raw sockets: records every byte it is sent and answers as told.

It shares no code with the product, so that a wrong idea about HTTP in the product is not repeated here.
A script may wait for events of the test (`threading.Event`), never for the clock.
"""

import hashlib
import inspect
import json
import select
import socket
import ssl
import struct
import threading
import time

from waiting import wait_until

GATE_SECONDS = 20.0
READ_SECONDS = 60.0

# Steps of a script, beside bytes (sent) and threading.Event (waited for) and callables (called with the connection).
CLOSE = "close"
RESET = "reset"
HALF_CLOSE = "half-close"
STALL = "stall"  # Sends nothing more and waits until the peer goes.


class PeerGone(Exception):
    """The peer closed or reset the connection."""


class Request:
    """One request as it arrived; `head` is the exact bytes up to and with the empty line."""

    def __init__(self, head, connection, number):
        self.time = time.monotonic()
        self.head = head
        self.connection = connection
        self.number = number
        lines = head.decode("latin-1").split("\r\n")
        self.line = lines[0]
        parts = self.line.split(" ")
        self.method, self.target, self.version = (parts + ["", "", ""])[:3]
        self.headers = []
        for line in lines[1:]:
            if line:
                name, _, value = line.partition(":")
                self.headers.append((name, value.strip(" \t")))
        self.body = b""
        self.body_bytes = 0
        self.digest = hashlib.sha256()
        self.trailers = []
        self.complete = False
        self.framing = "none"

    @property
    def path(self):
        return self.target.split("?", 1)[0]

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name):
        """The only value of a field; None without it; fails when there are several."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} arrived {len(values)} times: {values}"
        return values[0] if values else None

    def names(self):
        return sorted(name.lower() for name, _ in self.headers)


class Answer:
    """A well-formed answer; `script` replaces it by raw steps."""

    def __init__(self, status=200, body=b"", headers=(), json_body=None, reason="", chunks=None, close=False, gate=None,
                 interim=(), script=None):
        self.status = status
        self.headers = list(headers)
        self.body = body.encode() if isinstance(body, str) else body
        if json_body is not None:
            self.body = json_body.encode() if isinstance(json_body, str) else json.dumps(json_body).encode()
            if not any(name.lower() == "content-type" for name, _ in self.headers):
                self.headers.append(("Content-Type", "application/json"))
        self.reason = reason or "Scripted"
        self.chunks = chunks
        self.close = close
        self.gate = gate
        self.interim = list(interim)
        self.script = script

    def steps(self, request):
        if self.script is not None:
            return list(self.script)
        steps = [self.gate] if self.gate is not None else []
        steps += self.interim
        steps.append(self.head())
        bodyless = request.method == "HEAD" or self.status in (204, 304)
        if not bodyless:
            if self.chunks is not None:
                for piece in self.chunks:
                    steps.append(chunk(piece) if isinstance(piece, (bytes, bytearray)) else piece)
                steps.append(b"0\r\n\r\n")
            elif self.body:
                steps.append(self.body)
        if self.close:
            steps.append(CLOSE)
        return steps

    def head(self):
        lines = [f"HTTP/1.1 {self.status} {self.reason}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        has_framing = any(name.lower() in ("content-length", "transfer-encoding") for name, _ in self.headers)
        if self.chunks is not None and not has_framing:
            lines.append("Transfer-Encoding: chunked")
        elif not has_framing and self.status not in (204, 304):
            lines.append(f"Content-Length: {len(self.body)}")
        if self.close:
            lines.append("Connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8")


def script(*steps):
    """An answer made of raw steps."""
    return Answer(script=steps)


def chunk(content):
    return b"%x\r\n%s\r\n" % (len(content), content)


class Connection:
    """The upstream's side of one accepted connection; lives on its own thread."""

    def __init__(self, upstream, sock, number):
        self.upstream = upstream
        self.socket = sock
        self.number = number
        self.buffer = b""
        self.requests = 0
        self.opened_at = time.monotonic()
        self.closed_at = None
        self.ended = None
        self.sent_bytes = 0
        self.alpn = None

    # Reading

    def receive(self):
        try:
            data = self.socket.recv(256 * 1024)
        except (ConnectionError, ssl.SSLError, OSError) as error:
            self.ended = "reset" if isinstance(error, ConnectionResetError) else type(error).__name__
            raise PeerGone(str(error)) from error
        if not data:
            self.ended = "closed"
            raise PeerGone("closed")
        return data

    def read_until(self, mark):
        while mark not in self.buffer:
            self.buffer += self.receive()
        head, _, self.buffer = self.buffer.partition(mark)
        return head + mark

    def read_body(self, request):
        """Read the request's body by its own framing, strictly."""
        lengths, codings = request.all("Content-Length"), request.all("Transfer-Encoding")
        assert not (lengths and codings), f"both framings arrived: {request.head!r}"
        if codings:
            assert [value.lower() for value in codings] == ["chunked"], codings
            request.framing = "chunked"
            self.read_chunks(request)
        elif lengths:
            assert len(lengths) == 1 and lengths[0].isdigit(), lengths
            request.framing = "length"
            self.read_exactly(request, int(lengths[0]))
        request.complete = True

    def read_exactly(self, request, length):
        while length:
            if not self.buffer:
                self.buffer = self.receive()
            piece, self.buffer = self.buffer[:length], self.buffer[length:]
            length -= len(piece)
            self.keep(request, piece)

    def read_chunks(self, request):
        while True:
            size = int(self.read_until(b"\r\n")[:-2].split(b";")[0], 16)
            if size == 0:
                break
            self.read_exactly(request, size)
            assert self.read_until(b"\r\n") == b"\r\n", "bytes after a chunk"
        while (line := self.read_until(b"\r\n")) != b"\r\n":
            request.trailers.append(line)

    def keep(self, request, piece):
        request.body_bytes += len(piece)
        request.digest.update(piece)
        if len(request.body) < self.upstream.kept_body_bytes_max:
            request.body += piece

    # Writing

    def send(self, data):
        view = memoryview(data)
        while view:
            try:
                count = self.socket.send(view[:256 * 1024])
            except (ConnectionError, ssl.SSLError, OSError) as error:
                self.ended = type(error).__name__
                raise PeerGone(str(error)) from error
            self.sent_bytes += count
            view = view[count:]

    def peer_is_gone(self):
        readable, _, _ = select.select([self.socket], [], [], 0)
        if not readable:
            return False
        try:
            if isinstance(self.socket, ssl.SSLSocket):
                self.socket.settimeout(0.01)
                try:
                    data = self.socket.recv(65536)
                except (ssl.SSLWantReadError, TimeoutError, socket.timeout):
                    return False
                finally:
                    self.socket.settimeout(READ_SECONDS)
                self.buffer += data
                return not data
            return not self.socket.recv(1, socket.MSG_PEEK)
        except (ConnectionError, OSError):
            return True

    def wait_for(self, event, seconds=GATE_SECONDS):
        """Wait for the test's event; ends early when the peer goes."""
        end = time.monotonic() + seconds
        while not event.wait(0.005):
            if self.peer_is_gone():
                self.ended = "closed"
                raise PeerGone("closed while waiting")
            if self.upstream.stopping or time.monotonic() > end:
                raise PeerGone("gate timed out")

    def run(self, steps):
        """Run a script; True when the connection may carry another request."""
        for step in steps:
            if isinstance(step, (bytes, bytearray)):
                self.send(step)
            elif isinstance(step, threading.Event):
                self.wait_for(step)
            elif step == CLOSE:
                return False
            elif step == RESET:
                self.reset()
                return False
            elif step == HALF_CLOSE:
                self.socket.shutdown(socket.SHUT_WR)
            elif step == STALL:
                self.wait_for(threading.Event())
            elif callable(step):
                step(self)
            else:
                raise TypeError(f"unknown step {step!r}")
        return True

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    # Life

    def serve(self):
        try:
            self.greet()
            while not self.upstream.stopping:
                head = self.read_until(b"\r\n\r\n")
                self.requests += 1
                request = Request(head, self.number, self.requests)
                if not self.exchange(request):
                    break
        except PeerGone:
            pass
        except Exception as error:  # The fixture reports it at the end of the test.
            self.upstream.faults.append(f"connection {self.number}: {type(error).__name__}: {error}")
        finally:
            self.close()
            self.closed_at = time.monotonic()
            with self.upstream.changed:
                self.upstream.changed.notify_all()

    def greet(self):
        if self.upstream.greeting:
            self.socket.sendall(self.upstream.greeting)
        if self.upstream.context is None:
            return
        try:
            self.socket = self.upstream.context.wrap_socket(self.socket, server_side=True)
            self.alpn = self.socket.selected_alpn_protocol()
        except (ssl.SSLError, OSError) as error:
            self.upstream.handshake_failures.append(str(error))
            raise PeerGone("handshake") from error

    def exchange(self, request):
        route = self.upstream.route_for(request)
        if route is None or not route.early:
            if (request.header("Expect") or "").lower() == "100-continue":
                self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            try:
                self.read_body(request)
            finally:
                self.upstream.record(request)
        else:
            self.upstream.record(request)
        if route is None:
            self.upstream.unexpected.append(request)
            answer = Answer(404, f"no script for {request.method} {request.target}")
        else:
            answer = route.next_answer()
            if callable(answer):
                answer = answer(request, self) if wants_connection(answer) else answer(request)
        if answer is None:
            return True
        return self.run(answer.steps(request)) and not (request.header("Connection") or "").lower() == "close"

    def close(self):
        try:
            self.socket.close()
        except OSError:
            pass


class Route:
    """Answers for one method and path, used up in order; the last one is used for ever."""

    def __init__(self, method, path, answers, early):
        self.method, self.path, self.answers, self.early = method, path, list(answers), early
        self.used = 0
        self.lock = threading.Lock()

    def fits(self, request):
        if self.method not in ("*", request.method):
            return False
        if self.path.endswith("*"):
            return request.path.startswith(self.path[:-1])
        return request.path == self.path

    def next_answer(self):
        with self.lock:
            answer = self.answers[min(self.used, len(self.answers) - 1)]
            self.used += 1
            return answer


class Upstream:
    """A listener on a port of its own; `on` adds answers, `requests` tells what came."""

    def __init__(self, tls=None, host="127.0.0.1", alpn=("http/1.1",), port=0, receive_buffer=None):
        self.host = host
        self.kept_body_bytes_max = 1 << 20
        self.routes, self.requests, self.unexpected = [], [], []
        self.connections, self.threads, self.faults, self.handshake_failures = [], [], [], []
        self.changed = threading.Condition()
        self.stopping = False
        # Sent as soon as a connection is open, whatever the peer says.
        self.greeting = b""
        self.context = None
        if tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*tls)
            self.context.set_alpn_protocols(list(alpn))
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if receive_buffer:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.listener.bind((host, port))
        self.listener.listen(1024)
        self.port = self.listener.getsockname()[1]
        self.acceptor = threading.Thread(target=self.accept, daemon=True)
        self.acceptor.start()

    @property
    def scheme(self):
        return "https" if self.context else "http"

    @property
    def url(self):
        return f"{self.scheme}://{self.host}:{self.port}"

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.settimeout(READ_SECONDS)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.changed:
                connection = Connection(self, sock, len(self.connections) + 1)
                self.connections.append(connection)
                self.changed.notify_all()
            thread = threading.Thread(target=connection.serve, daemon=True)
            # Started first: whoever closes the upstream joins every thread in the list.
            thread.start()
            self.threads.append(thread)

    def on(self, method, path, *answers, early=False):
        """Answers may be Answer, str/bytes (a 200 body), a status number or a function of the request.

        `early` answers before the body is read. A later `on` for the same method and path replaces the earlier one.
        """
        route = Route(method, path, [as_answer(answer) for answer in answers], early)
        with self.changed:
            self.routes = [old for old in self.routes if (old.method, old.path) != (method, path)]
            self.routes.append(route)
        return self

    def route_for(self, request):
        fitting = [route for route in self.routes if route.fits(request)]
        return max(fitting, key=lambda route: len(route.path), default=None)

    def record(self, request):
        with self.changed:
            self.requests.append(request)
            self.changed.notify_all()

    def to(self, path, method=None):
        """Requests for a path, in order of arrival."""
        with self.changed:
            return [r for r in self.requests if r.path == path and method in (None, r.method)]

    def wait_requests(self, count, path=None, timeout=10.0):
        def enough():
            found = self.requests if path is None else [r for r in self.requests if r.path == path]
            return found if len(found) >= count else None
        with self.changed:
            assert self.changed.wait_for(enough, timeout), f"{count} requests not within {timeout} s, got {len(self.requests)}"
            return enough()

    def wait_closed(self, number, timeout=5.0):
        """Wait until connection `number` (from 1) has ended; return it."""
        connection = self.connections[number - 1]
        with self.changed:
            assert self.changed.wait_for(lambda: connection.closed_at is not None, timeout), \
                f"connection {number} still open after {timeout} s"
        return connection

    def wait_connections(self, count, timeout=5.0):
        return wait_until(lambda: len(self.connections) >= count, timeout, f"{count} connections")

    def stop(self):
        self.stopping = True
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        for connection in list(self.connections):
            try:
                connection.socket.shutdown(socket.SHUT_RDWR)
            except (OSError, ValueError):
                pass
        for thread in self.threads:
            thread.join(2)


def wants_connection(handler):
    """A handler with a second parameter and no default for it is given the connection."""
    required = [p for p in inspect.signature(handler).parameters.values() if p.default is p.empty]
    return len(required) > 1


def as_answer(value):
    if isinstance(value, int):
        return Answer(value)
    if isinstance(value, (str, bytes)):
        return Answer(200, value)
    return value


def closed_port():
    """A loopback port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
