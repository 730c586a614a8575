"""Debian's nginx as the upstream: plain, TLS, and HTTP/2 where it is offered; small and large answers, an upload, a range."""

import os
import shutil
import subprocess

import pytest

from client import get
from gateway import configuration, merged
from upstream import closed_port
from waiting import wait_until

pytestmark = pytest.mark.skipif(not os.path.exists("/usr/sbin/nginx") and not shutil.which("nginx"), reason="nginx is not installed")


@pytest.fixture
def nginx(tmp_path, leaf):
    plain, secure = closed_port(), closed_port()
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "big").write_bytes(os.urandom(3_000_000))
    (tmp_path / "www" / "small").write_bytes(b"small file")
    (tmp_path / "nginx.conf").write_text(f"""
daemon off; worker_processes 1; pid {tmp_path}/nginx.pid; error_log {tmp_path}/error.log; {"user root;" if os.getuid() == 0 else ""}
events {{}}
http {{
  client_body_temp_path {tmp_path}/t1; proxy_temp_path {tmp_path}/t2; fastcgi_temp_path {tmp_path}/t3;
  uwsgi_temp_path {tmp_path}/t4; scgi_temp_path {tmp_path}/t5; client_max_body_size 100m;
  log_format seen '$server_protocol $request_method $uri $status $http_authorization'; access_log {tmp_path}/access.log seen;
  server {{
    listen 127.0.0.1:{plain}; listen 127.0.0.1:{secure} ssl http2; root {tmp_path}/www;
    ssl_certificate {leaf[0]}; ssl_certificate_key {leaf[1]};
    location /redirect {{ return 302 /small; }}
    location /upload {{ proxy_pass http://127.0.0.1:{plain}/sink; proxy_request_buffering on; }}
    location /sink {{ return 200 "$content_length"; }}
  }}
}}
""")
    process = subprocess.Popen([shutil.which("nginx") or "/usr/sbin/nginx", "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: (tmp_path / "nginx.pid").exists() or process.poll() is not None, 5, "nginx")
        assert process.poll() is None, process.stderr.read()
        yield tmp_path, plain, secure
    finally:
        process.terminate()
        process.wait(10)


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "https"])
def test_nginx_is_an_upstream(gateway, nginx, authority, secure):
    folder, plain_port, secure_port = nginx
    config = configuration(f"https://localhost:{secure_port}" if secure else f"http://127.0.0.1:{plain_port}")
    if secure:
        config = merged(config, {"upstreams": {"api": {"tls": {"ca": authority.certificate}}}})
    gw = gateway(config)
    assert get(gw, "/small").body == b"small file"
    big = get(gw, "/big")
    assert big.body == (folder / "www" / "big").read_bytes()
    part = get(gw, "/big", [("Range", "bytes=10-19")])
    assert (part.status, part.body) == (206, big.body[10:20])
    assert get(gw, "/small", [("If-None-Match", get(gw, "/small").header("ETag"))]).status == 304
    assert get(gw, "/redirect").status == 302
    assert get(gw, "/missing").status == 404
    assert get(gw, "/small", method="HEAD").header("Content-Length") == "10"
    assert get(gw, "/upload", method="POST", body=b"u" * 2_000_000).body == b"2000000"
    if secure:
        protocols = {line.split()[0] for line in (folder / "access.log").read_text().splitlines() if "/small" in line or "/big" in line}
        assert "HTTP/2.0" in protocols, protocols
