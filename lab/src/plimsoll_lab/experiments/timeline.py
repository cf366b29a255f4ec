"""Move what a gate recorded in emulated time to another moment, with the clock that leads back to real time."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import CreditClock, Snapshot


def moved(snapshot: Snapshot, start_s: int) -> tuple[Snapshot, CreditClock]:
    """
    Return the snapshot with its first sample at a moment, and its credit clock.

    Args:
        snapshot: of a gate.
        start_s: epoch seconds, a full minute.
    """
    window_s, clock = snapshot.window_s, snapshot.credit_clock
    assert window_s is not None
    assert clock is not None
    later_s = start_s - window_s[0]
    there = msgspec.structs.replace(clock, emulated_s=clock.emulated_s + later_s)
    return (
        msgspec.structs.replace(
            snapshot,
            series=_moved(snapshot.series, later_s),
            fine=_moved(snapshot.fine, later_s),
            annotations=tuple(msgspec.structs.replace(a, time_s=a.time_s + later_s) for a in snapshot.annotations),
            credit_clock=there,
        ),
        there,
    )


def _moved(series: Mapping[Metric, Series], later_s: int) -> dict[Metric, Series]:
    return {metric: replace(one, time_s=one.time_s + later_s) for metric, one in series.items()}
