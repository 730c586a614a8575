"""`cryonet demo` starts its own upstream and the gateway; what the README tells to try does what it says; TERM ends it with 0."""

import json
import re
import subprocess

import pytest

from client import Body, Client
from failures import assert_failure
from gateway import binary, instrument_environment
from waiting import wait_until


@pytest.fixture
def demo(tmp_path):
    """Starts the command with further arguments; its output is in `out`. Ended by TERM, with 0."""
    started = []

    def start(*arguments):
        ready = tmp_path / f"ready{len(started)}.json"
        with open(tmp_path / "out", "ab") as out:
            process = subprocess.Popen(
                [binary(), "demo", "--listen", "127.0.0.1:0", "--ready-file", str(ready), *arguments], stdin=subprocess.DEVNULL,
                stdout=out, stderr=out, cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **instrument_environment()})
        started.append(process)
        wait_until(lambda: ready.exists() or process.poll() is not None, 10, "ready file")
        assert process.poll() is None, (tmp_path / "out").read_text()
        return int(json.loads(ready.read_text())["listen"][0].rpartition(":")[2])
    yield start
    for process in started:
        process.terminate()
    try:
        assert [process.wait(10) for process in started] == [0] * len(started)
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait()


def test_the_demo_answers(demo, tmp_path):
    port = demo("--audit", str(tmp_path / "audit.jsonl"), "--print-config")
    with Client(port) as client:
        assert client.get("/news/list").json()["data"]["refreshes"] == 0
        assert client.request("POST", "/demo/revoke").json()["data"] == {"version": 2}
        assert client.get("/news/list").json()["data"]["refreshes"] == 1
        assert_failure(client.get("/orders/pay"), 422, "business_rejected", "business", businessCode=40013)
        assert client.get("/data/news/list").json()["items"][0] == {"id": 1, "title": "CryoNet"}
        assert client.get("/public/time").json()["data"]["unix"] > 0
        assert client.request("POST", "/upload", body=b"x" * 100_000).json()["data"] == {"bytes": 100_000}
        assert client.get("/broken/html").status in (200, 502)
        assert client.get("/broken/503").status == 503
        assert client.get("/nothing").status == 404
        assert_failure(client.get("/session/kicked"), 401, "business_rejected", "business", businessCode=10001)
    wait_until(lambda: "curl" in (tmp_path / "out").read_text(), 5, "commands to try")
    address, key = re.search(r"http://127\.0\.0\.1:(\d+)/#key=([0-9a-f]{64})", (tmp_path / "out").read_text()).groups()
    with Client(int(address)) as client:
        assert b"CryoNet Inspector" in client.get("/").body
        shown = client.get("/api/exchanges", [("Authorization", f"Bearer {key}")]).json()["exchanges"]
        assert shown[0]["target"] == "/session/kicked" and len(shown) == 11
    assert "upstreams" in (tmp_path / "out").read_text()
    wait_until(lambda: (tmp_path / "audit.jsonl").read_text().count("\n") >= 11, 5, "audit records")


def test_the_demo_s_events_come_one_by_one(demo):
    with Client(demo()) as client:
        client.send_request("GET", "/events")
        head = client.read_final_head()
        assert head.header("Content-Type") == "text/event-stream"
        assert Body(client, head).at_least(60).startswith(b'id: 1\nevent: tick\ndata: {"n":1}\n\nid: 2')


def test_the_demo_s_upstream_runs_alone(demo):
    with Client(demo("--upstream-only")) as client:
        assert client.get("/public/time").json()["code"] == 0
        assert client.get("/news/list").status == 401
        assert client.get("/news/list", [("Authorization", "Bearer demo-access-1")]).json()["data"]["refreshes"] == 0
        assert client.request("POST", "/auth/refresh", body=b'{"refreshToken":"unknown"}').json()["code"] == 10002
