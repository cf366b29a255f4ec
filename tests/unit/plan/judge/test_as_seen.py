"""What a window shows of itself, without a replay."""

from dataclasses import replace

import numpy as np
import pytest

from plimsoll.plan.demand.recovery import DemandPath
from plimsoll.plan.judge.as_seen import asked_and_served
from unit.plan.judge.test_work import LEVEL, at_a_ceiling


def test_the_share_that_was_served_at_once_is_a_share_of_bytes():
    """All of 90 MB/s of large requests, and half of what came as small ones, which are a tenth of it."""
    size = np.array([65_536.0, 8_192.0])
    ops = np.array([90e6, 5e6]) / size
    demand = replace(at_a_ceiling(ops * size, np.array([False, True])), io_size_bytes=size, served_ops_per_s=ops)
    path = DemandPath(ops_per_s=ops * [1, 2], is_carried=True, weight=1.0)

    share = asked_and_served(replace(demand, low=path, middle=path, high=path))

    assert share.middle == pytest.approx(0.95)


def test_all_of_nothing_is_served_at_once():
    """A window in which nobody asked for anything lacks nothing."""
    idle = at_a_ceiling(np.zeros(60), np.zeros(60, dtype=np.bool_))

    assert asked_and_served(idle).middle == 1.0
    assert asked_and_served(at_a_ceiling(np.full(60, LEVEL), np.ones(60, dtype=np.bool_))).low == 1
