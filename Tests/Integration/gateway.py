"""Runs the real binary: a configuration, a ready file, the audit file, signals, and what must be true at its end."""

import base64
import copy
import functools
import json
import mmap
import os
import re
import signal
import subprocess
import threading
from urllib.parse import quote

import record_schema
from waiting import wait_until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
READY_SECONDS = 10.0
EXIT_SECONDS = 15.0
STEPS = ["accept", "read", "route", "inject", "forward", "refresh", "retry", "normalize", "reply", "audit"]
OUTCOMES = {
    "accept": {"accepted", "over_capacity", "draining"},
    "read": {"parsed", "malformed", "too_large", "timed_out", "client_gone"},
    "route": {"matched", "not_found", "host_denied", "origin_denied", "client_key_missing", "loop_detected", "override_unknown",
              "concurrency_limited", "rate_limited"},
    "inject": {"injected", "kept_client_value", "token_missing", "unauthenticated", "client_value_rejected", "not_signed",
               "not_applicable"},
    "forward": {"responded", "dns_failed", "connect_failed", "tls_failed", "timed_out", "reset", "breaker_open"},
    "refresh": {"not_needed", "led", "joined", "already_newer", "rejected", "failed", "window_exceeded"},
    "retry": {"not_needed", "retried", "not_replayable", "limit_reached", "budget_spent", "no_time_left", "not_eligible", "breaker_open"},
    "normalize": {"passed_through", "accepted", "unwrapped", "business_rejected", "not_json", "too_large"},
    "reply": {"sent", "truncated", "client_gone"},
    "audit": {"written", "dropped", "refused"},
}
CRASH_SIGNS = ["Fatal error", "Sanitizer", "runtime error:", "Precondition failed", "Simultaneous accesses",
               "data race", "Illegal instruction", "Segmentation fault"]
ENVELOPE = {
    "success": {"field": "code", "equals": 0, "missing": "success"},
    "message": ["message", "msg", "error", "reason", "detail"],
    "code": "code", "data": "data", "reply": "complete",
    "failure": {"status": 422, "codes": {"10001": 401}},
}


def binary():
    return os.environ.get("CRYONET_BINARY") or os.path.join(ROOT, ".build", "debug", "cryonet")


def merged(base, change):
    """`base` with `change` laid over it: objects merge, everything else replaces, None removes."""
    result = copy.deepcopy(base)
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def configuration(upstream, route=None, **sections):
    """One upstream `api`, one route for everything; `route` and further sections are laid over it."""
    url = upstream if isinstance(upstream, str) else upstream.url
    base = {"listen": {"address": "127.0.0.1:0"},
            "upstreams": {"api": {"url": url}},
            "routes": [merged({"name": "api", "path": "/*", "upstream": "api"}, route or {})]}
    return merged(base, sections)


@functools.cache
def is_sanitized():
    """True when the binary is built with the address or the thread sanitizer."""
    with open(binary(), "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        return image.find(b"__asan_init") >= 0 or image.find(b"__tsan_init") >= 0


def instrument_environment():
    names = ("LLVM_PROFILE_FILE", "CRYONET_FORWARDER")
    return {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS") or key in names}


class Gateway:
    """One process of the gateway with its folder of files."""

    def __init__(self, config, folder, env=None, secrets=(), arguments=(), audit=True, start=True):
        self.folder = str(folder)
        self.secrets = set(filter(None, secrets))
        # Patterns: a warning, an error or a line of another shape that fits none of them fails the test.
        self.expected_errors = []
        self.env = {"PATH": "/usr/bin:/bin", "HOME": self.folder, "LANG": "C.UTF-8", **instrument_environment(), **(env or {})}
        self.arguments = list(arguments)
        self.config = copy.deepcopy(config)
        if audit and "audit" not in self.config:
            self.config["audit"] = {}
        if "audit" in self.config:
            self.config["audit"].setdefault("file", os.path.join(self.folder, "audit.jsonl"))
        self.config_file = os.path.join(self.folder, "cryonet.yaml")
        self.ready_file = os.path.join(self.folder, "ready.json")
        self.stderr_file = os.path.join(self.folder, "stderr.txt")
        self.stdout_file = os.path.join(self.folder, "stdout.txt")
        self.process = None
        self.finished = False
        self.exit_code = None
        self.write_config(self.config)
        if start:
            self.start()

    # Life

    def write_config(self, config):
        # Aside and renamed: a reload that is still running must not see half of it.
        aside = self.config_file + ".new"
        with open(aside, "w", encoding="utf-8") as file:
            json.dump(config, file, indent=1, ensure_ascii=False)
        os.replace(aside, self.config_file)

    def start(self, wait=True):
        if os.path.exists(self.ready_file):
            os.unlink(self.ready_file)
        assert os.path.exists(binary()), f"no gateway at {binary()}: build it or set CRYONET_BINARY"
        command = [binary(), "run", "--config", self.config_file, "--ready-file", self.ready_file, *self.arguments]
        with open(self.stdout_file, "ab") as out, open(self.stderr_file, "ab") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.env,
                                            cwd=self.folder)
        self.finished = False
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"the gateway ended with {self.process.returncode} before it was ready:\n{self.stderr()}")
            try:
                with open(self.ready_file, encoding="utf-8") as file:
                    return json.load(file)
            except (OSError, ValueError):
                return None
        self.ready = wait_until(ready, READY_SECONDS, "ready file")
        port = self.ready["listen"][0].rpartition(":")[2]
        # A UNIX socket has none.
        self.port = int(port) if port.isdigit() else 0
        return self.ready

    @property
    def pid(self):
        return self.process.pid

    @property
    def authority(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return f"http://{self.authority}"

    def running(self):
        return self.process is not None and self.process.poll() is None

    def hup(self):
        os.kill(self.pid, signal.SIGHUP)

    def reload(self, config, marker=r"reload"):
        """Write a configuration and send HUP; wait until the log says that the reload was done or refused."""
        before = len(re.findall(marker, self.stderr(), re.IGNORECASE))
        self.write_config(config)
        self.hup()
        wait_until(lambda: len(re.findall(marker, self.stderr(), re.IGNORECASE)) > before, 5, "a line about the reload")

    def term(self):
        os.kill(self.pid, signal.SIGTERM)

    def kill(self):
        """SIGKILL, as a crash or a power cut would end it."""
        self.process.kill()
        self.process.wait(EXIT_SECONDS)
        self.finished = True

    def wait_exit(self, timeout=EXIT_SECONDS):
        self.exit_code = self.process.wait(timeout)
        return self.exit_code

    def finish(self):
        """End the process and check everything that must be true after any test."""
        if self.process is None:
            return
        try:
            if self.running() and not self.finished:
                self.term()
                assert self.wait_exit() == 0, f"exit code {self.exit_code}\n{self.stderr()}"
            elif not self.finished:
                assert self.process.returncode == 0, f"exit code {self.process.returncode}\n{self.stderr()}"
        except subprocess.TimeoutExpired:
            raise AssertionError(f"no exit within {EXIT_SECONDS} s of TERM\n{self.stderr()}") from None
        finally:
            if self.running():
                self.process.kill()
                self.process.wait()
        self.check_output()

    def check_output(self):
        text = self.stderr() + self.stdout()
        for sign in CRASH_SIGNS:
            assert sign not in text, f"{sign!r} in the output:\n{text}"
        for line in self.stderr().splitlines():
            if not is_plain_line(line):
                assert any(re.search(pattern, line) for pattern in self.expected_errors), f"unexpected line in the log: {line}"
        outputs = {"the output": text, "the audit file": self.audit_text()}
        for secret in self.secrets:
            for form in secret_forms(secret):
                for place, content in outputs.items():
                    assert form not in content, f"a secret is in {place}"
        for record in self.audit():
            check_record(record)

    # What it wrote

    def stderr(self):
        return read_text(self.stderr_file)

    def stdout(self):
        return read_text(self.stdout_file)

    @property
    def audit_file(self):
        return self.config["audit"]["file"]

    def audit_text(self):
        return read_text(self.config["audit"]["file"]) if "audit" in self.config else ""

    def audit(self):
        """All complete records of exchanges so far."""
        return records_of(self.audit_text())

    def wait_audit(self, count, timeout=5.0):
        """Wait for `count` records, exactly: one more is a fault too."""
        wait_until(lambda: len(self.audit()) >= count, timeout, f"{count} audit records (now {len(self.audit())})")
        records = self.audit()
        assert len(records) == count, f"{len(records)} audit records, wanted {count}"
        return records

    # What it uses

    def status_kib(self, field):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return int(re.search(rf"^{field}:\s+(\d+) kB", file.read(), re.MULTILINE)[1])

    def rss(self):
        return self.status_kib("VmRSS") * 1024

    def processor_seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def reset_peak_rss(self):
        with open(f"/proc/{self.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")

    def peak_rss(self):
        return self.status_kib("VmHWM") * 1024

    def peak_growth(self, before):
        """Bytes the peak is above `before`; 0 under a sanitizer, whose own memory says nothing about ours."""
        return 0 if is_sanitized() else self.peak_rss() - before

    def growth(self, before):
        return 0 if is_sanitized() else self.rss() - before

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


def records_of(text):
    """The records of exchanges in whole lines. Those of the audit itself, openings and checkpoints, are left out, and so is half a line
    of a killed process that an opening tells of."""
    lines = text[:text.rfind("\n") + 1].splitlines()
    return [json.loads(line) for line, after in zip(lines, [*lines[1:], ""])
            if not line.startswith('{"audit":') and not (after.startswith('{"audit":"opened"') and '"torn_bytes"' in after)]


def check_record(record):
    """The shape that every audit record has."""
    wrong = record_schema.problems(record)
    assert not wrong, f"{wrong}: {record}"
    for step, outcome in record["steps"].items():
        assert step in OUTCOMES and outcome in OUTCOMES[step], f"{step}: {outcome}"
    assert record["steps"].get("audit") == "written", record["steps"]
    for position, attempt in enumerate(record["attempts"], 1):
        assert attempt["number"] == position, record["attempts"]
        assert {"number", "start_us", "duration_us", "status", "outcome", "token_version", "reused"} <= set(attempt), attempt
    if record["failure"] is not None:
        assert {"reason", "kind", "step"} <= set(record["failure"]), record["failure"]
        assert record["failure"]["step"] in STEPS


def is_plain_line(line):
    """A line of the log of level info. All else is to be expected by the test: warnings, errors, and what is no line of the log."""
    return re.match(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ info \S", line) is not None


def secret_forms(secret):
    return {secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode().rstrip("=")}


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def run_command(*arguments, env=None, timeout=20, folder=None, stdin=None):
    """A command of the binary that ends by itself."""
    return subprocess.run([binary(), *map(str, arguments)], capture_output=True, text=True, timeout=timeout, cwd=folder,
                          input=stdin, env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8",
                                            **instrument_environment(), **(env or {})})


def together(count, work):
    """Run `work(index)` on `count` threads that start at the same moment; return the results in order."""
    results, failures = [None] * count, []
    barrier = threading.Barrier(count)

    def body(index):
        try:
            barrier.wait(20)
            results[index] = work(index)
        except BaseException as error:  # Raised again in the test's own thread.
            failures.append(error)
    threads = [threading.Thread(target=body, args=(index,), daemon=True) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a client thread hangs"
    if failures:
        raise failures[0]
    return results
