"""The admin side of a gateway as tests see it: its key, its calls, its metrics read by a strict parser."""

import json
import os
import re

from client import Client
from gateway import merged, run_command

ADMIN = {"admin": {"address": "127.0.0.1:0"}}


class Admin:
    """Calls the admin side of `gateway`, which was started with an `admin` section."""

    def __init__(self, gateway):
        self.gateway = gateway
        host, _, port = gateway.ready["admin"].rpartition(":")
        self.host, self.port = host, int(port)
        with open(self.key_file, encoding="utf-8") as file:
            self.key = json.load(file)["key"]

    @property
    def key_file(self):
        return self.gateway.ready_file + ".admin"

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def call(self, method, path, body=None, headers=(), key=True, host=None):
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = list(headers)
        if key:
            fields.append(("Authorization", f"Bearer {self.key if key is True else key}"))
        with Client(self.port) as client:
            return client.request(method, path, fields, content, host=host)

    def get(self, path, **options):
        return self.call("GET", path, **options)

    def json(self, method, path, body=None, status=200):
        response = self.call(method, path, body)
        assert response.status == status, f"{response.status}: {response.body[:400]!r}"
        assert response.header("Content-Type") == "application/json"
        return response.json()

    def token(self, name="app"):
        return self.json("GET", f"/api/tokens/{name}")

    def session(self, name="app"):
        return next(item for item in self.json("GET", "/api/sessions")["sessions"] if item["name"] == name)

    def metrics(self):
        response = self.get("/metrics", key=False)
        assert response.status == 200
        assert response.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8"
        return parse_metrics(response.body.decode())

    def command(self, *words, stdin=None, env=None):
        """A command of the binary that finds the gateway by its ready file."""
        return run_command(*words, "--ready-file", self.gateway.ready_file, stdin=stdin, env=env)


def with_admin(config, **parts):
    return merged(config, merged(ADMIN, {"admin": parts}))


# The text format 0.0.4, strictly: every rule that the format states, and the conventions for names.

NAME = re.compile(r"^[a-zA-Z_:][a-zA-Z0-9_:]*$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|$)')
VALUE = re.compile(r"^(?:[0-9]+(?:\.[0-9]+)?|\+Inf|NaN)$")


def parse_labels(text):
    labels, rest = {}, text
    while rest:
        match = LABEL.match(rest)
        assert match, f"bad labels {text!r}"
        assert match[1] not in labels, f"label {match[1]} twice"
        labels[match[1]] = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], match[2])
        rest = rest[match.end():]
        assert not (match[3] == "," and not rest), "a comma at the end"
    return labels


def family_of(name, kind):
    for suffix in ("_bucket", "_sum", "_count"):
        if kind == "histogram" and name.endswith(suffix):
            return name[:-len(suffix)]
    return name


def parse_metrics(text):
    """{(name, frozenset of labels): value}; every fault of the text is an assertion."""
    assert text.endswith("\n") and "\r" not in text
    samples, kinds, helps, current = {}, {}, {}, None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name, _, meaning = line[7:].partition(" ")
            assert NAME.match(name) and meaning and name not in helps, line
            helps[name], current = meaning, name
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert name == current and name not in kinds, f"TYPE away from its HELP: {line}"
            assert kind in ("counter", "gauge", "histogram"), line
            kinds[name] = kind
            assert (kind == "counter") == name.endswith("_total"), f"{name} is a {kind}"
        else:
            match = re.match(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$", line)
            assert match and VALUE.match(match[3]), f"bad sample {line!r}"
            assert family_of(match[1], kinds.get(current)) == current, f"{match[1]} among the samples of {current}"
            key = (match[1], frozenset(parse_labels(match[2] or "").items()))
            assert key not in samples, f"sample twice: {line}"
            samples[key] = float(match[3].replace("+Inf", "inf"))
    assert set(kinds) == set(helps)
    check_histograms(samples, kinds)
    return samples


def check_histograms(samples, kinds):
    for family in (name for name, kind in kinds.items() if kind == "histogram"):
        series = {}
        for (name, labels), value in samples.items():
            if name == family + "_bucket":
                rest = dict(labels)
                series.setdefault(frozenset((k, v) for k, v in rest.items() if k != "le"), []).append((float(rest["le"]), value))
        for labels, buckets in series.items():
            bounds, counts = zip(*buckets)
            assert list(bounds) == sorted(set(bounds)) and bounds[-1] == float("inf"), f"{family}: bounds {bounds}"
            assert list(counts) == sorted(counts), f"{family}: buckets are not cumulative"
            assert samples[(family + "_count", labels)] == counts[-1]
            assert (family + "_sum", labels) in samples


def sample(metrics, name, **labels):
    return metrics.get((name, frozenset(labels.items())))


def mode(path):
    return os.stat(path).st_mode & 0o777
