"""A real WebSocket server (Debian's python3-websockets) for upstreams, and a raw one that speaks no WebSocket after its 101."""

import asyncio
import http
import socket
import ssl
import threading

import websockets

SWITCHING = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
ASKING = (b"GET /raw HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
          b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")


class WebSocketServer:
    """Runs `handler(socket)`, an echo by default, on a thread of its own. `answers` are given to the handshakes before that, in order:
    None for a 101, else (status, headers, body). `token`, when it is a function, is the only bearer that is let in."""

    def __init__(self, handler=None, tls=None, token=None):
        self.handler = handler or echo
        self.token = token
        self.answers = []
        self.handshakes = []
        self.sockets = []
        self.closes = []
        self.loop = asyncio.new_event_loop()
        self.context = None
        if tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*tls)
            # An upstream that would rather speak HTTP/2.
            self.context.set_alpn_protocols(["h2", "http/1.1"])
        started = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(started,), daemon=True)
        self.thread.start()
        assert started.wait(10)
        self.port = self.server.sockets[0].getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"

    def run(self, started):
        asyncio.set_event_loop(self.loop)
        self.server = self.loop.run_until_complete(websockets.serve(
            self.serve, "127.0.0.1", 0, process_request=self.judge, ssl=self.context, max_size=8 << 20, subprotocols=["chat"]))
        started.set()
        self.loop.run_forever()

    async def serve(self, opened):
        self.sockets.append(opened)
        try:
            await self.handler(opened)
        except websockets.ConnectionClosed:
            pass
        finally:
            await opened.wait_closed()
            self.closes.append((opened.close_code, opened.close_reason))

    async def judge(self, path, headers):
        self.handshakes.append((path, headers))
        answer = self.answers.pop(0) if self.answers else None
        if answer is None and self.token and headers.get("Authorization") != f"Bearer {self.token()}":
            answer = (401, [("WWW-Authenticate", "Bearer")], b'{"e":"token is dead"}')
        return answer and (http.HTTPStatus(answer[0]), *answer[1:])

    def drop(self):
        """Every connection is reset, as a crash would."""
        def work():
            for opened in self.sockets:
                opened.transport.abort()
        self.loop.call_soon_threadsafe(work)

    def stop(self):
        async def work():
            self.server.close()
            await self.server.wait_closed()
        asyncio.run_coroutine_threadsafe(work(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)


async def echo(opened):
    async for message in opened:
        await opened.send(message)


class RawTunnelServer:
    """Accepts one connection at a time and answers its head with a 101; the test has the socket."""

    def __init__(self, receive_buffer=None, tls=None):
        self.listener = socket.socket()
        if receive_buffer:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(8)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.context = None
        if tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*tls)
            self.url = f"https://localhost:{self.port}"

    def accept(self, answer=SWITCHING):
        self.listener.settimeout(10)
        connection, _ = self.listener.accept()
        connection.settimeout(10)
        if self.context:
            connection = self.context.wrap_socket(connection, server_side=True)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            piece = connection.recv(65536)
            assert piece, head
            head += piece
        if answer:
            connection.sendall(answer)
        return connection, head

    def stop(self):
        self.listener.close()


def ask(port, request=ASKING, receive_buffer=None):
    """A client socket on which an upgrade has been asked for."""
    client = socket.socket()
    if receive_buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.settimeout(10)
    client.connect(("127.0.0.1", port))
    client.sendall(request)
    return client


def read_head(client):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = client.recv(1)
        assert piece, head
        head += piece
    return head


def read_all(client):
    """Everything up to the end."""
    data = b""
    while True:
        piece = client.recv(65536)
        if not piece:
            return data
        data += piece
