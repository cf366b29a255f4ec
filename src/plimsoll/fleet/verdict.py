"""
All series of one instance in, one row of its verdict and the plan's first options out: Arrow to Arrow.

Rule 1: the row depends on the points and the description alone, not on their order, on other instances, on
the process or on the engine. So every engine gives the same bytes.
Rule 2: whatever fails, fails for this instance only: the row then has the verdict `error` and the reason.
Rule 3: an engine hands over all points of an instance at once, and nothing of another.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, UnsetType

from plimsoll.diagnosis.missing import CLASS_GAP, STORAGE_GAP
from plimsoll.diagnosis.overview import overview_row
from plimsoll.errors import DataError, PlimsollError, type_and_place
from plimsoll.fleet.metric_points import MetricPoints, points_by_metric
from plimsoll.fleet.tables import INSTANCE_KEY, verdicts_table
from plimsoll.model.contained import collecting, gaps_of, guarded, lost_notes
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.overview import OverviewRow
from plimsoll.model.plan import FREE, FirstOptions, Judgement, Option
from plimsoll.model.series import IntArray, Series
from plimsoll.model.snapshot import Snapshot, cut

ERROR = "error"
_UNREACHABLE = "StorageBeyondInstance"
_DESCRIBE = "Ingest an answer of describe-db-instances, or a table of descriptions."
_CENT = Decimal("0.0001")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictLaw:
    """What a verdict is computed with; every field can be pickled, so that it reaches other processes."""

    diagnose: Callable[[Snapshot], Diagnosis]
    plan: Callable[[Diagnosis, Snapshot], FirstOptions] | None = None
    """None leaves the columns of the plan empty."""
    window_s: tuple[int, int] | None = None
    """Epoch seconds, [start, end); None judges all points."""


def instance_verdict(points: pa.Table, described: pa.Table, judge: VerdictLaw) -> pa.Table:
    """
    Return the verdict of one instance: a table of exactly one row.

    Args:
        points: columns of `tables.POINTS`, or at least the key, `sum` and `count`, all of one instance, at
            least one row.
        described: rows of `tables.DESCRIBED` of the same instance, or none.
        judge: diagnosis, plan and window.
    """
    key = {name: str(points.column(name)[0]) for name in INSTANCE_KEY}
    try:
        row = _row(points, described, judge)
    except PlimsollError as error:
        row = {"verdict": ERROR, "reason": error.message, "remedy": error.hint}
    except Exception as error:  # noqa: BLE001 -- one poisoned instance must not end the run of all others
        row = {
            "verdict": ERROR,
            "reason": f"the diagnosis failed: internal error {type_and_place(error)}",
            "remedy": "Report this as a bug, with a snapshot of the instance.",
        }
    return verdicts_table([{**row, **key}])


def snapshot_of(points: pa.Table, described: pa.Table, window_s: tuple[int, int] | None = None) -> Snapshot:
    """
    Return the snapshot of one instance.

    The description that is valid at the end applies. Points before a change of class or storage are left
    out: they were served under other limits.

    Args:
        points: as of `instance_verdict`.
        described: as of `instance_verdict`.
        window_s: epoch seconds, [start, end); None takes all points.

    Raises:
        DataError: no usable point, or a value that cannot be.
    """
    name = str(points.column("instance")[0])
    measured, last_s = points_by_metric(points)
    instance, since_s, is_simulated = _described(points, described, last_s)
    series: dict[Metric, Series] = {}
    grids: list[_Grid] = []
    for one in Metric:
        if one.value in measured:
            found = _series(one, measured[one.value], name, grids)
            if found is not None:
                series[one] = found
    snapshot = Snapshot(instance=instance, series=series, source="lake", is_simulated=is_simulated)
    whole = snapshot.window_s
    if whole is None:
        raise DataError(f"no usable point of '{name}'", "Check what the metric stream includes.")
    start_s, end_s = window_s or whole
    part = cut(snapshot, (max(start_s, since_s), end_s))
    if not part.series:
        raise DataError(f"no point of '{name}' in the window", "Choose a longer window.")
    return part


@dataclass(frozen=True, slots=True)
class _Grid:
    """Times that some series of an instance have in common, in order."""

    time_s: IntArray
    step_s: int


def _series(metric: Metric, points: MetricPoints, name: str, grids: list[_Grid]) -> Series | None:
    """Return a series of points in any order; its times are added to the grids if they are new."""
    time_s, total, count = points.time_s, points.sum, points.count
    if isinstance(count, float):
        if not count > 0:
            return None
    elif not count.min() > 0:
        good = count > 0
        if not good.any():
            return None
        time_s, total, count = time_s[good], total[good], count[good]
    value = total / count
    # The least of values with NaN is NaN.
    if not (value.min() >= 0 and value.max() < np.inf):
        # No metric of ours can be below zero; a negative rate is a counter that was misread.
        wrong = "negative" if np.isfinite(value).all() else "not finite"
        raise DataError(f"a value of {metric.value} of '{name}' is {wrong}", "Check its source.")
    grid = next((g for g in grids if g.time_s is time_s), None)
    grid = grid or next((g for g in grids if np.array_equal(g.time_s, time_s)), None)
    if grid is None:
        if (time_s[1:] <= time_s[:-1]).any():
            # By time, then value: of a point that is there twice the larger one counts, whatever the order.
            order = np.lexsort((value, time_s))
            time_s, value = time_s[order], value[order]
            last = np.append(np.diff(time_s) > 0, True)
            time_s, value = time_s[last], value[last]
        grid = _Grid(time_s, _step_s(time_s))
        grids.append(grid)
    return Series(metric=metric, step_s=grid.step_s, time_s=grid.time_s, value=value)


def _step_s(time_s: IntArray) -> int:
    """Return the most frequent distance of two points, of several the smallest; 60 for a single point."""
    if time_s.size < 2:
        return 60
    apart = np.diff(time_s)
    if (apart == apart[0]).all():
        return int(apart[0])
    steps, counts = np.unique(apart, return_counts=True)
    return int(steps[np.argmax(counts)])


def _described(points: pa.Table, described: pa.Table, last_s: int) -> tuple[Instance, int, bool]:
    """Return the instance, since when class and storage are these (epoch seconds), and if it is simulated."""
    rows = sorted(described.to_pylist(), key=lambda row: row["valid_from_s"])
    if not rows:
        region = str(points.column("region")[0]) or None
        return Instance(identifier=str(points.column("instance")[0]), region=region), 0, False
    known = [row for row in rows if row["valid_from_s"] <= last_s] or rows[:1]
    present = msgspec.json.decode(known[-1]["described"], type=Instance)
    if present.tags is UNSET:
        present = msgspec.structs.replace(present, tags=_last_tags(rows, len(known)))
    since_s = 0
    for before, after in pairwise(known):
        if _bought(before) != _bought(after):
            since_s = after["valid_from_s"]
    return present, since_s, any(row["is_simulated"] for row in rows)


def _last_tags(rows: list[dict[str, str]], known_count: int) -> tuple[tuple[str, str], ...] | UnsetType:
    """Return the tags of the last known description that has any, else of the first later one."""
    for row in (*reversed(rows[:known_count]), *rows[known_count:]):
        tags = msgspec.json.decode(row["described"], type=Instance).tags
        if tags is not UNSET:
            return tags
    return UNSET


def _bought(row: dict[str, str]) -> tuple[str | None, object]:
    instance = msgspec.json.decode(row["described"], type=Instance)
    return instance.db_class, instance.storage


def _row(points: pa.Table, described: pa.Table, judge: VerdictLaw) -> dict[str, object]:
    snapshot = snapshot_of(points, described, judge.window_s)
    diagnosis = judge.diagnose(snapshot)
    row = _diagnosed(overview_row(diagnosis), diagnosis)
    if judge.plan is None:
        return row
    make = judge.plan
    try:
        with collecting() as failed:
            plan = guarded("the plan", lambda: make(diagnosis, snapshot), None)
    except PlimsollError as error:
        return row | {"plan_note": error.message}
    notes = lost_notes(gaps_of(failed)) if plan is None else plan.lost
    found = _planned(plan) if plan is not None else {}
    return row | found | ({"plan_note": " ".join(notes)} if notes else {})


def _diagnosed(row: OverviewRow, diagnosis: Diagnosis) -> dict[str, object]:
    instance, bound, left = row.instance, row.binding, _first_empty(row)
    return {
        "db_class": instance.db_class,
        "engine": instance.engine,
        "storage": instance.storage.kind,
        "storage_gib": instance.storage.total_gib,
        "is_simulated": row.is_simulated,
        "tags": None if instance.tags is UNSET else _json(dict(instance.tags)),
        "verdict": row.verdict.value,
        "reason": "; ".join(gap.name for gap in row.gaps) or None,
        "remedy": _remedy(row),
        "start_s": row.window_s[0],
        "end_s": row.window_s[1],
        "measured_s": row.measured_s,
        "family": bound.family.value if bound else None,
        "phase": bound.phase.value if bound else None,
        "ceiling": bound.value if bound else None,
        "dimension": bound.dimension.value if bound else None,
        "at_ceiling_s": bound.seconds if bound else 0.0,
        "at_ceiling_ratio": bound.share_ratio if bound else 0.0,
        "is_now": row.now is not None,
        "waiting_s": row.waiting.seconds if row.waiting else 0.0,
        "nearest": row.nearest.name if row.nearest else None,
        "nearest_ratio": row.nearest.peak_ratio if row.nearest else None,
        "emptying": left[0] if left else None,
        "empty_in_s": left[1] if left else None,
        "unreachable": next((f.title for f in diagnosis.findings if f.code == _UNREACHABLE), None),
    }


def _remedy(row: OverviewRow) -> str | None:
    """Return what would close the first gap; a lake is told class and storage by an ingest, not by options."""
    if not row.gaps:
        return None
    told = {CLASS_GAP: row.instance.db_class, STORAGE_GAP: row.instance.storage.kind}
    first = row.gaps[0]
    return first.remedy if told.get(first.name, "") is not None else _DESCRIBE


def _json(tags: dict[str, str]) -> str:
    return msgspec.json.encode(tags, order="sorted").decode()


def _first_empty(row: OverviewRow) -> tuple[str, float] | None:
    found = [
        (left.empty_in_s, left.family.value)
        for left in (row.credits_left, row.space_left)
        if left is not None and left.empty_in_s is not None
    ]
    return (min(found)[1], min(found)[0]) if found else None


def _planned(plan: FirstOptions) -> dict[str, object]:
    first = _recommended(plan)
    restart = next((o for o in plan.options if o.role == FREE and o.disruption.is_restart), None)
    cheaper = _cheaper(plan)
    return {
        "usd_per_day": _usd(plan.present.cost.usd_per_day),
        "option": first.title if first else None,
        "option_usd_per_day_more": _usd(first.usd_per_day_more) if first else None,
        "option_chance": first.probability if first else None,
        "legacy": restart.title if restart else None,
        "cheaper": cheaper.title if cheaper else None,
        "cheaper_usd_per_day_more": _usd(cheaper.usd_per_day_more) if cheaper else None,
        "cheaper_chance": cheaper.probability if cheaper else None,
    }


def _recommended(plan: FirstOptions) -> Option | None:
    """Return the step that the plan recommends; None where nothing needs to change, or nothing helps."""
    if plan.present.judgement is Judgement.LIFTS:
        return None
    if plan.ladder is not None:
        return plan.options[plan.ladder.rungs[plan.ladder.recommended].option]
    return next((o for o in plan.options if _suffices(o)), None)


def _cheaper(plan: FirstOptions) -> Option | None:
    """
    Return the setup with the largest likely saving; None where nothing saves.

    While the current setup does not suffice, a setup that costs less is found only as the recommended step.
    """
    if plan.present.judgement is not Judgement.LIFTS:
        return None
    saving = [option for option in plan.options if _suffices(option) and _likely_more(option) < 0]
    return min(saving, key=_likely_more, default=None)


def _likely_more(option: Option) -> float:
    """Return its additional cost, dollars a day, times the chance that it is enough; 0 without a price."""
    return float(option.usd_per_day_more or 0) * option.probability


def _suffices(option: Option) -> bool:
    return option.judgement is not Judgement.DOES_NOT


def _usd(amount: Decimal | None) -> Decimal | None:
    return None if amount is None else amount.quantize(_CENT)
