"""Rotations of one refresh token under load: every round begins with a token that has just died."""

import threading

from client import Client
from gateway import together

CLIENTS = 3


def rotate(gateways, endpoint, rotations, capsys):
    """Several clients at each gateway; every request is answered, and each refresh token is presented exactly once."""
    barrier = threading.Barrier(len(gateways) * CLIENTS, action=endpoint.revoke)

    def hammer(index):
        with Client(gateways[index % len(gateways)].port) as client:
            statuses = []
            for _ in range(rotations):
                barrier.wait(60)
                statuses.append(client.get("/x").status)
            return statuses
    statuses = [status for each in together(len(gateways) * CLIENTS, hammer) for status in each]
    assert statuses == [200] * (rotations * CLIENTS * len(gateways))
    # Strictly rotating: each refresh token was presented once, in the order of their issue, and none was refused.
    assert endpoint.calls == endpoint.tokens[1:2 * rotations + 1:2]
    with capsys.disabled():
        print(f" [{rotations} rotations, {len(statuses)} requests, {len(endpoint.calls)} refreshes]", end="")
