"""What a batch may take, and when credits are back, from a snapshot that was read before: no request is sent."""

from collections.abc import Sequence

import numpy as np

from plimsoll.app.pace import COMPLETE_AFTER_S, ceilings_to_pace, slow_truth_of
from plimsoll.errors import UsageError
from plimsoll.kernel import Stage
from plimsoll.load.pace.law.allowance import has_bucket
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.forecast import DeviceRate, balance_now, time_to_hold_s
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.pace.law.truths import SlowTruth
from plimsoll.model.ceiling import Family
from plimsoll.model.family import FAMILIES
from plimsoll.model.pace import PaceAllowance, ReserveForecast
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import format_duration, format_ratio

_DAY_S = 86_400.0
# Fewer samples than this say little about what others take.
_OTHERS_SAMPLES_MIN = 5


def allowance(snapshot: Snapshot, terms: PaceTerms | None = None, *, now_s: float | None = None) -> PaceAllowance:
    """
    Return how fast a batch may go now, with its parts, by a snapshot that was read before.

    One snapshot can answer several batches with terms of their own. Missing or old metrics are no error: the
    basis of the allowance is then `baseline_share`.

    Args:
        snapshot: read with `read`; half an hour is enough.
        terms: reserve, deadline and so on.
        now_s: epoch seconds; samples younger than a minute are left out, because they may be incomplete. None
            takes the end of the samples as now, for a file.

    Raises:
        UsageError: no storage limit of the instance is known, or the terms are not possible.

    >>> from plimsoll import read
    >>> allowance(read("examples/search-service")).basis.value
    'measured'
    """
    now_s, complete_s = _moments(snapshot, now_s)
    chain, notes = ceilings_to_pace(snapshot.instance)
    controller = PaceController(chain, terms or PaceTerms(), notes=notes)
    controller.observe_slow(slow_truth_of(snapshot, complete_s=complete_s))
    return controller.allowance(now_s)


def reserve_forecast(
    snapshot: Snapshot, reserve_ratio: float, *, now_s: float | None = None, others_until_s: float | None = None
) -> ReserveForecast:
    """
    Return when every bucket of the storage holds a reserve, if others go on as they did.

    Args:
        snapshot: read with `read`.
        reserve_ratio: credits to wait for, 0–1.
        now_s: as of `allowance`.
        others_until_s: when the batch began, epoch seconds: what was taken before is that of others; with fewer
            than five samples before it, what others take is not known. None takes all samples.

    Raises:
        UsageError: no storage limit of the instance is known, or the reserve is not between 0 and 1.

    >>> from plimsoll import read
    >>> reserve_forecast(read("examples/quiet"), 0.2).ready_in_s
    0.0
    """
    if not 0 <= reserve_ratio <= 1:
        raise UsageError(f"a reserve of {format_ratio(reserve_ratio)} is not possible", "Give 0 to 100 percent.")
    now_s, complete_s = _moments(snapshot, now_s)
    chain, _ = ceilings_to_pace(snapshot.instance)
    if not chain:
        raise UsageError(
            "no storage limit of this target is known, so nothing can be said of its credits",
            "Give the class, the engine, the storage and its size.",
        )
    slow = slow_truth_of(snapshot, complete_s=complete_s, samples_most=None)
    others = _others(slow.rates, others_until_s)
    found = [
        _of_stage(stage, slow, others, reserve_ratio=reserve_ratio, now_s=now_s) for stage in chain if has_bucket(stage)
    ]
    late = [one for one in found if one.ready_in_s != 0]
    if not late:
        text = f"all credits are at {format_ratio(reserve_ratio)} or more"
        return ReserveForecast(reserve_ratio=reserve_ratio, ready_in_s=0.0, family=None, balance_ratio=None, text=text)
    # What is not known, or takes more than a day, is the longest.
    return max(late, key=lambda one: float("inf") if one.ready_in_s is None else one.ready_in_s)


def _moments(snapshot: Snapshot, now_s: float | None) -> tuple[float, float]:
    """Return now, and until when samples are complete."""
    if now_s is not None:
        return now_s, now_s - COMPLETE_AFTER_S
    return float(snapshot.window_s[1] if snapshot.window_s else 0), float("inf")


def _others(rates: Sequence[DeviceRate], until_s: float | None) -> DeviceRate | None:
    counted = [one for one in rates if until_s is None or one.end_s <= until_s]
    if not counted or (until_s is not None and len(counted) < _OTHERS_SAMPLES_MIN):
        return None
    taken = np.array([one.bytes_per_s for one in counted])
    ops = np.array([one.ops_per_s for one in counted])
    if not np.isfinite(taken).any() or not np.isfinite(ops).any():
        return None
    return DeviceRate(
        start_s=counted[0].start_s,
        end_s=counted[-1].end_s,
        bytes_per_s=float(np.nanmean(taken)),
        ops_per_s=float(np.nanmean(ops)),
    )


def _of_stage(
    stage: Stage, slow: SlowTruth, others: DeviceRate | None, *, reserve_ratio: float, now_s: float
) -> ReserveForecast:
    family = Family(stage.name)
    name = FAMILIES[family].credits_name or f"credits of {FAMILIES[family].name}"
    wanted = format_ratio(reserve_ratio)
    measured = slow.balances.get(stage.name)
    ready_s = balance = None
    if measured is None:
        text = f"the {name} were not measured"
    else:
        balance = balance_now(stage, measured.ratio, measured_s=measured.time_s, now_s=now_s, rates=slow.rates)
        if balance >= reserve_ratio:
            ready_s, when = 0.0, "now"
        elif others is None:
            when = "at a time that is not known, because the load of others was not measured"
        else:
            ready_s = time_to_hold_s(stage, balance, reserve_ratio, rate=others, longest_s=_DAY_S)
            when = "not within a day" if ready_s is None else f"in {format_duration(ready_s)}"
        text = f"the {name} are at {format_ratio(balance)}, and reach {wanted} {when}"
    return ReserveForecast(
        reserve_ratio=reserve_ratio, ready_in_s=ready_s, family=family, balance_ratio=balance, text=text
    )
