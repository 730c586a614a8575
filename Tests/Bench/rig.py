"""Processes, configurations and meters that all measurements share."""
import os, shutil, signal, socket, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
BODY = b'{"code":0,"msg":"ok","data":{"id":12345,"name":"' + b"x" * 240 + b'"}}'
TOKEN = "bench-token-0123456789abcdef"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, child, log):
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        if child.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.002)
    raise SystemExit(f"bench: nothing listens on {port}:\n{open(log, errors='replace').read()[-2000:]}")


class Process:
    """Started here, ended here by its pid."""

    def __init__(self, command, port, folder, cpu=None, environment=None):
        words = (["taskset", "-c", str(cpu)] if cpu is not None else []) + command
        self.log = f"{folder}/{os.path.basename(command[0])}.{port}.log"
        self.port = port
        begun = time.monotonic()
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(words, stdout=log, stderr=log, cwd=folder, env={**os.environ, **(environment or {})})
        wait_for_port(port, self.child, self.log)
        self.start_ms = (time.monotonic() - begun) * 1000

    def family(self):
        pids = [self.child.pid]
        for pid in pids:
            try:
                pids += [int(word) for word in open(f"/proc/{pid}/task/{pid}/children").read().split()]
            except OSError:
                pass
        return pids

    def cpu_seconds(self):
        ticks = 0
        for pid in self.family():
            try:
                fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def rss_kib(self):
        total = 0
        for pid in self.family():
            try:
                total += next(int(line.split()[1]) for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS"))
            except (OSError, StopIteration):
                pass
        return total

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(5)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


class Rig:
    """A folder, an nginx upstream, and whatever is measured in front of it. Proxies have CPU 0, load and upstream CPU 1."""

    def __init__(self, binary):
        self.binary = binary
        self.nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        if not self.nginx:
            raise SystemExit("bench: the upstream is an nginx, and there is none (scripts/dependencies test)")
        self.folder = tempfile.mkdtemp(prefix="cryonet-bench.")
        self.processes = []
        cpus = sorted(os.sched_getaffinity(0))
        self.proxy_cpu, self.load_cpu = cpus[0], cpus[-1]
        self.port, self.tls_port = free_port(), free_port()
        self._write_upstream()
        self.start([self.nginx, "-p", self.folder, "-c", f"{self.folder}/upstream.conf"], self.port, cpu=self.load_cpu)

    def start(self, command, port, cpu=None, environment=None):
        process = Process(command, port, self.folder, cpu, environment)
        self.processes.append(process)
        return process

    def close(self):
        for process in reversed(self.processes):
            process.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, name, text):
        path = f"{self.folder}/{name}"
        with open(path, "wb" if isinstance(text, bytes) else "w") as file:
            file.write(text)
        return path

    def nginx_head(self, name, workers=1):
        user = "user root;" if os.geteuid() == 0 else ""
        paths = " ".join(f"{kind}_temp_path {self.folder}/{name}-{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return (f"{user} worker_processes {workers}; daemon off; pid {self.folder}/{name}.pid; error_log {self.folder}/{name}.err warn;\n"
                "worker_rlimit_nofile 20000; events { worker_connections 8192; }\n", paths)

    def _write_upstream(self):
        os.makedirs(f"{self.folder}/www")
        item = b'{"id":1,"title":"Item \\"quoted\\"","price":12.5,"tags":["a","bb"],"ok":true,"n":null},'
        large = b'{"code":0,"msg":"ok","data":[' + item * (65_000 // len(item)) + b"0]}"
        self.write("www/small.json", BODY)
        self.write("www/large.json", large.ljust(65_536))
        self.write("www/blob.bin", os.urandom(1 << 20))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", f"{self.folder}/key.pem", "-out",
                        f"{self.folder}/cert.pem"], check=True, capture_output=True)
        head, paths = self.nginx_head("upstream")
        small = BODY.decode()
        self.write("upstream.conf", head + f"""http {{ access_log off; {paths} default_type application/json; keepalive_timeout 600s;
            keepalive_requests 100000000; client_max_body_size 0; sendfile on; tcp_nodelay on; open_file_cache max=10 inactive=1h;
            server {{ listen 127.0.0.1:{self.port} backlog=4096; listen 127.0.0.1:{self.tls_port} ssl backlog=4096; root {self.folder}/www;
              ssl_certificate {self.folder}/cert.pem; ssl_certificate_key {self.folder}/key.pem; ssl_protocols TLSv1.3;
              location = /s {{ return 200 '{small}'; }} 
              # A plain `return` would answer before the body is read, which ends an upload.
              location = /up {{ client_body_buffer_size 16m; proxy_pass http://127.0.0.1:{self.port}/s; proxy_pass_request_body off;
                                proxy_set_header Content-Length ""; }}
              location = /j64 {{ try_files /large.json =404; }}
              location = /b1m {{ default_type application/octet-stream; try_files /blob.bin =404; }} }} }}""")

    # ---- what is measured ---------------------------------------------------------------------------

    def cryonet(self, policies=True, tls=False, environment=None, workers=1, cpu=True, upstream_port=None):
        port = free_port()
        upstream = f"https://127.0.0.1:{self.tls_port}" if tls else f"http://127.0.0.1:{upstream_port or self.port}"
        lines = [f"listen: {{ address: 127.0.0.1:{port}, hosts: [localhost, 127.0.0.1] }}", f"workers: {workers}",
                 f"upstreams: {{ api: {{ url: {upstream}" + (f", tls: {{ ca: {self.folder}/cert.pem }}" if tls else "") + " } }"]
        if policies:
            lines += ["tokens:", "  app:",
                      "    oauth2: { grant_type: client_credentials, token_endpoint: " + f"http://127.0.0.1:{self.port}/token, "
                      "client_id: bench, client_secret: env:BENCH_SECRET }",
                      "    initial: { token: env:BENCH_TOKEN }",
                      "policies: { envelope: { success: { field: code, equals: 0 }, message: [msg], code: code } }",
                      "routes: [{ name: api, path: /*, upstream: api, token: app, policy: envelope }]",
                      f"audit: {{ file: {self.folder}/audit.{port}.jsonl }}"]
        else:
            lines += ["routes: [{ name: api, path: /*, upstream: api }]"]
        path = self.write(f"cryonet.{port}.yaml", "\n".join(lines) + "\n")
        return self.start([self.binary, "run", "--config", path], port, self.proxy_cpu if cpu else None,
                          {"BENCH_TOKEN": TOKEN, "BENCH_SECRET": "bench-secret-value", **(environment or {})})

    def nginx_proxy(self, log=False, lua=False, tls=False, workers=1, cpu=True, upstream_port=None, unbuffered=False):
        port = free_port()
        name = f"proxy.{port}"
        head, paths = self.nginx_head(name, workers)
        modules = ""
        if lua:
            modules = "load_module /usr/lib/nginx/modules/ndk_http_module.so; load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;\n"
        # What an audit record says, as far as nginx knows it.
        line = ("log_format j escape=json '{\"time\":\"$time_iso8601\",\"id\":\"$request_id\",\"client\":\"$remote_addr\",\"method\":"
                "\"$request_method\",\"target\":\"$request_uri\",\"host\":\"$http_host\",\"agent\":\"$http_user_agent\",\"status\":$status,"
                "\"upstream\":\"$upstream_addr\",\"upstream_status\":\"$upstream_status\",\"upstream_s\":\"$upstream_response_time\",\"s\":"
                "\"$request_time\",\"in\":$request_length,\"out\":$bytes_sent,\"type\":\"$sent_http_content_type\""
                + (',\"code\":\"$code\"' if lua else "") + f"}}'; access_log {self.folder}/{name}.log j buffer=64k flush=1s;"
                ) if log or lua else "access_log off;"
        scheme, upstream = ("https", self.tls_port) if tls else ("http", upstream_port or self.port)
        verify = f"proxy_ssl_trusted_certificate {self.folder}/cert.pem; proxy_ssl_verify on; proxy_ssl_name localhost; proxy_ssl_protocols TLSv1.3; " if tls else ""
        common = f'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_request_buffering off; {"proxy_buffering off; " if unbuffered else ""}{verify}'
        token = f'proxy_set_header Authorization "Bearer {TOKEN}";' if log else ""
        location = f"location / {{ proxy_pass {scheme}://u; {common} {token} }}"
        dictionary = ""
        if lua:
            dictionary, location = self._lua_policies(f"{scheme}://u", common)
        self.write(f"{name}.conf", modules + head + f"""http {{ {dictionary} {line} {paths} keepalive_timeout 600s; keepalive_requests 100000000;
            tcp_nodelay on; client_max_body_size 0; upstream u {{ server 127.0.0.1:{upstream}; keepalive 256; keepalive_requests 100000000; }}
            server {{ listen 127.0.0.1:{port} backlog=4096; {location} }} }}""")
        return self.start([self.nginx, "-p", self.folder, "-c", f"{self.folder}/{name}.conf"], port, self.proxy_cpu if cpu else None)

    @staticmethod
    def _lua_policies(upstream, common):
        """The policies of `cryonet` for nginx: the token of a shared dictionary, one refresh for everybody on 401 and a replay, the envelope."""
        dictionary = f'lua_shared_dict tokens 1m; init_by_lua_block {{ json = require "cjson.safe"; ngx.shared.tokens:set("app", "{TOKEN}") }}'
        return dictionary, f"""set $code "";
          location /refresh {{ internal; access_log off; proxy_pass {upstream}/token; {common} }}
          location /attempt/ {{ internal; access_log off; proxy_pass {upstream}/; {common} set $authorization "";
            rewrite_by_lua_block {{ ngx.var.authorization = "Bearer " .. ngx.shared.tokens:get("app") }}
            proxy_set_header Authorization $authorization; }}
          location / {{ content_by_lua_block {{
            local tokens, used = ngx.shared.tokens, ngx.shared.tokens:get("app")
            local target = "/attempt" .. ngx.var.request_uri
            local options = {{ method = ngx["HTTP_" .. ngx.req.get_method()], always_forward_body = true }}
            local answer = ngx.location.capture(target, options)
            if answer.status == 401 then
              while tokens:get("app") == used do
                if tokens:add("refreshing", true, 10) then
                  local fresh = json.decode(ngx.location.capture("/refresh", {{ method = ngx.HTTP_POST }}).body)
                  tokens:set("app", fresh and fresh.access_token or "none")
                  tokens:delete("refreshing")
                else
                  ngx.sleep(0.005)
                end
              end
              answer = ngx.location.capture(target, options)
            end
            local kind, body = answer.header["Content-Type"], answer.body
            if answer.status < 300 and kind and kind:find("json", 1, true) and #body <= 65536 then
              local envelope = json.decode(body)
              if envelope and envelope.code == 0 then
                ngx.var.code = "0"
              else
                local failure = {{ kind = "business", code = envelope and envelope.code, message = envelope and envelope.msg }}
                answer.status, body, kind = 502, json.encode(failure), "application/json"
              end
            end
            ngx.status = answer.status
            ngx.header["Content-Type"] = kind
            ngx.header["Content-Length"] = #body
            ngx.print(body) }} }}"""

    def event_source(self):
        """The port of an upstream that sends stamped events."""
        port = free_port()
        self.start([sys.executable, f"{HERE}/events.py", "source", str(port)], port, self.load_cpu)
        return port

    def haproxy(self):
        port = free_port()
        path = self.write(f"haproxy.{port}.cfg", f"""global
  nbthread 1
  maxconn 8000
defaults
  mode http
  timeout client 600s
  timeout server 600s
  timeout connect 5s
frontend f
  bind 127.0.0.1:{port}
  default_backend b
backend b
  http-reuse always
  server s 127.0.0.1:{self.port}
""")
        return self.start([shutil.which("haproxy"), "-db", "-f", path], port, self.proxy_cpu)

    @staticmethod
    def has_lua():
        return os.path.exists("/usr/lib/nginx/modules/ngx_http_lua_module.so")
