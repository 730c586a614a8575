"""1,000 requests on 256 connections over two workers, the token revoked in mid-flight: one refresh, no failed call, one record each."""

import threading
import time

import pytest

from client import Client
from gateway import configuration
from upstream import Answer

CONNECTIONS, REQUESTS = 256, 1000


@pytest.mark.deadline(120)
def test_a_token_revoked_in_mid_flight_costs_one_refresh(gateway, upstream, endpoint, record_property):
    upstream.on("GET", "/n", endpoint.guard(Answer(200, json_body={"code": 0, "data": {"n": 1}})))
    gw = gateway(configuration(upstream, route={"token": "app"}, workers=2, tokens={"app": endpoint.configuration()}), endpoint=endpoint)
    answers, failures, lock = [], [], threading.Lock()
    barrier, revoked = threading.Barrier(CONNECTIONS), threading.Event()

    def run(index):
        mine = REQUESTS // CONNECTIONS + (1 if index < REQUESTS % CONNECTIONS else 0)
        try:
            with Client(gw.port) as client:
                barrier.wait(60)
                for _ in range(mine):
                    response = client.get("/n")
                    with lock:
                        answers.append((response.status, response.body))
                        if len(answers) == REQUESTS // 3:
                            endpoint.revoke()
                            revoked.set()
        except BaseException as error:
            failures.append(error)
    started = time.monotonic()
    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert not failures, failures[0]
    assert revoked.is_set() and len(answers) == REQUESTS
    assert {answer for answer in answers} == {(200, b'{"code": 0, "data": {"n": 1}}')}
    assert len(endpoint.calls) == 1, f"{len(endpoint.calls)} refreshes"
    records = gw.wait_audit(REQUESTS, 20)
    outcomes = [record["steps"]["refresh"] for record in records]
    assert outcomes.count("led") == 1
    record_property("seconds", round(time.monotonic() - started, 3))
    record_property("replayed", sum(len(record["attempts"]) == 2 for record in records))
    record_property("joined", outcomes.count("joined"))
