"""
Many diagnoses in one table, ranked by urgency.

Rule 1: unknown and unread instances never count as fine.
Rule 2: the rank is a total order; it depends on the rows alone, not on the order of the input.
"""

from collections.abc import Iterable
from decimal import Decimal

import msgspec

from plimsoll.model.ceiling import Family
from plimsoll.model.diagnosis import VERDICT, CeilingTime, Diagnosis, Forecast, Interval, Verdict
from plimsoll.model.nearest import URGENCY, nearest_resource
from plimsoll.model.now import STOPPING, intervals_at, open_at, reaches_end
from plimsoll.model.overview import (
    BoundTime,
    Overview,
    OverviewRow,
    RemainingAmount,
    UnreadInstance,
    Usage,
    WaitingTime,
)
from plimsoll.model.waiting import longest_of, waiting_s_of

# A minute's metric can arrive ten minutes late (cloudwatch_exporter waits that long by default,
# its README, 2024); samples that end longer ago say nothing of now.
LATE_S = 900

_SPACES = (Family.STORAGE_SPACE, Family.LOCAL_STORAGE)
# Without these a window shows no signs of a limit, but documented limits were not compared.
_LIMITS = ("instance class", "storage type and size")


def overview_row(diagnosis: Diagnosis) -> OverviewRow:
    """Return the row of one instance; equal diagnoses give equal rows."""
    binding = diagnosis.binding
    now = open_at(diagnosis)
    credits_left = [_left(f) for f in diagnosis.forecasts if f.family not in _SPACES]
    filling = [_left(f) for f in diagnosis.forecasts if f.family in _SPACES and f.empty_in_s is not None]
    return OverviewRow(
        instance=diagnosis.instance,
        window_s=diagnosis.window_s,
        step_s=diagnosis.step_s,
        measured_s=diagnosis.measured_s,
        expected_s=float(diagnosis.window_s[1] - diagnosis.window_s[0]),
        is_simulated=diagnosis.is_simulated,
        verdict=diagnosis.verdict,
        binding=_bound_time(binding, diagnosis) if binding else None,
        now=_bound_time(now, diagnosis) if now else None,
        nearest=None if binding else nearest_resource(diagnosis.resources),
        credits_left=min(credits_left, key=lambda c: (c.ratio, c.family), default=None),
        space_left=min(filling, key=lambda s: (s.empty_in_s or 0.0, s.family), default=None),
        latency_ratio=max(filter(None, map(_latency_ratio, diagnosis.intervals)), default=None),
        gaps=tuple(m for m in diagnosis.missing if m.hides == VERDICT or m.name in _LIMITS),
        contexts=_contexts(diagnosis.intervals),
        waiting=_waiting(diagnosis) if diagnosis.waiting else None,
    )


def overview_of(
    rows: Iterable[OverviewRow],
    unread: Iterable[UnreadInstance],
    *,
    window_s: tuple[int, int] | None,
    source: str,
    usage: Usage | None = None,
    usd: Decimal | None = None,
    stopped: str = "",
) -> Overview:
    """
    Return the rows ranked: bound now, full disks first, time bound, waiting unexplained, near, unknown, unread, slack.

    Ties are broken by identifier.

    Args:
        rows: one per instance, in any order.
        unread: instances without a row, in any order.
        window_s: the requested window, epoch seconds; with None the time that the rows cover.
        source: what was read, for people.
        usage: requests to an API; None where there were none.
        usd: their cost; None where it is not known.
        stopped: why the reading ended before its end; empty if it did not.
    """
    found = list(rows)
    if window_s is None:
        covered = [row.window_s for row in found if row.window_s[1] > row.window_s[0]]
        starts, ends = [w[0] for w in covered], [w[1] for w in covered]
        window_s = (min(starts, default=0), max(ends, default=0))
    else:
        length_s = float(window_s[1] - window_s[0])
        found = [msgspec.structs.replace(row, expected_s=length_s) for row in found]
    end_s = window_s[1]
    dated = [_dated(row, end_s) for row in found]
    return Overview(
        source=source,
        window_s=window_s,
        rows=tuple(sorted(dated, key=rank_key)),
        unread=tuple(sorted(unread, key=lambda u: (u.identifier, u.reason, u.remedy))),
        stopped=stopped,
        usage=usage,
        usd=usd,
    )


def rank_key(row: OverviewRow) -> tuple[float, bool, bool, float, float, str, bytes]:
    """Return the sort key of a row, the most urgent first; only equal rows have equal keys."""
    bound = row.now or row.binding
    return (
        URGENCY.index(row.verdict) if row.waiting is None else _waiting_rank(row.verdict),
        row.now is None,
        bound is None or bound.family is not STOPPING,
        -row.binding.seconds if row.binding else -row.waiting.seconds if row.waiting else 0.0,
        -row.nearest.peak_ratio if row.nearest and row.verdict is not Verdict.UNKNOWN else 0.0,
        row.instance.identifier,
        msgspec.json.encode(row),
    )


def _waiting_rank(verdict: Verdict) -> float:
    """Return the rank of unexplained waiting, which is between binding and near."""
    # Users notice requests that wait, whatever the reason; a near limit has no effect yet.
    return min(float(URGENCY.index(verdict)), 0.5)


def _waiting(diagnosis: Diagnosis) -> WaitingTime:
    stretches, causes = diagnosis.waiting, diagnosis.waiting_causes
    seconds = waiting_s_of(stretches)
    last_s = max(w.end_s for w in stretches)
    return WaitingTime(
        seconds=seconds,
        share_ratio=min(seconds / diagnosis.measured_s, 1.0) if diagnosis.measured_s > 0 else 0.0,
        times=longest_of(stretches).times,
        first_s=min(w.start_s for w in stretches),
        last_s=last_s,
        is_now=reaches_end(diagnosis, last_s),
        check=causes[0].check if causes else "",
    )


def _dated(row: OverviewRow, end_s: int) -> OverviewRow:
    """Return the row, without its state *now* if its samples ended long ago."""
    # With coarse samples the last one is up to two steps old before anything is late.
    if row.window_s[1] >= end_s - max(LATE_S, 2 * row.step_s):
        return row
    waiting = row.waiting
    if waiting is not None:
        waiting = msgspec.structs.replace(waiting, is_now=False)
    return msgspec.structs.replace(row, now=None, waiting=waiting, ends_early=True)


def _bound_time(at: CeilingTime, diagnosis: Diagnosis) -> BoundTime:
    here = intervals_at(diagnosis, at)
    start_s, end_s = diagnosis.window_s
    measured_s = diagnosis.measured_s or float(end_s - start_s)
    return BoundTime(
        family=at.family,
        phase=at.phase,
        former_phase=at.ceiling.former_phase if at.ceiling else None,
        dimension=at.dimension,
        value=at.ceiling.value if at.ceiling else at.level,
        seconds=at.seconds,
        share_ratio=min(at.seconds / measured_s, 1.0) if measured_s > 0 else 0.0,
        interval_count=at.interval_count,
        first_s=min((i.start_s for i in here), default=start_s),
        last_s=max((i.end_s for i in here), default=end_s),
    )


def _left(forecast: Forecast) -> RemainingAmount:
    return RemainingAmount(family=forecast.family, ratio=forecast.balance_ratio, empty_in_s=forecast.empty_in_s)


def _latency_ratio(interval: Interval) -> float | None:
    if not interval.latency_s or not interval.latency_reference_s:
        return None
    return interval.latency_s / interval.latency_reference_s


def _contexts(intervals: tuple[Interval, ...]) -> tuple[str, ...]:
    seconds: dict[str, int] = {}
    for i in intervals:
        if i.context:
            seconds[i.context] = seconds.get(i.context, 0) + i.end_s - i.start_s
    return tuple(sorted(seconds, key=lambda context: (-seconds[context], context)))
