"""listen.tls: the same gateway over TLS 1.2 and 1.3, with nothing older, nothing plain and no other protocol."""

import hashlib
import os
import shutil
import ssl
import subprocess
import threading

import pytest

from client import Body, Client, Ended, curl
from failures import assert_failure
from gateway import configuration, merged, run_command
from tls_client import TLSClient, client_context
from upstream import Answer
from waiting import wait_until

BOTH = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


def secured(upstream, leaf, **sections):
    certificate, key = leaf
    return merged(configuration(upstream, **sections), {"listen": {"tls": {"certificate": certificate, "key": key}}})


@pytest.mark.parametrize("version", BOTH)
def test_requests_on_one_connection(gateway, upstream, authority, leaf, version):
    upstream.on("GET", "/x", "ok").on("POST", "/echo", lambda request: Answer(200, request.body))
    gw = gateway(secured(upstream, leaf))
    with TLSClient(gw.port, client_context(authority, (version, version))) as client:
        assert client.socket.selected_alpn_protocol() == "http/1.1"
        assert client.get("/x").body == b"ok"
        assert client.request("POST", "/echo", body=b"hello").body == b"hello"
        client.send_request("GET", "/x").send_request("POST", "/echo", body=b"2").send_request("GET", "/x")
        assert [client.read_response().body for _ in range(3)] == [b"ok", b"2", b"ok"]
    assert upstream.requests[0].header("X-Forwarded-Proto") == "https"
    assert len(gw.wait_audit(5)) == 5


@pytest.mark.parametrize("version", BOTH)
def test_large_bodies_both_ways(gateway, upstream, authority, leaf, version):
    body = os.urandom(3_000_001)
    upstream.on("POST", "/echo", lambda request: Answer(200, body if request.body_bytes == len(body) else request.body))
    gw = gateway(secured(upstream, leaf))
    with TLSClient(gw.port, client_context(authority, (version, version))) as client:
        for number in range(2):
            assert client.request("POST", "/echo", body=body).body == body
            assert upstream.requests[number].digest.digest() == hashlib.sha256(body).digest()
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (body[:1], body[1:70_000], body[70_000:90_000]))
        client.send_request("POST", "/echo", [("Transfer-Encoding", "chunked")]).send(chunks + b"0\r\n\r\n")
        assert client.read_response().body == body[:90_000]


def test_a_slow_reader_gets_everything(gateway, upstream, authority, leaf):
    body = os.urandom(6_000_000)
    upstream.on("GET", "/big", Answer(200, body))
    gw = gateway(secured(upstream, leaf))
    with TLSClient(gw.port, client_context(authority)) as client:
        client.send_request("GET", "/big")
        wait_until(lambda: upstream.requests, 5, "the request")
        content = Body(client, client.read_final_head())
        content.at_least(1)
        assert content.rest() == body


def test_the_system_curl(gateway, upstream, authority, leaf):
    upstream.on("GET", "/x", "ok").on("POST", "/echo", lambda request: Answer(200, request.body))
    gw = gateway(secured(upstream, leaf))
    url = f"https://127.0.0.1:{gw.port}"
    result = curl("--cacert", authority.certificate, f"{url}/x", "-w", "%{http_version}")
    assert result.status == 200 and result.body == b"ok1.1"
    assert curl("--cacert", authority.certificate, "--data-binary", "@-", f"{url}/echo", body=b"z" * 500_000).body == b"z" * 500_000
    assert curl(f"{url}/x").code == 60, "an unknown authority"


def test_older_versions_are_refused(gateway, upstream, authority, leaf):
    gw = gateway(secured(upstream, leaf))
    context = client_context(authority)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL"):
        TLSClient(gw.port, context)
    assert upstream.requests == []


def test_another_protocol_is_refused(gateway, upstream, authority, leaf):
    upstream.on("GET", "/x", "ok")
    gw = gateway(secured(upstream, leaf))
    with pytest.raises(ssl.SSLError, match="no application protocol"):
        TLSClient(gw.port, client_context(authority, alpn=("h2",)))
    with TLSClient(gw.port, client_context(authority, alpn=("h2", "http/1.1"))) as client:
        assert client.socket.selected_alpn_protocol() == "http/1.1"
    with TLSClient(gw.port, client_context(authority, alpn=())) as client:
        assert client.get("/x").status == 200


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_plain_http_gets_a_plain_400(gateway, upstream, leaf, method):
    gw = gateway(secured(upstream, leaf))
    with Client(gw.port) as client:
        client.send_request(method, "/x")
        answer = client.read_response()
        assert_failure(answer, 400, "request_malformed", "http", "read")
        client.assert_closed()
    assert gw.wait_audit(1)[0]["status"] == 400
    assert upstream.requests == []


def test_noise_is_closed_without_a_record(gateway, upstream, authority, leaf):
    upstream.on("GET", "/x", "ok")
    gw = gateway(secured(upstream, leaf))
    for noise in (b"\0" * 100, b"\x16\x03\x01\xff\xff" + b"a" * 300, bytes(range(128, 256)) * 16):
        with Client(gw.port) as client:
            client.send(noise)
            try:
                client.read_to_end()
            except Ended:
                pass
    with TLSClient(gw.port, client_context(authority)) as client:
        assert client.get("/x").status == 200
    assert len(gw.wait_audit(1)) == 1


def test_a_slow_handshake_is_ended(gateway, upstream, leaf):
    gw = gateway(secured(upstream, leaf, limits={"head_timeout_ms": 200}))
    with Client(gw.port) as silent, Client(gw.port) as slow:
        slow.send(b"\x16\x03\x01\x02\x00\x01")
        silent.assert_closed()
        slow.assert_closed()
    assert gw.audit() == []


def test_a_body_cut_without_notice_is_no_request(gateway, upstream, authority, leaf):
    gw = gateway(secured(upstream, leaf))
    client = TLSClient(gw.port, client_context(authority))
    client.send_request("POST", "/x", [("Content-Length", "10")], body=b"12345")
    os.close(client.socket.detach())
    record = gw.wait_audit(1)[0]
    assert record["failure"]["reason"] == "client_gone"
    assert not any(request.complete for request in upstream.requests)


@pytest.mark.parametrize("notice", [True, False])
def test_only_a_proper_end_is_a_half_close(gateway, upstream, authority, leaf, notice):
    gate = threading.Event()
    upstream.on("GET", "/slow", Answer(200, "late", gate=gate))
    gw = gateway(merged(secured(upstream, leaf), {"listen": {"half_close": "keep"}}))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = client_context(authority).wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with Client(gw.port) as client:
        def run(work):
            while True:
                try:
                    return work()
                except ssl.SSLWantReadError:
                    client.send(outgoing.read())
                    incoming.write(client.socket.recv(65536))
        run(tls.do_handshake)
        tls.write(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        if notice:
            try:
                tls.unwrap()
            except ssl.SSLWantReadError:
                pass
        client.send(outgoing.read())
        upstream.wait_requests(1, "/slow")
        client.finish_sending()
        if notice:
            gate.set()
            # Encrypted: that there is a reply can be seen, the record tells which.
            assert client.read_to_end()
        record = gw.wait_audit(1)[0]
        gate.set()
    assert record["steps"]["reply"] == ("sent" if notice else "client_gone")


def test_a_whole_reply_ends_with_notice_and_a_cut_one_without(gateway, upstream, authority, leaf):
    upstream.on("GET", "/x", "whole").on("GET", "/cut", Answer(200, script=[
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "close"]))
    upstream.on("GET", "/chunked", Answer(200, chunks=[b"hel", b"lo"]))
    gw = gateway(secured(upstream, leaf))
    with TLSClient(gw.port, client_context(authority)) as client:
        client.send_request("GET", "/x", [("Connection", "close")])
        assert client.read_response().body == b"whole"
        with pytest.raises(Ended) as ended:
            client.receive()
        assert ended.value.how == "closed"
    with TLSClient(gw.port, client_context(authority)) as client:
        client.send_request("GET", "/cut")
        answer = client.read_response()
        assert (answer.body, answer.complete, answer.ended) == (b"hello", False, "cut")
    # An old client has nothing but the notice to tell them apart.
    with TLSClient(gw.port, client_context(authority)) as client:
        client.send_request("GET", "/chunked", version="HTTP/1.0")
        answer = client.read_response()
        assert (answer.framing, answer.body, answer.complete) == ("close", b"hello", True)


def test_a_session_is_resumed(gateway, upstream, authority, leaf):
    upstream.on("GET", "/x", "ok")
    gw = gateway(secured(upstream, leaf))
    context = client_context(authority)
    with TLSClient(gw.port, context) as client:
        assert client.get("/x").status == 200
        session = client.socket.session
    with TLSClient(gw.port, context, session=session) as client:
        assert client.socket.session_reused
        assert client.get("/x").status == 200


def test_too_many_connections_are_told_over_tls(gateway, upstream, authority, leaf):
    gw = gateway(secured(upstream, leaf, limits={"connections_max": 1}))
    context = client_context(authority)
    with TLSClient(gw.port, context), TLSClient(gw.port, context) as second:
        assert_failure(second.read_response(), 503, "over_capacity", "http", "accept")


def test_term_ends_idle_connections_with_notice(gateway, upstream, authority, leaf):
    upstream.on("GET", "/x", "ok")
    gw = gateway(secured(upstream, leaf))
    with TLSClient(gw.port, client_context(authority)) as client:
        assert client.get("/x").status == 200
        gw.process.terminate()
        with pytest.raises(Ended) as ended:
            client.receive()
        assert ended.value.how == "closed"


class TestClientCertificates:
    @pytest.fixture
    def clients(self, tmp_path):
        from certificates import Authority
        folder = tmp_path / "clients"
        folder.mkdir()
        return Authority(folder, name="clients")

    @pytest.mark.parametrize("version", BOTH)
    def test_only_clients_of_the_authority(self, gateway, upstream, authority, leaf, clients, version):
        upstream.on("GET", "/x", "ok")
        gw = gateway(merged(secured(upstream, leaf), {"listen": {"tls": {"client_ca": clients.certificate}}}))
        versions = (version, version)
        known = clients.leaf(label="known")
        context = client_context(authority, versions, identity=known)
        with TLSClient(gw.port, context) as client:
            assert client.get("/x").body == b"ok"
            session = client.socket.session
        with TLSClient(gw.port, context, session=session) as client:
            assert client.get("/x").body == b"ok"
        for identity in (None, leaf):
            with pytest.raises((ssl.SSLError, Ended)) as refused:
                with TLSClient(gw.port, client_context(authority, versions, identity=identity)) as client:
                    client.get("/x")
            assert "ALERT" in str(refused.value)
        assert len(upstream.requests) == 2
        first, resumed = gw.wait_audit(2)
        assert "CN=" in first["identity"]["certificate"] and resumed["identity"] == first["identity"]


class TestReload:
    def test_new_connections_get_the_new_certificate(self, gateway, upstream, authority, leaf, tmp_path):
        upstream.on("GET", "/x", "ok")
        files = [str(tmp_path / "now.pem"), str(tmp_path / "now.key")]
        for source, target in zip(leaf, files):
            shutil.copy(source, target)
        gw = gateway(secured(upstream, files))

        def presented():
            with TLSClient(gw.port, client_context(authority)) as client:
                return client.socket.getpeercert()["serialNumber"]
        before = presented()
        with TLSClient(gw.port, client_context(authority)) as kept:
            assert kept.get("/x").status == 200
            for source, target in zip(authority.leaf(label="renewed"), files):
                shutil.copy(source, target)
            gw.hup()
            wait_until(lambda: presented() != before, 5, "the new certificate")
            assert kept.get("/x").status == 200

    def test_a_bad_certificate_keeps_the_old_one(self, gateway, upstream, authority, leaf, tmp_path):
        upstream.on("GET", "/x", "ok")
        files = [str(tmp_path / "now.pem"), str(tmp_path / "now.key")]
        for source, target in zip(leaf, files):
            shutil.copy(source, target)
        gw = gateway(secured(upstream, files))
        gw.expected_errors = [r"now\.pem"]
        with open(files[0], "w", encoding="utf-8") as file:
            file.write("no certificate\n")
        with TLSClient(gw.port, client_context(authority)) as client:
            assert client.get("/x").status == 200
        gw.hup()
        wait_until(lambda: "now.pem" in gw.stderr(), 5, "the problem in the log")
        with TLSClient(gw.port, client_context(authority)) as client:
            assert client.get("/x").status == 200


def test_a_missing_file_is_named_at_the_start(upstream, leaf, tmp_path):
    import json
    config = secured(upstream, (str(tmp_path / "absent.pem"), leaf[1]))
    (tmp_path / "c.yaml").write_text(json.dumps(config), encoding="utf-8")
    result = run_command("run", "--config", tmp_path / "c.yaml")
    assert result.returncode == 1
    assert f"can't read the tls certificate {tmp_path}/absent.pem: no such file or directory" in result.stderr


def test_health_asks_over_tls(gateway, upstream, authority, leaf):
    gw = gateway(secured(upstream, leaf))
    result = run_command("health", f"https://127.0.0.1:{gw.port}")
    assert (result.returncode, result.stdout) == (0, "healthy\n"), result.stderr
    result = run_command("health", f"http://127.0.0.1:{gw.port}")
    assert result.returncode == 1 and "HTTP/1.1 400" in result.stderr
    gw.wait_audit(2)


def test_health_shows_a_certificate_where_one_is_asked_for(gateway, upstream, authority, leaf):
    gw = gateway(merged(secured(upstream, leaf), {"listen": {"tls": {"client_ca": authority.certificate}}}))
    url = f"https://127.0.0.1:{gw.port}"
    assert run_command("health", url).returncode == 1
    result = run_command("health", url, "--client-certificate", leaf[0], "--client-key", leaf[1])
    assert (result.returncode, result.stdout) == (0, "healthy\n"), result.stderr
    assert run_command("health", url, "--client-key", leaf[1]).returncode == 2


def test_a_client_that_does_not_read_is_ended(gateway, upstream, authority, leaf):
    upstream.on("GET", "/big", Answer(200, os.urandom(1 << 20) * 12))
    gw = gateway(secured(upstream, leaf, limits={"write_timeout_ms": 300}))
    with TLSClient(gw.port, client_context(authority)) as client:
        client.send_request("GET", "/big")
        assert gw.wait_audit(1)[0]["steps"]["reply"] == "client_gone"


def test_an_old_client_that_reads_late_gets_the_notice_too(gateway, upstream, authority, leaf):
    body = os.urandom(1 << 20) * 8
    upstream.on("GET", "/big", Answer(200, body, close=True))
    gw = gateway(secured(upstream, leaf))
    with TLSClient(gw.port, client_context(authority)) as client:
        client.send_request("GET", "/big", version="HTTP/1.0")
        upstream.wait_requests(1, "/big")
        assert client.read_response().body == body
        with pytest.raises(Ended) as ended:
            client.receive()
        assert ended.value.how == "closed"


def test_renegotiation_is_refused(gateway, upstream, leaf):
    gw = gateway(secured(upstream, leaf))
    result = subprocess.run(["openssl", "s_client", "-connect", gw.authority, "-tls1_2"], input=b"R\n", capture_output=True, timeout=20)
    assert b"no renegotiation" in result.stderr
    assert gw.audit() == []
