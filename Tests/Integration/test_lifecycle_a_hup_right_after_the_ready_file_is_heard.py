"""The ready file promises that signals are heard: a HUP sent the moment it appears reloads the configuration, every time."""

from gateway import configuration
from waiting import wait_until


def test_a_hup_right_after_the_ready_file_is_heard(gateway, upstream):
    for _ in range(5):
        gw = gateway(configuration(upstream))
        gw.hup()
        wait_until(lambda: "configuration reloaded" in gw.stderr(), 5, "the reload")
