"""What passes as a stream is counted, for the record and for /metrics, without a byte of it changed or late; what is coded is said to be
so and not looked into. (ledger SS1 – SS4, peers E51, E52)"""

import threading
import zlib

import pytest

from admin import Admin, sample, with_admin
from client import Body, Client, get
from gateway import configuration
from upstream import Answer, chunk, script
from waiting import wait_until

HEAD = "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("media,body,kind,events", [
    ("text/event-stream", b"\xef\xbb\xbfretry: 500\n\nid: 1\r\ndata: a\r\ndata: b\r\n\r\n: c\rid: 2\rdata: \xff\r\rdata: cut", "event_stream", 3),
    ("application/x-ndjson", b'{"a":1}\n\n{"a":2}\r\n{"a":3}', "ndjson", 3),
    ("application/json-seq", b'\x1e{"a":\n1}\n\x1e2\n', "json_seq", 2),
], ids=["events", "lines", "sequence"])
def test_every_event_is_counted_however_it_is_cut(gateway, upstream, media, body, kind, events):
    upstream.on("GET", "/whole", Answer(200, body, [("Content-Type", media)]))
    pieces = [chunk(body[index:index + 1]) for index in range(len(body))]
    upstream.on("GET", "/bytes", script(HEAD.format(media).encode(), *pieces, b"0\r\n\r\n"))
    gw = gateway(configuration(upstream))
    for path in ["/whole", "/bytes"]:
        assert get(gw, path).body == body
    for record in gw.wait_audit(2):
        stream = record["stream"]
        assert (stream["type"], stream["events"], stream["bytes"]) == (kind, events, len(body))
        assert 0 <= stream["first_event_us"] <= stream["last_event_us"] <= record["duration_us"]
        assert stream["largest_gap_us"] <= stream["last_event_us"] - stream["first_event_us"]
        assert stream.get("last_event_id") == ("2" if kind == "event_stream" else None)
        assert stream.get("incomplete", False) == (kind == "event_stream")


def test_a_coded_stream_is_named_and_not_read(gateway, upstream):
    coder = zlib.compressobj(wbits=31)
    body = coder.compress(b"data: 1\n\n") + coder.flush()
    upstream.on("GET", "/coded", Answer(200, body, [("Content-Type", "text/event-stream"), ("Content-Encoding", "gzip")]))
    gw = gateway(configuration(upstream))
    response = get(gw, "/coded", [("Accept-Encoding", "gzip")])
    assert response.body == body and response.header("Content-Encoding") == "gzip"
    assert gw.wait_audit(1)[0]["stream"] == {"type": "event_stream", "bytes": len(body), "coding": "gzip", "events": None}


def test_metrics_tell_open_streams_and_their_events(gateway, upstream):
    gate = threading.Event()
    upstream.on("GET", "/events", script(HEAD.format("text/event-stream").encode(), chunk(b"data: 1\n\ndata: 2\n\n"), gate,
                                         chunk(b"data: 3\n\n"), b"0\r\n\r\n"))
    upstream.on("GET", "/plain", Answer(json_body={"a": 1}))
    gw = gateway(with_admin(configuration(upstream)))
    admin = Admin(gw)
    assert get(gw, "/plain").status == 200
    with Client(gw.port) as client:
        client.send_request("GET", "/events")
        body = Body(client, client.read_final_head())
        assert body.at_least(18) == b"data: 1\n\ndata: 2\n\n"

        def counts():
            metrics = admin.metrics()
            return [sample(metrics, f"cryonet_{name}", route="api") for name in
                    ["streams_open", "streams_total", "stream_events_total"]]
        # The client has the bytes before they are looked at.
        wait_until(lambda: counts() == [1, 1, 2], what="one open stream with two events")
        gate.set()
        assert body.rest().endswith(b"data: 3\n\n")
        wait_until(lambda: counts() == [0, 1, 3], what="no open stream and three events")
    plain, events = sorted(gw.wait_audit(2), key=lambda record: record["target"] == "/events")
    assert "stream" not in plain and events["stream"]["events"] == 3
