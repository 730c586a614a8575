"""Who has logged out stays so over a restart, although `initial` is still configured; a changed `initial` is a new login."""

import pytest

from admin import Admin, with_admin
from client import get
from gateway import configuration
from upstream import Answer
from waiting import wait_until

EXPECTED_LOG = [r"warning (token|session) "]

AGAIN = "initial is not used again until it changes"


def restart(gw):
    gw.term()
    assert gw.wait_exit() == 0
    gw.start()


@pytest.fixture
def start(gateway, upstream, endpoint, tmp_path):
    upstream.on("GET", "/x", endpoint.guard(Answer(200, "in")))
    section = endpoint.configuration(tmp_path / "app.json")
    return gateway(with_admin(configuration(upstream, route={"token": "app"}, tokens={"app": section})), endpoint=endpoint)


def log_out(gw):
    admin = Admin(gw)
    admin.json("POST", "/api/sessions/app/logout")
    wait_until(lambda: admin.session()["state"] == "unauthenticated", 10, "the end of the logout")


@pytest.mark.parametrize("rotates", [False, True])
def test_it_does(start, endpoint, tmp_path, rotates):
    gw = start
    if rotates:
        endpoint.revoke()
    assert get(gw, "/x").status == 200
    log_out(gw)
    kept = (tmp_path / "app.json").read_text()
    assert not any(token in kept for token in endpoint.tokens), "a logout leaves no secret behind"
    calls = len(endpoint.calls)
    for _ in range(2):
        restart(gw)
        assert get(gw, "/x").status == 401
        assert Admin(gw).session()["state"] == "unauthenticated"
    assert gw.stderr().count(AGAIN) == 2
    assert len(endpoint.calls) == calls and (tmp_path / "app.json").read_text() == kept


def test_another_initial_is_another_login(start, endpoint):
    gw = start
    log_out(gw)
    with endpoint.lock:
        endpoint.access, endpoint.refresh = endpoint.issue()
    gw.env.update({"APP_TOKEN": endpoint.access, "APP_REFRESH_TOKEN": endpoint.refresh})
    restart(gw)
    assert AGAIN not in gw.stderr()
    assert get(gw, "/x").status == 200
    endpoint.revoke()
    assert get(gw, "/x").status == 200
    restart(gw)
    assert get(gw, "/x").status == 200


def test_a_login_after_the_logout_is_kept(start, endpoint):
    gw = start
    log_out(gw)
    restart(gw)
    Admin(gw).json("PUT", "/api/tokens/app", {"token": endpoint.access, "refresh_token": endpoint.refresh})
    assert get(gw, "/x").status == 200
    restart(gw)
    assert get(gw, "/x").status == 200 and gw.stderr().count(AGAIN) == 1


def test_a_login_that_was_refused_begins_anew_with_initial(start, endpoint, tmp_path):
    """That is no logout: the server may have changed its mind, and nobody asked for the end."""
    gw = start
    endpoint.revoke()
    assert get(gw, "/x").status == 200
    endpoint.answers = [None] * len(endpoint.calls) + [endpoint.refusal()]
    endpoint.revoke()
    assert get(gw, "/x").status == 401
    wait_until(lambda: not (tmp_path / "app.json").exists(), 10, "the refused pair is set aside")
    restart(gw)
    assert AGAIN not in gw.stderr() and Admin(gw).session()["state"] == "authenticated"
