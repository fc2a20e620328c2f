import json

import numba
import pytest
from tests.core.operations import RECORD, WORKLOADS, count

RECORDED = json.loads(RECORD.read_text())


@pytest.mark.skipif(not numba.config.DISABLE_JIT, reason="counts lines that are interpreted")
@pytest.mark.parametrize("name", WORKLOADS)
def test_no_more_operations_than_recorded(name):
    """15 % more are a regression, or a decision: then record them anew (see ``operations``)."""
    assert count(WORKLOADS[name]) <= 1.15 * RECORDED[name]


def test_every_workload_is_recorded():
    assert list(RECORDED) == list(WORKLOADS)
    assert min(RECORDED.values()) > 100
