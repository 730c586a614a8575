"""/api/exchanges: the newest records in memory, one by id, and a stream of server-sent events that no slow reader can hold up."""

import json

import pytest

from admin import Admin, with_admin
from client import Body, Client, get
from failures import assert_failure
from gateway import configuration
from upstream import Answer, closed_port
from waiting import wait_until

SECRET = "the-value-of-the-token"


@pytest.fixture
def admin(gateway, upstream):
    upstream.on("GET", "/x", Answer(json_body={"code": 0}))
    upstream.on("GET", "/echo", lambda request: Answer(json_body={"token": SECRET, "was": request.target}))
    upstream.on("GET", "/bad", Answer(500, json_body={"access_token": SECRET}))
    config = configuration(upstream, route={"token": "app"}, tokens={"app": {"env": {"name": "APP_TOKEN"}}})
    config["upstreams"]["down"] = {"url": f"http://127.0.0.1:{closed_port()}"}
    # A reader that takes nothing for that long counts as gone: not what is looked at here, however slow the machine is.
    config["limits"] = {"write_timeout_ms": 600_000}
    config["routes"].insert(0, {"name": "down", "path": "/down", "upstream": "down"})
    return Admin(gateway(with_admin(config), env={"APP_TOKEN": SECRET}, secrets=[SECRET], audit=False))


class Events:
    """A reader of the stream that takes what comes, event by event."""

    def __init__(self, admin, query="", headers=(), receive_buffer=None):
        self.client = Client(admin.port, receive_buffer=receive_buffer)
        self.client.send_request("GET", "/api/exchanges/stream" + query, [("Authorization", f"Bearer {admin.key}"), *headers])
        self.response = self.client.read_final_head("GET")
        self.body = Body(self.client, self.response)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def next(self):
        """The next event as a dictionary; None at the end of the stream."""
        while True:
            end = self.body.content.find(b"\n\n")
            if end < 0:
                if self.body.done:
                    return None
                self.body.step()
                continue
            block = bytes(self.body.content[:end]).decode()
            del self.body.content[:end + 2]
            event = {}
            for line in block.split("\n"):
                name, _, value = line.partition(": ")
                assert name in ("event", "id", "data", "retry", ""), block
                event[name] = value
            if "event" in event:
                event["data"] = json.loads(event["data"])
                return event


def targets(listing):
    return [record["target"] for record in listing["exchanges"]]


def listed(admin, count, query=""):
    return wait_until(lambda: (lambda found: found if len(found["exchanges"]) == count else None)(
        admin.json("GET", "/api/exchanges" + query)), 5, f"{count} exchanges")


def test_the_newest_come_first_in_pages_without_an_audit_file(admin):
    for number in range(5):
        assert get(admin.gateway, f"/x?{number}").status == 200
    everything = listed(admin, 5)
    assert targets(everything) == [f"/x?{number}" for number in (4, 3, 2, 1, 0)]
    page = admin.json("GET", "/api/exchanges?limit=2")
    assert targets(page) == ["/x?4", "/x?3"]
    older = admin.json("GET", f"/api/exchanges?limit=2&before={page['exchanges'][-1]['id']}")
    assert targets(older) == ["/x?2", "/x?1"]
    record = everything["exchanges"][0]
    assert record["status"] == 200 and record["route"] == "api" and record["steps"]["forward"] == "responded"
    assert admin.json("GET", f"/api/exchanges/{record['id']}") == record


def test_a_list_that_has_not_changed_is_not_sent_again(admin):
    get(admin.gateway, "/x")
    listed(admin, 1)
    first = admin.get("/api/exchanges")
    tag = [("If-None-Match", first.header("ETag"))]
    assert admin.get("/api/exchanges", headers=tag).status == 304
    get(admin.gateway, "/x")
    wait_until(lambda: admin.get("/api/exchanges", headers=tag).status == 200, 5, "another list")


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "nothing=1", "limit=%zz"])
def test_what_nobody_understands_is_refused(admin, query):
    assert_failure(admin.get(f"/api/exchanges?{query}"), 400, "request_malformed")


def test_an_id_that_nobody_knows_is_told(admin):
    for path in ("/api/exchanges/01JZZZZZZZZZZZZZZZZZZZZZZZ", "/api/exchanges?before=nobody"):
        assert_failure(admin.get(path), 404, "route_not_found")
    for path in ("/api/exchanges", "/api/exchanges/stream", "/api/exchanges/x"):
        assert_failure(admin.get(path, key=False), 401, "admin_key_missing")


def test_no_secret_is_listed_or_streamed(admin):
    with Events(admin) as events:
        get(admin.gateway, f"/echo?q={SECRET}")
        get(admin.gateway, "/bad")
        seen = [events.next(), events.next()]
    text = json.dumps(seen) + json.dumps(listed(admin, 2))
    assert SECRET not in text and "***" in text


def test_each_exchange_is_streamed_as_it_ends(admin):
    with Events(admin) as events:
        assert events.response.header("Content-Type") == "text/event-stream; charset=utf-8"
        for number in range(3):
            get(admin.gateway, f"/x?{number}")
            event = events.next()
            assert event["event"] == "exchange" and event["data"]["target"] == f"/x?{number}"
        get(admin.gateway, "/down")
        assert events.next()["data"]["failure"]["reason"] == "connect_refused"


def test_a_reader_that_comes_back_misses_nothing(admin):
    with Events(admin) as events:
        get(admin.gateway, "/x?0")
        place = events.next()["id"]
    for number in (1, 2):
        get(admin.gateway, f"/x?{number}")
    listed(admin, 3)
    with Events(admin, headers=[("Last-Event-ID", place)]) as events:
        assert [events.next()["data"]["target"] for _ in range(2)] == ["/x?1", "/x?2"]
    for place in ("other.0", "x", "", "1.99999999999999999999"):
        with Events(admin, headers=[("Last-Event-ID", place)]) as events:
            get(admin.gateway, "/x?now")
            assert events.next()["data"]["target"] == "/x?now"


@pytest.mark.deadline(240)
def test_a_reader_that_is_too_slow_loses_events_and_hears_how_many(admin):
    # Far more than what the buffers on the way and the memory of the gateway hold together.
    total, padding = 7_000, "p" * 4_000
    with Events(admin, receive_buffer=4096) as events:
        with Client(admin.gateway.port) as client:
            for start in range(0, total, 10):
                client.send(b"".join(f"GET /x?{number}&{padding} HTTP/1.1\r\nHost: {client.authority}\r\n\r\n".encode()
                                     for number in range(start, start + 10)))
                for _ in range(10):
                    assert client.read_response("GET").status == 200
        seen, dropped = 0, 0
        while seen + dropped < total:
            event = events.next()
            if event["event"] == "dropped":
                assert event["data"]["of"] == "exchange"
                dropped += event["data"]["count"]
            else:
                assert event["data"]["target"] == f"/x?{seen + dropped}&{padding}"
                seen += 1
        assert dropped > 0 and seen > 0
    assert admin.get("/livez").status == 200


def test_there_are_so_many_readers_and_no_more(admin):
    readers = [Events(admin) for _ in range(16)]
    assert_failure(admin.get("/api/exchanges/stream"), 503, "over_capacity")
    readers.pop().client.close()

    def again():
        events = Events(admin)
        if events.response.status == 200:
            return events
        events.client.close()
        return None
    # A connection that is gone shows when the next sign of life is sent.
    readers.append(wait_until(again, 30, "a place for another reader"))
    for reader in readers:
        reader.client.close()


def test_a_head_of_the_stream_ends_at_once(admin):
    for _ in range(20):
        answer = admin.call("HEAD", "/api/exchanges/stream")
        assert answer.status == 200 and answer.body == b""


def test_the_stream_ends_with_the_gateway(admin):
    with Events(admin) as events:
        get(admin.gateway, "/x?last")
        admin.gateway.term()
        assert events.next()["data"]["target"] == "/x?last"
        assert events.next() is None
    assert admin.gateway.wait_exit() == 0


def test_a_reload_keeps_what_was_there(admin):
    get(admin.gateway, "/x?before")
    listed(admin, 1)
    admin.json("POST", "/api/reload")
    get(admin.gateway, "/x?after")
    assert targets(listed(admin, 2)) == ["/x?after", "/x?before"]
