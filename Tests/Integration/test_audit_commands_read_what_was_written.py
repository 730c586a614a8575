"""audit list, tail, show, stats, grep: filters, JSON, colours, rotated and compressed files, and nothing a terminal obeys."""

import gzip
import json
import os
import pty
import subprocess

import pytest

from client import get
from gateway import ENVELOPE, binary, configuration, run_command
from upstream import Answer
from waiting import wait_until

HOSTILE = "\x1b[31mred\x9b1m\u202e"


def line(number, **members):
    record = {"time": f"2026-11-30T07:00:{number % 60:02}.000000Z", "id": f"01JDX{number:021}", "client": "127.0.0.1:5000", "route": "news",
              "upstream": "api", "method": "GET", "target": f"/news/{number}", "steps": {"refresh": "not_needed", "audit": "written"},
              "attempts": [], "status": 200, "request_bytes": 0, "response_bytes": 10, "duration_us": 1000 * number, "failure": None,
              "business_code": None, **members}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def write(path, lines, **options):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "wt", encoding="utf-8") as file:
        file.writelines(lines)
    return path


def ids(result):
    assert result.returncode == 0, result.stderr
    return [int(json.loads(text)["id"][5:]) for text in result.stdout.splitlines()]


def audit(verb, *words, file=None, **options):
    named = ["--file", file] if file else []
    return run_command("audit", verb, *named, *words, **options)


def test_records_of_a_real_gateway_are_found(gateway, upstream, tmp_path):
    upstream.on("GET", "/api/ok", Answer(200, json_body='{"code":0}')).on("GET", "/api/bad", Answer(200, json_body='{"code":4,"msg":"m"}'))
    gw = gateway(configuration(upstream, route={"path": "/api/*", "policy": "envelope"}, policies={"envelope": ENVELOPE}))
    for path in ("/api/ok?a=1", "/api/bad", "/nowhere"):
        get(gw, path)
    records = gw.wait_audit(3)
    for words, wanted in (([], {0, 1, 2}), (["route=api", "status=200"], {0}), (["kind=business \"path~/bad\""], {1}),
                          (["reason=*", "!route=api"], {2}), (["business_code=4", "or", "query=a=1"], {0, 1}), (["normalize=business_rejected"], {1})):
        result = run_command("audit", "list", "--json", "--config", gw.config_file, *words)
        assert result.returncode == 0 and {json.loads(text)["id"] for text in result.stdout.splitlines()} == {records[n]["id"] for n in wanted}
        assert result.stdout == "".join(text + "\n" for text in gw.audit_text().splitlines() if json.loads(text).get("id", "none here") in result.stdout)
    shown = run_command("audit", "show", records[1]["id"][-8:], "-c", gw.config_file)
    assert shown.returncode == 0 and "business_rejected" in shown.stdout and '{"code":4,"msg":"m"}' in shown.stdout
    one = run_command("audit", "show", "--json", records[1]["id"], "-c", gw.config_file)
    assert json.loads(one.stdout) == records[1]
    stats = json.loads(run_command("audit", "stats", "--json", "-c", gw.config_file).stdout)
    assert (stats["records"], stats["failures"], stats["routes"]["api"]["records"], stats["status_4xx"]) == (3, 2, 2, 2)
    assert stats["reasons"] == {"business_rejected": 1, "route_not_found": 1} and stats["first"] == records[0]["time"]
    table = run_command("audit", "stats", "-c", gw.config_file).stdout
    assert "3 records" in table and "business_rejected" in table


def test_rotated_and_compressed_files_are_read_in_their_order(tmp_path):
    file = write(tmp_path / "audit.jsonl", [line(7), line(8)])
    write(tmp_path / "audit-2026-11-30T07-00-00.123.jsonl.gz", [line(3), line(4)])
    write(tmp_path / "audit-2026-11-30T08-00-00.000.jsonl", [line(5), line(6)])
    write(tmp_path / "audit.jsonl.1", [line(2)])
    write(tmp_path / "audit.jsonl.2.gz", [line(1)])
    write(tmp_path / "audit-notes.jsonl", [line(99)])
    write(tmp_path / "other-2026-11-30T08-00-00.000.jsonl", [line(98)])
    assert ids(audit("list", "--json", file=file)) == [7, 8]
    assert ids(audit("list", "--json", "--all", file=file)) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert ids(audit("tail", "-n", 4, "--json", "--all", file=file)) == [5, 6, 7, 8]
    assert ids(audit("list", "-n", "2", "--json", "--all", "duration>=3", file=file)) == [3, 4]
    assert ids(audit("list", "--json", file=tmp_path / "audit-2026-11-30T07-00-00.123.jsonl.gz")) == [3, 4]
    assert ids(audit("list", "--json", file="-", stdin=line(1) + line(2))) == [1, 2]
    whole = gzip.compress(line(1).encode()) + gzip.compress(line(2).encode())
    (tmp_path / "two.gz").write_bytes(whole)
    assert ids(audit("list", "--json", file=tmp_path / "two.gz")) == [1, 2], "members follow one another"
    (tmp_path / "cut.gz").write_bytes(gzip.compress("".join(line(n) for n in range(4000)).encode())[:-2000])
    cut = audit("list", "--json", file=tmp_path / "cut.gz")
    assert cut.returncode == 1 and "broken or cut" in cut.stderr and len(cut.stdout.splitlines()) > 10


def test_what_is_no_record_is_passed_over(tmp_path):
    head, checkpoint = '{"v":1,"chain":"x"}\n', '{"checkpoint":{"count":2}}\n'
    file = write(tmp_path / "a.jsonl", [head, line(1), "\n", "not json\n", '{"id":5}\n', checkpoint, line(2), line(3)[:40]])
    assert ids(audit("list", "--json", file=file)) == [1, 2]
    assert ids(audit("list", "--json", "!zzz", file=file)) == [1, 2]
    assert ids(audit("tail", "--json", file=file)) == [1, 2]
    assert "2 records" in audit("stats", file=file).stdout
    big = write(tmp_path / "b.jsonl", [line(1), line(2, target="/" + "x" * (17 << 20)), line(3, target="/" + "y" * (3 << 20)), line(4)])
    assert ids(audit("list", "--json", file=big)) == [1, 3, 4], "a line beyond the bound is passed over"


def test_nothing_a_terminal_obeys_is_printed(tmp_path):
    file = write(tmp_path / "a.jsonl", [line(1, route=HOSTILE, target="/\n" + HOSTILE, method=HOSTILE, request_headers=[["X", HOSTILE]], status=500,
                                             failure={"reason": HOSTILE, "kind": HOSTILE, "step": HOSTILE, "detail": HOSTILE}, request_body=HOSTILE)])
    for words in (["list"], ["tail"], ["show", f"01JDX{1:021}"], ["stats"], ["list", "--color", "always"]):
        result = audit(*words, file=file)
        shown = result.stdout.replace("\x1b[31m500\x1b[0m", "").replace("\x1b[0m", "").replace("\x1b[31m\\x1b", "").replace(f"\x1b[2m01", "")
        assert result.returncode == 0 and not any(sign in shown for sign in ("\x1b", "\x9b", "\u202e")), (words, result.stdout)
        assert "\\x1b[31mred\\u{9b}1m\\u{202e}" in result.stdout
    on_terminal = in_terminal("audit", "list", "--json", "--file", file)
    assert not any(sign in on_terminal for sign in ("\x1b", "\x9b", "\u202e"))
    assert json.loads(on_terminal)["target"] == "/\n" + HOSTILE, "the value is the same"
    problem = audit("list", "rout=a\x1b[31m", file=file)
    assert problem.returncode == 2 and "\x1b" not in problem.stderr and "did you mean route" in problem.stderr


def in_terminal(*arguments, env=None):
    """Run with standard output on a terminal; return what it shows."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([binary(), *map(str, arguments)], stdout=follower, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                               env={"PATH": "/usr/bin:/bin", "TERM": "xterm", **(env or {})})
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    assert process.wait(20) == 0, process.stderr.read()
    process.stderr.close()
    return shown.decode().replace("\r\n", "\n")


def test_colours_are_for_terminals(tmp_path):
    file = write(tmp_path / "a.jsonl", [line(1)])
    assert "\x1b[32m200" in in_terminal("audit", "list", "--file", file)
    assert "\x1b" not in in_terminal("audit", "list", "--file", file, env={"NO_COLOR": "1"})
    assert "\x1b" not in in_terminal("audit", "list", "--file", file, env={"TERM": "dumb"})
    assert "\x1b" not in in_terminal("audit", "list", "--color", "never", "--file", file)
    assert "\x1b" not in audit("list", file=file).stdout
    assert "\x1b[32m200" in audit("list", "--color=always", file=file).stdout


@pytest.fixture
def follower(tmp_path):
    started = []

    def start(file, *words):
        out = open(tmp_path / f"out{len(started)}", "w+b")
        process = subprocess.Popen([binary(), "audit", "tail", "-f", "--json", "--file", file, *words], stdout=out, stderr=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL)
        started.append((process, out))

        def seen():
            with open(out.name, encoding="utf-8") as reader:
                return [int(json.loads(text)["id"][5:]) for text in reader.read().splitlines()]
        return seen
    yield start
    for process, out in started:
        process.kill()
        process.wait()
        process.stderr.close()
        out.close()


def append(path, text):
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


def test_a_file_is_followed_through_rotation_and_truncation(tmp_path, follower):
    file = str(write(tmp_path / "audit.jsonl", [line(n) for n in range(1, 6)] + [line(6)[:30]]))
    seen = follower(file, "-n", "2")
    wait_until(lambda: seen() == [4, 5], 10, "the last two")
    append(file, line(6)[30:] + line(7)[:20])
    wait_until(lambda: seen() == [4, 5, 6], 10, "a line that was finished")
    append(file, line(7)[20:])
    wait_until(lambda: seen() == [4, 5, 6, 7], 10, "another")
    append(file, line(8))
    os.rename(file, file + ".old")
    append(file + ".old", line(9))
    write(file, [line(10)])
    wait_until(lambda: seen() == [4, 5, 6, 7, 8, 9, 10], 10, "both files")
    with open(file, "r+b") as handle:
        handle.truncate(0)
    append(file, '{"v":1}\n' + line(1)[:-2] + "}\n")
    wait_until(lambda: seen()[7:] == [1], 10, "the file that began anew")


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path, follower):
    file = str(tmp_path / "audit.jsonl")
    seen = follower(file, "status>=500")
    write(file, [line(1), line(2, status=500)])
    wait_until(lambda: seen() == [2], 10, "the first match")


TOKEN = "s3cr3t/Tok+en \"quoted\""


@pytest.mark.parametrize("spelled,form", [
    (TOKEN, "raw"), ("s3cr3t%2FTok%2Ben%20%22quoted%22", "url"), ("s3cr3t%2fTok%2ben%20%22quoted%22", "url"), ("s3cr3t%2FTok%2Ben+%22quoted%22", "form"),
    ("dXNlcjpzM2NyM3QvVG9rK2VuICJxdW90ZWQi", "base64"), (json.dumps({"t": TOKEN}), "json"), (TOKEN.encode().hex(), "hex"),
])
def test_a_leaked_value_is_found_and_not_shown(tmp_path, spelled, form):
    file = write(tmp_path / "a.jsonl", [line(1), line(2, request_body=f"x{spelled}y"), line(3)])
    result = audit("grep", "--value-stdin", "--json", file=file, stdin=TOKEN + "\n")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {"file": str(file), "line": 2, "id": f"01JDX{2:021}", "member": "request_body", "form": form}
    assert "s3cr3t" not in result.stdout + result.stderr
    plain = audit("grep", "--value-stdin", file=file, stdin=TOKEN)
    assert plain.stdout == f"{file}:2  01JDX{2:021}  request_body  {form}\n"


def test_a_value_that_is_nowhere_or_too_short(tmp_path):
    file = write(tmp_path / "a.jsonl", [line(1), "torn s3cr3t-torn"])
    absent = audit("grep", "--value-stdin", file=file, stdin="not-there-at-all\n")
    assert (absent.returncode, absent.stdout) == (1, "") and "not found" in absent.stderr and "not-there" not in absent.stderr
    short = audit("grep", "--value-stdin", file=file, stdin="abc\n")
    assert short.returncode == 1 and "shorter" in short.stderr
    torn = audit("grep", "--value-stdin", file=file, stdin="s3cr3t-torn\n")
    assert torn.returncode == 0 and torn.stdout == f"{file}:2  -  -  raw\n"
    assert audit("grep", file=file).returncode == 2
    assert audit("grep", "--value-stdin", "s3cr3t", file=file).returncode == 2


@pytest.mark.parametrize("words,status,part", [
    ([], 2, "what is to be done is missing"), (["wrong"], 2, "unknown word"), (["list", "status>=x"], 2, "column 9"), (["list", "(a"], 2, "never closed"),
    (["list"], 1, "no cryonet.yaml"), (["list", "--file", "/nowhere/a.jsonl"], 1, "can't read"), (["show"], 2, "one id"),
    (["show", "zz", "--file", "/dev/null"], 1, "no id"), (["show", "01JDX999", "--file", "/dev/null"], 1, "no record"), (["export"], 2, "--har"),
    (["tail", "-n", "x", "--file", "/dev/null"], 2, "-n needs"), (["list", "--color", "red", "--file", "/dev/null"], 2, "--color"),
])
def test_a_wrong_call_says_what_is_wrong(tmp_path, words, status, part):
    result = run_command("audit", *words, folder=tmp_path)
    assert result.returncode == status and part in result.stderr, result.stderr


def test_the_help_has_examples_and_fields():
    for command in ("audit", "curl", "replay"):
        result = run_command(command, "--help")
        assert result.returncode == 0 and f"  cryonet {command} " in result.stdout
    assert "business_code" in run_command("audit", "--help").stdout
