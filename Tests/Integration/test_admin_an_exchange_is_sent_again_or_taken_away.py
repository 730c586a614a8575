"""/api/exchanges/{id}/curl, /replay and /api/har: what was recorded, once more or elsewhere."""

import json
import subprocess

import pytest

from admin import Admin, with_admin
from client import Client, get
from failures import assert_failure
from gateway import configuration
from test_admin_recent_exchanges_are_listed_and_streamed import Events, listed
from upstream import Answer
from waiting import wait_until

SECRET = "the-value-of-the-token"


@pytest.fixture
def admin(gateway, upstream):
    upstream.on("GET", "/x", Answer(json_body={"code": 0}))
    upstream.on("POST", "/x", lambda request: Answer(201, json_body={"got": request.body.decode("latin-1"), "auth": request.header("Authorization")}))
    upstream.on("GET", "/endless", lambda request: Answer(body=b"z" * (3 << 20)))
    config = configuration(upstream, route={"token": "app"}, tokens={"app": {"env": {"name": "APP_TOKEN"}}}, audit={"bodies": "all"},
                           listen={"client_key": "env:CLIENT_KEY"})
    return Admin(gateway(with_admin(config), env={"APP_TOKEN": SECRET, "CLIENT_KEY": "the-key-of-the-clients"},
                         secrets=[SECRET, "the-key-of-the-clients"]))


def send(admin, method, target, headers=(), body=b""):
    """The record of one request, sent with the client key."""
    with Client(admin.gateway.port) as client:
        answer = client.request(method, target, [("X-CryoNet-Key", "the-key-of-the-clients"), *headers], body)
    name = answer.header("X-Request-Id")
    return wait_until(lambda: next((one for one in admin.json("GET", "/api/exchanges")["exchanges"] if one["id"] == name), None), 5, "the record")


def test_a_replay_is_an_exchange_of_its_own_with_token_and_record(admin, upstream):
    first = send(admin, "POST", "/x?a=1", [("Content-Type", "text/plain"), ("Authorization", "Bearer of-the-client")], b"hello \xc3\xa9")
    answer = admin.json("POST", f"/api/exchanges/{first['id']}/replay", {})
    assert answer["status"] == 201 and answer["id"] != first["id"] and not answer["truncated"]
    body = json.loads(answer["body"])
    assert body["got"] == "hello \xc3\xa9" and SECRET not in answer["body"] and "***" in body["auth"]
    assert len(upstream.requests) == 2 and upstream.requests[1].header("Authorization") == f"Bearer {SECRET}"
    assert upstream.requests[1].header("X-CryoNet-Key") is None
    again = admin.json("GET", f"/api/exchanges/{answer['id']}")
    assert again["client"] == "replay" and again["target"] == "/x?a=1" and again["status"] == 201


def test_edits_replace_what_was_recorded(admin, upstream):
    first = send(admin, "POST", "/x?a=1", [("X-One", "1")], b"hello")
    edits = {"method": "PUT", "target": "/y?b=2", "headers": [["X-Two", "2"]], "body": "other"}
    upstream.on("PUT", "/y", Answer(204))
    assert admin.json("POST", f"/api/exchanges/{first['id']}/replay", edits)["status"] == 204
    request = upstream.requests[-1]
    assert request.method == "PUT" and request.target == "/y?b=2" and request.body == b"other"
    assert request.header("X-Two") == "2" and request.header("X-One") is None


def test_what_is_not_whole_is_not_sent(admin, upstream):
    cut = send(admin, "POST", "/x", [("Content-Type", "text/plain")], b"a" * 10_000)
    assert_failure(admin.call("POST", f"/api/exchanges/{cut['id']}/replay", {}), 409, "admin_refused")
    assert admin.json("POST", f"/api/exchanges/{cut['id']}/replay", {"body": "short"})["status"] == 201
    masked = send(admin, "GET", "/x?api_key=1")
    assert_failure(admin.call("POST", f"/api/exchanges/{masked['id']}/replay", {}), 409, "admin_refused")
    assert admin.json("POST", f"/api/exchanges/{masked['id']}/replay", {"target": "/x"})["status"] == 200
    assert len(upstream.requests) == 4


@pytest.mark.parametrize("edits", [{"target": "/x\r\nX: 1"}, {"target": "x"}, {"method": "G T"}, {"headers": [["A", "1\nB: 2"]]}, {"headers": {}},
                                   {"method": 1}, b"[]", b"no json"])
def test_what_could_not_be_sent_is_refused(admin, upstream, edits):
    first = send(admin, "GET", "/x")
    assert_failure(admin.call("POST", f"/api/exchanges/{first['id']}/replay", edits), 400, "request_malformed")
    assert len(upstream.requests) == 1


def test_an_answer_that_is_too_long_is_cut(admin):
    first = send(admin, "GET", "/endless")
    answer = admin.json("POST", f"/api/exchanges/{first['id']}/replay", {})
    assert answer["truncated"] and len(answer["body"]) == 1 << 20


def test_the_curl_command_does_what_was_done(admin, upstream):
    first = send(admin, "POST", "/x?q=it's", [("Content-Type", "text/plain"), ("X-One", "a 'quoted' $value")], b"it's a $body\n`x`")
    command = admin.get(f"/api/exchanges/{first['id']}/curl")
    assert command.header("Content-Type") == "text/plain; charset=utf-8"
    run = subprocess.run(["sh", "-c", command.body.decode().rstrip() + " -s -H 'X-CryoNet-Key: the-key-of-the-clients'"], capture_output=True, timeout=30)
    assert json.loads(run.stdout)["got"] == "it's a $body\n`x`"
    assert upstream.requests[1].header("X-One") == "a 'quoted' $value" and upstream.requests[1].target == "/x?q=it's"


def test_the_archive_holds_what_matches(admin):
    for number in range(3):
        send(admin, "GET", f"/x?{number}")
    send(admin, "POST", "/x", [("Content-Type", "text/plain")], b"hello")
    answer = admin.get("/api/har")
    assert answer.header("Content-Disposition") == 'attachment; filename="cryonet.har"'
    entries = json.loads(answer.body)["log"]["entries"]
    assert [entry["request"]["method"] for entry in entries] == ["GET", "GET", "GET", "POST"]
    assert entries[3]["request"]["postData"]["text"] == "hello" and entries[0]["startedDateTime"] <= entries[3]["startedDateTime"]
    assert len(json.loads(admin.get("/api/har?filter=method%3DPOST").body)["log"]["entries"]) == 1
    assert json.loads(admin.get("/api/har?filter=status%3D500").body)["log"]["entries"] == []


def test_lists_and_streams_take_a_filter(admin):
    send(admin, "GET", "/x?1")
    send(admin, "POST", "/x")
    assert [one["method"] for one in listed(admin, 1, "?filter=method%3DPOST")["exchanges"]] == ["POST"]
    assert_failure(admin.get("/api/exchanges?filter=statsu%3D1"), 400, "request_malformed")
    assert_failure(admin.get("/api/exchanges/stream?filter=%28"), 400, "request_malformed")
    with Events(admin, "?filter=method%3DPOST") as events:
        send(admin, "GET", "/x?2")
        send(admin, "POST", "/x?3")
        assert events.next()["data"]["target"] == "/x?3"


def test_events_tell_what_happens_inside_while_somebody_listens(admin):
    get(admin.gateway, "/x")
    with Events(admin, "?events=all") as events:
        send(admin, "POST", "/x?1", [("Content-Type", "text/plain")], b"hello")
        seen = []
        while True:
            event = events.next()
            if event["event"] == "exchange":
                break
            assert event["event"] == "monitor"
            seen.append(event["data"])
    assert {one["exchange"] for one in seen} == {event["data"]["id"]}
    names = [one["event"] for one in seen]
    assert names[0] == "request_created" and names[-1] == "finished" and names.count("finished") == 1
    assert {"request_adapted", "resumed", "transitioned", "bytes_sent", "response_received", "data_received", "data_written"} <= set(names)
    adapted = seen[names.index("request_adapted")]
    assert "authorization" in adapted["added"] and "x-cryonet-key" in adapted["removed"]
    assert sum(one["bytes"] for one in seen if one["event"] == "bytes_sent") == 5
    states = [(one["from"], one["to"]) for one in seen if one["event"] == "transitioned"]
    assert states[0] == ("created", "forwarding") and all(one[1] == two[0] for one, two in zip(states, states[1:]))


def test_events_also_go_to_a_file_without_an_admin_side(gateway, upstream, tmp_path):
    upstream.on("GET", "/x", Answer(json_body={}))
    events = tmp_path / "events.jsonl"
    gw = gateway(configuration(upstream, tracing={"events": str(events)}))
    for _ in range(3):
        get(gw, "/x")

    def told():
        lines = [json.loads(line) for line in events.read_text().splitlines()]
        return lines if sum(one["event"] == "finished" for one in lines) == 3 else None
    lines = wait_until(told, 5, "three ends")
    assert [one["event"] for one in lines].count("request_created") == 3 and oct(events.stat().st_mode & 0o777) == "0o600"
    events.rename(tmp_path / "moved.jsonl")
    gw.reload(gw.config)
    get(gw, "/x")
    wait_until(lambda: events.exists() and '"finished"' in events.read_text(), 5, "the end in the new file")
