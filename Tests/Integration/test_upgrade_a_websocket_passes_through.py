"""WebSocket with a real client and a real server: text, binary, large messages, ping and pong, close codes both ways; the token is on
the handshake, a refused one is refreshed once; other answers than 101 are ordinary answers. (RFC 6455, RFC 9110 §7.8)
"""

import asyncio

import pytest
import websockets

from client import Client, get
from failures import assert_failure
from gateway import ENVELOPE, configuration
from waiting import wait_until
from websocket_server import WebSocketServer

TOKEN = "the-static-token-0123456789"


@pytest.fixture
def serve():
    made = []

    def make(**options):
        made.append(WebSocketServer(**options))
        return made[-1]
    yield make
    for server in made:
        server.stop()


def start(gateway, server, **sections):
    config = configuration(server, route={"token": "app"}, tokens={"app": {"static": {"token": "env:APP_TOKEN"}}}, **sections)
    return gateway(config, env={"APP_TOKEN": TOKEN}, secrets=[TOKEN])


def connect(gw, path="/chat", **options):
    return websockets.connect(f"ws://127.0.0.1:{gw.port}{path}", max_size=8 << 20, **options)


async def converse(gw):
    # Without compression, so that the bytes on the wire are as many as they look.
    async with connect(gw, compression=None) as client:
        for message in ("text", "多字节", b"\x00\xff binary", "", "x" * (1 << 20), bytes(range(256)) * 4096):
            await client.send(message)
            assert await client.recv() == message
        for _ in range(3):
            await asyncio.wait_for(await client.ping(), 5)
        # Many messages in flight at once, both ways.
        messages = [f"message {index}" * 50 for index in range(500)]

        async def send():
            for message in messages:
                await client.send(message)
        sending = asyncio.ensure_future(send())
        for message in messages:
            assert await client.recv() == message
        await sending


def test_messages_of_every_kind_are_echoed(gateway, serve):
    server = serve()
    gw = start(gateway, server)
    asyncio.run(converse(gw))
    _, headers = server.handshakes[0]
    assert headers.get_all("Authorization") == [f"Bearer {TOKEN}"]
    assert headers.get_all("Connection") == ["Upgrade"] and headers.get_all("Upgrade") == ["websocket"]
    assert len(headers.get_all("Host")) == 1 and headers["Host"] == f"127.0.0.1:{server.port}"
    record, = gw.wait_audit(1)
    assert record["status"] == 101 and record["failure"] is None
    assert record["steps"]["reply"] == "sent" and record["steps"]["inject"] == "injected"
    assert record["request_bytes"] > 2 << 20 and record["response_bytes"] > 2 << 20
    assert record["attempts"][0]["status"] == 101


def test_close_codes_pass_both_ways(gateway, serve):
    async def leave(opened):
        if await opened.recv() == "leave":
            await opened.close(4001, "the server is tired")
        await opened.wait_closed()
    server = serve(handler=leave)
    gw = start(gateway, server)

    async def both():
        async with connect(gw) as client:
            await client.send("leave")
            with pytest.raises(websockets.ConnectionClosed):
                await client.recv()
            assert (client.close_code, client.close_reason) == (4001, "the server is tired")
        async with connect(gw) as client:
            await client.send("stay")
            await client.close(4002, "the client is bored")
            assert client.close_code == 4002
    asyncio.run(both())
    wait_until(lambda: len(server.closes) == 2, 5, "both closes are seen")
    assert server.closes == [(4001, "the server is tired"), (4002, "the client is bored")]
    assert [record["steps"]["reply"] for record in gw.wait_audit(2)] == ["sent", "sent"]


def test_the_protocol_and_the_extensions_are_the_peers_business(gateway, serve):
    server = serve()
    gw = start(gateway, server)

    async def run():
        async with connect(gw, "/chat?room=1%2F2", subprotocols=["chat"], compression="deflate") as client:
            assert client.subprotocol == "chat"
            await client.send("a" * 100_000)
            assert await client.recv() == "a" * 100_000
    asyncio.run(run())
    path, headers = server.handshakes[0]
    assert path == "/chat?room=1%2F2"
    assert headers["Sec-WebSocket-Protocol"] == "chat" and "permessage-deflate" in headers["Sec-WebSocket-Extensions"]


def test_a_refused_token_is_refreshed_and_the_handshake_repeated(gateway, serve, endpoint):
    server = serve(token=lambda: endpoint.access)
    gw = gateway(configuration(server, route={"token": "app"}, tokens={"app": endpoint.configuration()}), endpoint=endpoint)
    endpoint.revoke()

    async def run():
        async with connect(gw) as client:
            await client.send("hello")
            assert await client.recv() == "hello"
    asyncio.run(run())
    assert len(server.handshakes) == 2 and len(endpoint.calls) == 1
    keys = [headers["Sec-WebSocket-Key"] for _, headers in server.handshakes]
    assert keys[0] == keys[1]
    record, = gw.wait_audit(1)
    assert [attempt["status"] for attempt in record["attempts"]] == [401, 101]
    assert record["steps"]["refresh"] == "led" and record["status"] == 101


def test_without_a_token_the_handshake_waits_for_a_refresh(gateway, serve, endpoint):
    server = serve(token=lambda: endpoint.access)
    token = endpoint.configuration()
    del token["initial"]["token"]
    gw = gateway(configuration(server, route={"token": "app"}, tokens={"app": token}), endpoint=endpoint)

    async def run():
        async with connect(gw) as client:
            await client.send("hello")
            assert await client.recv() == "hello"
    asyncio.run(run())
    assert len(server.handshakes) == 1 and len(endpoint.calls) == 1
    assert [attempt["status"] for attempt in gw.wait_audit(1)[0]["attempts"]] == [101]


ASKING = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
          ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")]


@pytest.mark.parametrize("status", [403, 200, 404, 500])
def test_another_answer_than_101_is_an_ordinary_answer(gateway, serve, status):
    server = serve()
    gw = start(gateway, server)
    server.answers = [(status, [("X-Why", "because")], b"no socket here")] * 2

    async def run():
        with pytest.raises(websockets.InvalidStatusCode) as refusal:
            async with connect(gw):
                pass
        assert refusal.value.status_code == status and refusal.value.headers["X-Why"] == "because"
    asyncio.run(run())
    with Client(gw.port) as client:
        response = client.get("/x", ASKING)
        assert (response.status, response.body, response.header("X-Why")) == (status, b"no socket here", "because")
        # The connection goes on as HTTP.
        assert client.get("/plain").status == 426
    assert [record["status"] for record in gw.wait_audit(3)][0] == status


def test_a_policy_judges_a_refusal_and_leaves_a_tunnel_alone(gateway, serve):
    server = serve()
    gw = start(gateway, server, policies={"envelope": ENVELOPE}, routes=[
        {"name": "api", "path": "/*", "upstream": "api", "token": "app", "policy": "envelope"}])
    server.answers = [(200, [("Content-Type", "application/json")], b'{"code":40013,"msg":"no room"}'), (403, [], b"{}")]
    with Client(gw.port) as client:
        assert_failure(client.get("/x", ASKING), 422, "business_rejected", "business", businessCode=40013, message="no room")
        assert_failure(client.get("/x", ASKING), 403, "upstream_status", "http")
    asyncio.run(converse(gw))


def test_https_upstreams(gateway, serve, authority, leaf):
    server = serve(tls=leaf)
    gw = start(gateway, server, upstreams={"api": {"url": f"https://localhost:{server.port}", "tls": {"ca": authority.certificate}}})
    asyncio.run(converse(gw))
    descriptors = gw.descriptors()
    asyncio.run(converse(gw))
    assert server.handshakes[0][1]["Authorization"] == f"Bearer {TOKEN}"
    assert gw.wait_audit(2)[0]["attempts"][0]["outcome"] == "responded"
    wait_until(lambda: gw.descriptors() <= descriptors, 5, "descriptors as before")


def test_an_unverified_https_upstream_sees_no_handshake(gateway, serve, leaf):
    server = serve(tls=leaf)
    gw = start(gateway, server)

    async def run():
        with pytest.raises(websockets.InvalidStatusCode) as refusal:
            async with connect(gw):
                pass
        assert refusal.value.status_code == 502
    asyncio.run(run())
    assert server.handshakes == [] and gw.wait_audit(1)[0]["failure"]["reason"] == "tls_certificate_invalid"


def test_a_page_of_another_site_is_refused(gateway, serve):
    server = serve()
    gw = start(gateway, server)

    async def run():
        with pytest.raises(websockets.InvalidStatusCode) as refusal:
            async with connect(gw, origin="https://evil.example"):
                pass
        assert refusal.value.status_code == 403
    asyncio.run(run())
    assert server.handshakes == [] and gw.wait_audit(1)[0]["steps"]["route"] == "origin_denied"


def test_a_lost_upstream_ends_the_tunnel(gateway, serve):
    server = serve()
    gw = start(gateway, server)

    async def run():
        async with connect(gw) as client:
            await client.send("one")
            assert await client.recv() == "one"
            server.drop()
            with pytest.raises(websockets.ConnectionClosed):
                await client.recv()
            assert client.close_code == 1006
    asyncio.run(run())
    record, = gw.wait_audit(1)
    assert record["status"] == 101


def test_an_upstream_that_is_not_there_is_named(gateway, serve):
    gw = start(gateway, serve(), upstreams={"api": {"url": "http://127.0.0.1:1"}})
    with Client(gw.port) as client:
        response = client.get("/x", ASKING)
        assert_failure(response, 502, "connect_refused", "network", "forward")


def test_many_sockets_leave_nothing_behind(gateway, serve):
    server = serve()
    gw = start(gateway, server, workers=2)
    assert get(gw, "/plain").status == 426
    descriptors = gw.descriptors()

    async def one():
        async with connect(gw) as client:
            await client.send("hello")
            assert await client.recv() == "hello"

    async def run():
        for _ in range(5):
            await asyncio.gather(*(one() for _ in range(20)))
    asyncio.run(run())
    wait_until(lambda: gw.descriptors() <= descriptors, 5, "descriptors as before")
    assert len(gw.wait_audit(101)) == 101
