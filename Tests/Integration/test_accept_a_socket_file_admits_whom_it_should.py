"""A UNIX socket: its mode, and the users that may connect."""

import os
import socket
import stat

import pytest

from client import curl
from gateway import configuration, merged


@pytest.fixture
def unix_gateway(gateway, upstream, tmp_path):
    def make(**listen):
        upstream.on("GET", "/x", "ok").on("POST", "/echo", "done")
        path = str(tmp_path / "c.sock")
        gw = gateway(merged(configuration(upstream), {"listen": {"address": f"unix:{path}", **listen}}))
        gw.path = path
        return gw
    return make


@pytest.mark.parametrize("mode, bits", [(None, 0o600), ("0660", 0o660), ("666", 0o666)])
def test_the_mode_of_the_file(unix_gateway, mode, bits):
    gw = unix_gateway(**({"mode": mode} if mode else {}))
    assert stat.S_IMODE(os.stat(gw.path).st_mode) == bits
    result = curl("--unix-socket", gw.path, "http://localhost/x")
    assert result.status == 200 and result.body == b"ok"
    assert curl("--unix-socket", gw.path, "-d", "x" * 100_000, "http://localhost/echo").body == b"done"


def test_a_listed_user_gets_in(unix_gateway):
    gw = unix_gateway(peer_uid=[4_000_000_000, os.getuid()])
    assert curl("--unix-socket", gw.path, "http://localhost/x").status == 200
    assert gw.wait_audit(1)[0]["identity"] == {"uid": os.getuid()}


def test_another_user_is_closed_without_a_word(unix_gateway):
    gw = unix_gateway(peer_uid=[os.getuid() + 1])
    assert curl("--unix-socket", gw.path, "http://localhost/x").code in (7, 52, 56)
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        client.connect(gw.path)
        try:
            assert client.recv(1) == b""
        except ConnectionError:
            pass
    assert gw.audit() == []


def test_tls_on_a_socket_file(unix_gateway, authority, leaf):
    gw = unix_gateway(tls={"certificate": leaf[0], "key": leaf[1]})
    result = curl("--unix-socket", gw.path, "--cacert", authority.certificate, "https://localhost/x")
    assert result.status == 200 and result.body == b"ok"
