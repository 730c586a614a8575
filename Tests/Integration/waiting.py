"""Waiting for a condition with a limit: the only place where a test polls."""

import time

STEP_SECONDS = 0.005


def wait_until(condition, timeout=5.0, what="condition"):
    """Return the first true value of `condition()`; fail after `timeout` seconds."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(STEP_SECONDS)
