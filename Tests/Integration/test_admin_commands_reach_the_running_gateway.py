"""token, session, wait, reload, drain: they find the gateway and its key, read secrets from standard input, and exit 0, 1 or 2."""

import json
import os

import pytest

from admin import Admin, with_admin
from client import get
from failures import assert_failure
from gateway import configuration, merged, run_command
from upstream import Answer
from waiting import wait_until

EXPECTED_LOG = [r"warning (token|session) ", r"a literal secret", r"NOT_SET is not set"]


@pytest.fixture
def admin(gateway, upstream, endpoint, tmp_path):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "ok")))
    config = configuration(upstream, route={"token": "app"}, tokens={"app": endpoint.configuration()})
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    gw = gateway(with_admin(config), endpoint=endpoint, env={"XDG_RUNTIME_DIR": str(runtime)})
    admin = Admin(gw)
    admin.runtime = {"XDG_RUNTIME_DIR": str(runtime)}
    return admin


def test_the_running_gateway_is_found_by_itself(admin):
    listed = run_command("token", "list", env=admin.runtime)
    assert listed.returncode == 0, listed.stderr
    head, row = listed.stdout.splitlines()
    assert head.split()[:4] == ["TOKEN", "SOURCE", "STATE", "VERSION"] and row.split()[:4] == ["app", "login", "valid", "1"]
    assert json.loads(run_command("token", "status", "app", "--json", env=admin.runtime).stdout) == admin.token()
    by_address = run_command("token", "list", "--admin", admin.url, env=admin.runtime)
    assert by_address.stdout == listed.stdout


def test_a_killed_gateway_is_not_taken_for_a_running_one(admin):
    folder = os.path.join(admin.runtime["XDG_RUNTIME_DIR"], "cryonet")
    with open(os.path.join(folder, "1.json"), "w", encoding="utf-8") as file:
        json.dump({"admin": "127.0.0.1:1", "key": "old", "pid": 2 ** 22 + 1}, file)
    assert run_command("token", "list", env=admin.runtime).returncode == 0


def test_tokens_are_set_from_standard_input(admin, endpoint):
    endpoint.access, endpoint.refresh = endpoint.issue()
    done = admin.command("token", "set", "app", "--expires-in", "600", stdin=f"{endpoint.access}\n{endpoint.refresh}\n")
    assert done.returncode == 0, done.stderr
    assert endpoint.access not in done.stdout + done.stderr
    assert get(admin.gateway, "/x").status == 200
    token = admin.token()
    assert token["version"] == 2 and token["hasRefreshToken"] and token["expiresAt"]
    body = json.dumps({"token": endpoint.access})
    assert admin.command("session", "login", "app", stdin=body).returncode == 0
    assert admin.token()["version"] == 3
    empty = admin.command("token", "set", "app", stdin="")
    assert empty.returncode == 1 and "holds no token" in empty.stderr


def test_refresh_clear_and_logout(admin):
    refreshed = admin.command("token", "refresh", "app", "--json")
    assert refreshed.returncode == 0 and json.loads(refreshed.stdout)["version"] == 2
    revision = json.loads(admin.command("session", "list", "--json").stdout)["sessions"][0]["revision"]
    other = admin.command("session", "logout", "app", "--revision", revision[::-1])
    assert other.returncode == 1 and "admin_refused" in other.stderr
    assert admin.command("session", "logout", "app", "--revision", revision).returncode == 0
    assert admin.command("token", "clear", "app").returncode == 1
    assert admin.token()["state"] == "missing"


def test_wrong_use_is_status_2_and_tells_how(admin):
    for words in (["token"], ["token", "eat", "app"], ["token", "set"], ["token", "list", "app"], ["session", "logout"],
                  ["token", "list", "--key", "the-key-itself"], ["wait", "--timeout-s", "0"], ["reload", "now"],
                  ["token", "list", "--admin", "nowhere"]):
        done = run_command(*words, env=admin.runtime)
        assert done.returncode == 2, (words, done.stderr)
        assert "the-key-itself" not in done.stderr
    help_text = run_command("token", "--help").stdout
    assert "Examples:" in help_text and "cryonet token set app" in help_text
    missing = run_command("token", "status", "nobody", env=admin.runtime)
    assert missing.returncode == 1 and "there is no token of that name" in missing.stderr
    nobody = run_command("token", "list", env={"XDG_RUNTIME_DIR": "/nonexistent"})
    assert nobody.returncode == 1 and "--admin" in nobody.stderr


def test_wait_ends_when_the_gateway_is_ready(admin):
    assert admin.command("wait", "--timeout-s", "10").stdout == "ready\n"
    late = run_command("wait", "--admin", "http://127.0.0.1:1", "--timeout-s", "1")
    assert late.returncode == 1 and "within 1 s" in late.stderr


def test_reload_takes_a_good_file_and_tells_of_a_bad_one(admin, make_upstream):
    two = make_upstream()
    two.on("GET", "/x", "two")
    admin.gateway.write_config(merged(admin.gateway.config, {"upstreams": {"api": {"url": two.url}}}))
    done = admin.command("reload")
    assert done.returncode == 0 and done.stdout == "reloaded\n", done.stderr
    assert get(admin.gateway, "/x").body == b"two"
    admin.gateway.expected_errors = [r"reload|cryonet\.yaml"]
    admin.gateway.write_config(merged(admin.gateway.config, {"routes": None}))
    bad = admin.command("reload")
    assert bad.returncode == 1 and "admin_refused" in bad.stderr
    assert get(admin.gateway, "/x").body == b"two"


def test_a_refused_reload_lists_the_problems_with_their_places(admin):
    gw = admin.gateway
    gw.expected_errors = [r"reload|cryonet\.yaml"]
    with open(gw.config_file, "w", encoding="utf-8") as file:
        file.write("listen: { address: 127.0.0.1:0 }\nadmin: { address: 127.0.0.1:0 }\nupstreams: { api: { url: ftp://a } }\n"
                   "routes:\n  - { name: r, path: /*, upstream: apo }\nrouts: []\n")
    failure = assert_failure(admin.call("POST", "/api/reload"), 409, "admin_refused")
    assert failure["detail"] == "the configuration has problems; the old one stays"
    places = [problem.partition(": ")[0] for problem in failure["problems"]]
    assert places == [f"{gw.config_file}:{place}" for place in ("3:26", "5:36", "6:1")], failure["problems"]
    assert 'did you mean "api"' in failure["problems"][1] and 'unknown key "routs"' in failure["problems"][2]
    told = admin.command("reload")
    assert told.returncode == 1 and all(problem in told.stderr.splitlines() for problem in failure["problems"])
    os.unlink(gw.config_file)
    failure = assert_failure(admin.call("POST", "/api/reload"), 409, "admin_refused")
    assert failure["problems"] == [f"can't read {gw.config_file}: no such file or directory"]
    gw.write_config(gw.config)


def test_what_a_reload_cannot_change_is_said_in_its_answer(admin, tmp_path):
    gw = admin.gateway
    gw.expected_errors = [r"needs a restart"]
    key = tmp_path / "key"
    key.write_text("another-key-0123456789")
    gw.secrets.add("another-key-0123456789")
    change = {"admin": {"address": f"unix:{tmp_path}/a.sock", "key": f"file:{key}"}, "listen": {"address": f"unix:{tmp_path}/l.sock"},
              "workers": 3}
    gw.write_config(merged(gw.config, change))
    expected = ["listen.address needs a restart: it stays 127.0.0.1:0", "workers needs a restart",
                "admin.address needs a restart: it stays 127.0.0.1:0", "admin.key needs a restart"]
    assert admin.json("POST", "/api/reload") == {"reloaded": True, "needsRestart": expected}
    # Still so, and still said: it is the running address that counts, not the last file.
    told = admin.command("reload")
    assert told.returncode == 0 and told.stdout == "reloaded\n" and told.stderr.splitlines() == expected
    gw.write_config(gw.config)
    assert admin.json("POST", "/api/reload") == {"reloaded": True, "needsRestart": []}


def test_drain_ends_the_gateway(admin):
    done = admin.command("drain")
    assert done.returncode == 0 and done.stdout == "draining\n", done.stderr
    wait_until(lambda: not admin.gateway.running(), 15, "the end of the gateway")


def test_the_configuration_is_shown_without_secrets(gateway, upstream):
    secret = "a-literal-secret-of-the-file"
    gw = gateway(with_admin(configuration(upstream, tokens={"app": {"static": {"token": secret}}})), secrets=[secret])
    answer = Admin(gw).get("/api/config")
    assert answer.status == 200 and answer.header("Content-Type") == "application/yaml"
    text = answer.body.decode()
    assert secret not in text and "***" in text and upstream.url in text


def test_the_description_has_every_path(admin):
    document = admin.json("GET", "/api/openapi.json")
    assert document["openapi"] == "3.1.0"
    assert {"/livez", "/readyz", "/startupz", "/metrics", "/api/tokens", "/api/tokens/{name}", "/api/tokens/{name}/refresh",
            "/api/tokens/{name}/clear", "/api/sessions", "/api/sessions/{name}/login", "/api/sessions/{name}/logout", "/api/config",
            "/api/reload", "/api/drain"} <= set(document["paths"])
    schemas = document["components"]["schemas"]
    operations = [operation for item in document["paths"].values() for key, operation in item.items() if key != "parameters"]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    for operation in operations:
        for answer in operation["responses"].values():
            for content in (content for kind, content in answer.get("content", {}).items() if kind.endswith("json")):
                assert content["schema"]["$ref"].rpartition("/")[2] in schemas
    assert set(schemas["Token"]["required"]) == set(admin.token())
    assert set(schemas["Session"]["required"]) == set(admin.session())
