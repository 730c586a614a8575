"""Some uses of each system and libcurl call fail, at the start, while serving and in the drain: no crash, nobody left waiting, nothing
leaked, no answer that only looks whole, and the next requests are served. `scripts/torture` fails every use of each.
"""

import os
import sys

import pytest

from gateway import ROOT, is_sanitized

sys.path.insert(0, os.path.join(ROOT, "Tests", "Torture"))

from torture import PARTS, Torture  # noqa: E402


@pytest.mark.deadline(180)
@pytest.mark.skipif(is_sanitized(), reason="a sanitizer must be the first library, and has its own calls")
@pytest.mark.parametrize("part", PARTS)
def test_a_failing_call_costs_no_more_than_its_exchange(part, tmp_path):
    torture = Torture(str(tmp_path), quick=True)
    findings = torture.run([part])
    assert not findings, "\n".join(findings)
    # Not one use that failed would mean that the library was not heard.
    assert torture.failures > 10
