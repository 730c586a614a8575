"""Fixtures: a scripted upstream, gateways that are checked at the end of the test, a limit for each test."""

import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import pytest

from certificates import Authority
from gateway import Gateway
from redis_server import RedisServer
from token_endpoint import TokenEndpoint
from upstream import Upstream

DEADLINE_SECONDS = 60


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """A test that hangs fails by name, in its own process."""
    marker = item.get_closest_marker("deadline")
    seconds = marker.args[0] if marker else DEADLINE_SECONDS

    def expire(_signal, _frame):
        raise TimeoutError(f"the test ran for more than {seconds} s")
    before = signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def make_upstream():
    """Starts scripted upstreams; their own faults fail the test."""
    made = []

    def make(**options):
        made.append(Upstream(**options))
        return made[-1]
    yield make
    faults = []
    for upstream in made:
        upstream.stop()
        faults += upstream.faults
    assert not faults, f"the upstream's script failed: {faults}"


@pytest.fixture
def upstream(make_upstream):
    return make_upstream()


@pytest.fixture
def endpoint(upstream):
    """A login-style token endpoint on the upstream; its tokens are watched for in every output."""
    return TokenEndpoint(upstream)


@pytest.fixture
def gateway(tmp_path, request):
    """Starts gateways: `gateway(config, endpoint=…, env=…, secrets=…)`; checks each one at the end.

    A file about what goes wrong lists in `EXPECTED_LOG` the patterns of the lines that the log may have in all its tests.
    """
    made = []

    def make(config, endpoint=None, env=None, secrets=(), **options):
        folder = tmp_path / f"gateway{len(made)}"
        folder.mkdir()
        environment = {**(endpoint.environment() if endpoint else {}), **(env or {})}
        gateway = Gateway(config, folder, env=environment, secrets=secrets, start=False, **options)
        gateway.endpoint = endpoint
        made.append(gateway)
        return gateway.start()
    yield make
    problems = []
    for item in made:
        if item.endpoint:
            item.secrets |= set(item.endpoint.tokens)
        item.expected_errors = item.expected_errors + getattr(request.module, "EXPECTED_LOG", [])
        try:
            item.finish()
        except AssertionError as error:
            problems.append(error)
    if problems:
        raise problems[0]


@pytest.fixture
def redis(tmp_path_factory):
    """Starts real Redis servers: `redis(password=…, tcp=…)`."""
    made = []

    def make(**options):
        # A short path: a UNIX socket's may have 107 bytes.
        made.append(RedisServer(tmp_path_factory.mktemp("r"), **options))
        return made[-1]
    yield make
    for server in made:
        server.stop()


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def leaf(authority):
    """(certificate, key) for localhost and 127.0.0.1."""
    return authority.leaf()
