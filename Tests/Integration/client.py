"""A client on a raw socket that reads answers strictly, and the system curl."""

import json
import re
import socket
import struct
import subprocess
import time

READ_SECONDS = 20.0
TOKEN = re.compile(r"^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$")


class Ended(Exception):
    """The gateway ended the connection where the client expected bytes."""

    def __init__(self, how, received=b""):
        super().__init__(f"{how} after {len(received)} bytes: {received[:200]!r}")
        self.how = how
        self.received = received


class Response:
    """A whole answer; `complete` is False when the connection ended before the framing said so."""

    def __init__(self, version, status, reason, headers):
        self.version, self.status, self.reason, self.headers = version, status, reason, headers
        self.framing = "none"
        self.length = 0
        self.body = b""
        self.trailers = []
        self.interim = []
        self.complete = True
        self.ended = None

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name):
        values = self.all(name)
        assert len(values) <= 1, f"{name} came {len(values)} times: {values}"
        return values[0] if values else None

    def json(self):
        return json.loads(self.body)

    def closes(self):
        return (self.header("Connection") or "").lower() == "close"


class Client:
    """One connection to the gateway."""

    def __init__(self, port, host="127.0.0.1", receive_buffer=None):
        self.authority = f"{host}:{port}"
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(READ_SECONDS)
        self.socket.connect((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Sending

    def send(self, data):
        self.socket.sendall(data.encode("latin-1") if isinstance(data, str) else data)
        return self

    def send_request(self, method, target, headers=(), body=b"", host=None, version="HTTP/1.1"):
        return self.send(request_bytes(method, target, headers, body, host or self.authority, version))

    def request(self, method, target, headers=(), body=b"", host=None):
        """One request and its whole answer on this connection."""
        self.send_request(method, target, headers, body, host)
        return self.read_response(method)

    def get(self, target, headers=()):
        return self.request("GET", target, headers)

    def finish_sending(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()

    # Receiving

    def receive(self, timeout=None):
        self.socket.settimeout(READ_SECONDS if timeout is None else timeout)
        try:
            data = self.socket.recv(256 * 1024)
        except ConnectionError as error:
            raise Ended("reset", self.buffer) from error
        if not data:
            raise Ended("closed", self.buffer)
        self.buffer += data
        return len(data)

    def read_line(self):
        while b"\r\n" not in self.buffer:
            self.receive()
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        assert b"\n" not in line and b"\r" not in line, f"bare line end in {line!r}"
        return line.decode("utf-8")

    def read_head(self):
        """One head, interim or final, with strict syntax."""
        line = self.read_line()
        match = re.match(r"^(HTTP/1\.[01]) ([1-5][0-9][0-9]) ([^\r\n]*)$", line)
        assert match, f"bad status line {line!r}"
        headers = []
        while (field := self.read_line()):
            name, colon, value = field.partition(":")
            assert colon and TOKEN.match(name), f"bad field line {field!r}"
            headers.append((name, value.strip(" \t")))
        return Response(match[1], int(match[2]), match[3], headers)

    def read_final_head(self, method="GET"):
        """The final head with its framing decided; the body is still to be read."""
        interim = []
        while 100 <= (response := self.read_head()).status < 200 and response.status != 101:
            assert not response.all("Content-Length") and not response.all("Transfer-Encoding")
            interim.append(response)
        response.interim = interim
        lengths, codings = response.all("Content-Length"), response.all("Transfer-Encoding")
        assert not (lengths and codings), f"both framings: {response.headers}"
        assert len(lengths) <= 1 and len(codings) <= 1, f"framing twice: {response.headers}"
        if response.status in (204, 304) or method == "HEAD" or response.status == 101:
            assert response.status != 204 or not (lengths or codings), "a 204 with framing"
            response.framing = "none"
        elif codings:
            assert codings[0] == "chunked", codings
            response.framing = "chunked"
        elif lengths:
            assert lengths[0].isdigit(), lengths
            response.framing, response.length = "length", int(lengths[0])
        else:
            response.framing = "close"
        return response

    def read_response(self, method="GET"):
        response = self.read_final_head(method)
        body = Body(self, response)
        try:
            response.body = body.rest()
        except Ended as ended:
            response.complete, response.ended = False, ended.how
            response.body = bytes(body.content)
        return response

    def read_to_end(self, timeout=READ_SECONDS):
        """All bytes until the gateway closes; a reset raises Ended."""
        try:
            while True:
                self.receive(timeout)
        except Ended as ended:
            if ended.how == "reset":
                raise
        rest, self.buffer = self.buffer, b""
        return rest

    def assert_closed(self, timeout=5.0):
        """The gateway has closed (or reset) and sent nothing more."""
        try:
            rest = self.read_to_end(timeout)
        except Ended as ended:
            rest = ended.received
        except (TimeoutError, socket.timeout):
            raise AssertionError(f"connection still open after {timeout} s") from None
        assert rest == b"", f"unexpected bytes before the end: {rest[:200]!r}"

    def assert_silent(self, seconds=0.1):
        """Nothing arrives for a short while (a bounded look, used only where the test proves an absence)."""
        assert not self.buffer, f"unexpected bytes {self.buffer[:200]!r}"
        self.socket.settimeout(seconds)
        try:
            data = self.socket.recv(1, socket.MSG_PEEK)
        except (TimeoutError, socket.timeout):
            return
        raise AssertionError(f"unexpected {'bytes' if data else 'end'}: {data!r}")


class Body:
    """Decodes a body piece by piece: `at_least` for streams, `rest` for all of it."""

    def __init__(self, client, response):
        self.client, self.response = client, response
        self.content = bytearray()
        self.left = response.length
        self.done = response.framing == "none" or (response.framing == "length" and self.left == 0)

    def step(self):
        client = self.client
        if self.response.framing == "length":
            if not client.buffer:
                client.receive()
            piece, client.buffer = client.buffer[:self.left], client.buffer[self.left:]
            self.left -= len(piece)
            self.content += piece
            self.done = self.left == 0
        elif self.response.framing == "close":
            try:
                client.receive()
            except Ended as ended:
                if ended.how == "reset":
                    raise
                self.done = True
            self.content += client.buffer
            client.buffer = b""
        else:
            self.step_chunk()

    def step_chunk(self):
        client = self.client
        line = client.read_line().split(";")[0]
        assert re.match(r"^[0-9A-Fa-f]+$", line), f"bad chunk size {line!r}"
        size = int(line, 16)
        if size == 0:
            while (field := client.read_line()):
                self.response.trailers.append(field)
            self.done = True
            return
        while len(client.buffer) < size + 2:
            try:
                client.receive()
            except Ended:
                self.content += client.buffer[:size]
                raise
        assert client.buffer[size:size + 2] == b"\r\n", "bad chunk end"
        self.content += client.buffer[:size]
        client.buffer = client.buffer[size + 2:]

    def at_least(self, count):
        while not self.done and len(self.content) < count:
            self.step()
        return bytes(self.content)

    def rest(self):
        while not self.done:
            self.step()
        return bytes(self.content)

    def discard_rest(self, on_piece=None):
        """Read to the end without keeping; return the number of bytes."""
        total = 0
        while not self.done:
            self.step()
            total += len(self.content)
            if on_piece:
                on_piece(bytes(self.content))
            self.content.clear()
        return total


def request_bytes(method, target, headers=(), body=b"", host="127.0.0.1", version="HTTP/1.1"):
    body = body.encode() if isinstance(body, str) else body
    lines = [f"{method} {target} {version}"]
    names = {name.lower() for name, _ in headers}
    if "host" not in names:
        lines.append(f"Host: {host}")
    lines += [f"{name}: {value}" for name, value in headers]
    if body and "content-length" not in names and "transfer-encoding" not in names:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def get(gateway, target, headers=(), method="GET", body=b"", host=None):
    """One exchange on a connection of its own."""
    with Client(gateway.port) as client:
        return client.request(method, target, headers, body, host)


class CurlResult:
    def __init__(self, process):
        self.code = process.returncode
        self.stdout = process.stdout
        self.stderr = process.stderr.decode("utf-8", "replace")
        self.status, lines, self.body = 0, [""], process.stdout
        while self.body.startswith(b"HTTP/") and self.status < 200:
            head, _, self.body = self.body.partition(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            self.status = int(lines[0].split(" ")[1])
        self.headers = [tuple(part.strip() for part in line.partition(":")[::2]) for line in lines[1:]]

    def header(self, name):
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


def curl(*arguments, body=None, timeout=30):
    """The system curl with the head in its output; proxies of the environment are not used."""
    started = time.monotonic()
    process = subprocess.run(["curl", "-q", "-sS", "-i", "--max-time", str(timeout - 5), *map(str, arguments)],
                             input=body, capture_output=True, timeout=timeout,
                             env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "no_proxy": ""})
    result = CurlResult(process)
    result.seconds = time.monotonic() - started
    return result
