"""Ten thousand idle connections: at most 1.1 KiB of memory each, used before or not, and every one of them still works.

With fewer descriptors than that allowed to this process or the gateway, as many as there are; the figure is a line of the output (-s).
"""

import random
import resource

import pytest

from client import Client
from gateway import configuration
from waiting import wait_until

WANTED, WARM_UP = 10_000, 200
BYTES_EACH_MAX = 1.1 * 1024
IDLE = {"idle_timeout_ms": 600_000, "connections_max": 20_000}


def allowed():
    """Raises this process's soft limit, which the gateway inherits; the number of connections that leaves room for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(WANTED, hard - 300)


@pytest.mark.deadline(120)
@pytest.mark.parametrize("is_used", [False, True], ids=["fresh", "used"])
def test_ten_thousand_idle_connections_cost_little(gateway, upstream, is_used):
    count = allowed()
    upstream.on("GET", "/x", "ok")
    gw = gateway(configuration(upstream, workers=1, limits=IDLE))
    clients = []

    def connect(number):
        for _ in range(number):
            client = Client(gw.port)
            clients.append(client)
            if is_used:
                assert client.get("/x").status == 200
        wait_until(lambda: gw.descriptors() >= len(clients), 30, f"{len(clients)} connections are accepted")
    try:
        connect(WARM_UP)
        if not is_used:
            assert clients[0].get("/x").status == 200
        before = gw.rss()
        connect(count - WARM_UP)
        each = gw.growth(before) / (count - WARM_UP)
        print(f"\n{count} {'used' if is_used else 'fresh'} idle connections: {each:.0f} bytes each")
        assert each <= BYTES_EACH_MAX
        for client in random.Random(7).sample(clients, 200) + [clients[0], clients[-1]]:
            assert client.get("/x").body == b"ok"
    finally:
        for client in clients:
            client.close()
    wait_until(lambda: gw.descriptors() < 100, 30, "every connection is closed")
