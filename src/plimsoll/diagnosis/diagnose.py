"""The diagnosis of a snapshot, stage by stage, from its ceilings to its findings."""

from functools import partial

import numpy as np
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.diagnosis.balance import bucket_fits
from plimsoll.diagnosis.contradictions import above_of, contradictions_of, without_judgement
from plimsoll.diagnosis.ended import with_ends
from plimsoll.diagnosis.epochs import Epoch, Loading, epochs_of, loadings_of, missing_before_changes, with_contexts
from plimsoll.diagnosis.findings import NOTHING_BOUND, findings_of
from plimsoll.diagnosis.forecast import forecast_by_law, forecasts_of
from plimsoll.diagnosis.frame import Frame, frame_of
from plimsoll.diagnosis.headroom import resources_of
from plimsoll.diagnosis.loading import loading_findings
from plimsoll.diagnosis.maxima import maxima_of
from plimsoll.diagnosis.missing import (
    LIGHT_LOAD,
    baselines_unknown,
    missing_of,
    newer_class_of,
    not_covered,
    not_measured_of,
    pressed_throughout,
    steady_throughout,
    too_short,
)
from plimsoll.diagnosis.next_ceiling import next_ceiling_of
from plimsoll.diagnosis.recognition.intervals import Judged, judge, judge_fine
from plimsoll.diagnosis.recognition.lookup import is_of_family, with_lookalikes
from plimsoll.diagnosis.waiting.causes import causes_of
from plimsoll.diagnosis.waiting.duty import invented
from plimsoll.diagnosis.waiting.findings import waiting_findings
from plimsoll.diagnosis.waiting.pulses import pulses_of
from plimsoll.diagnosis.waiting.waiting import waiting_of
from plimsoll.errors import CatalogError
from plimsoll.limits import ceilings_of
from plimsoll.limits.layout import other_meaning
from plimsoll.model.ceiling import Ceiling, Dimension, Family
from plimsoll.model.contained import collecting, gaps_of, guarded
from plimsoll.model.diagnosis import (
    VERDICT,
    BucketFit,
    CeilingTime,
    Diagnosis,
    Forecast,
    Interval,
    Missing,
    Resource,
    Verdict,
)
from plimsoll.model.family import BALANCES
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.now import STOPPING, limit_key
from plimsoll.model.snapshot import Snapshot, cut
from plimsoll.model.waiting import UnexplainedWaiting, WaitingCause
from plimsoll.units import gib


def diagnose(snapshot: Snapshot, catalog: Catalog, *, is_brief: bool = False) -> Diagnosis:
    """
    Return the diagnosis: the binding ceiling, its intervals and confidence, and the limits ruled out.

    Args:
        snapshot: one reading; nothing in it is required. What is missing becomes *unknown*.
        catalog: documented limits. An unknown class is reported as missing, not raised.
        is_brief: whether the diagnosis is for a row of a table. Then resources have no mean and no
            percentile, and buckets are learned only where a forecast needs them.

    Returns:
        The diagnosis; equal inputs give equal values.
    """
    with collecting() as failed:
        found = _diagnosed(snapshot, catalog, is_brief=is_brief)
    if not failed:
        return found
    gaps = gaps_of(failed)
    # What is known stays; that nothing binds is not known where a part that could have shown it is lost.
    is_open = found.verdict is not Verdict.BINDS and any(gap.hides == VERDICT for gap in gaps)
    return replace(
        found,
        verdict=Verdict.UNKNOWN if is_open else found.verdict,
        missing=gaps + found.missing,
        findings=tuple(f for f in found.findings if not (is_open and f.code == NOTHING_BOUND)),
    )


def _diagnosed(snapshot: Snapshot, catalog: Catalog, *, is_brief: bool) -> Diagnosis:
    """Return the diagnosis without the parts that are lost to internal errors."""
    snapshot = _without_other_meaning(snapshot)
    find = partial(_ceilings, snapshot.instance, catalog)
    ceilings, unknown_class = guarded("the documented limits", find, ((), ""), hides=VERDICT)
    frame = guarded("the storage metrics", lambda: frame_of(snapshot), None, hides=VERDICT)
    window_s = _window(snapshot, frame)
    # Headroom and buckets are those of the present class and storage, so only the last epoch counts.
    epochs, loadings = _changes(snapshot, ceilings, window_s)
    recent = snapshot if len(epochs) == 1 else cut(snapshot, (epochs[-1].start_s, window_s[1]))
    judged, found, waiting = _judged(snapshot, epochs, frame, catalog)
    contexts = partial(with_contexts, found, loadings, epochs, snapshot.annotations)
    intervals = guarded("events and their effect on intervals", contexts, found)
    intervals = _in_order((*intervals, *maxima_of(recent, judged.frame, ceilings, intervals)))
    time_at = _times(intervals, snapshot, ceilings, catalog, frame)
    frame_now = judged.frame
    exceeded = partial(above_of, recent, frame_now, ceilings, intervals)
    above = guarded("use above a limit", exceeded, dict[Family, str](), hides=VERDICT)
    resources = without_judgement(resources_of(recent, frame_now, ceilings, time_at, is_brief=is_brief), above)
    measured_s = _measured_s(frame)
    buckets, forecasts = _outlook(recent, frame_now, is_brief=is_brief)
    missing = _gaps(snapshot, recent, judged, frame, ceilings, unknown_class, catalog)
    contrary = guarded("what contradicts itself", lambda: contradictions_of(recent, frame_now, above), ())
    # What leaves the verdict open comes before what costs a detail; the order is kept otherwise.
    missing = tuple(sorted(contrary + missing, key=lambda gap: gap.hides != VERDICT))
    if not any(at.dimension is not Dimension.AMOUNT for at in time_at):
        missing = _with_open_gaps(frame, judged, ceilings, missing)
    causes = _waiting_causes(waiting, frame, snapshot, ceilings)
    return Diagnosis(
        instance=snapshot.instance,
        window_s=window_s,
        step_s=frame.step_s if frame else 0,
        measured_s=measured_s,
        is_simulated=snapshot.is_simulated,
        source=snapshot.source,
        note=snapshot.note,
        verdict=_verdict(time_at, resources, frame_now, missing, waits=bool(waiting)),
        binding=time_at[0] if time_at else None,
        next_ceiling=guarded("the next ceiling", lambda: next_ceiling_of(time_at, intervals, ceilings), None),
        intervals=intervals,
        time_at=time_at,
        resources=resources,
        buckets=buckets,
        forecasts=forecasts,
        findings=findings_of(
            snapshot.instance,
            time_at=time_at,
            intervals=intervals,
            resources=resources,
            forecasts=forecasts,
            ceilings=ceilings,
            series=dict(recent.series),
            measured_s=measured_s,
            step_s=frame.step_s if frame else 0,
            end_s=window_s[1],
            is_open=bool(waiting) or any(m.hides == VERDICT for m in missing),
        )
        + guarded("the finding about waiting", lambda: waiting_findings(waiting, causes), ())
        + guarded("the finding about loading", lambda: loading_findings(frame, loadings), ()),
        missing=missing,
        ceilings=ceilings,
        annotations=snapshot.annotations,
        waiting=waiting,
        waiting_causes=causes,
        asked_s=snapshot.asked_s,
    )


def _in_order(intervals: tuple[Interval, ...]) -> tuple[Interval, ...]:
    return tuple(sorted(intervals, key=lambda i: (i.start_s, i.end_s)))


def _times(
    intervals: tuple[Interval, ...],
    snapshot: Snapshot,
    ceilings: tuple[Ceiling, ...],
    catalog: Catalog,
    frame: Frame | None,
) -> tuple[CeilingTime, ...]:
    """Return the time at each ceiling, with what else has its number, and whether it is over."""
    plain = _time_at(intervals)
    named = guarded(
        "limits with the same number",
        lambda: with_lookalikes(plain, intervals, snapshot.instance, ceilings, catalog, snapshot.series),
        plain,
    )
    space = snapshot.series.get(Metric.FREE_STORAGE_BYTES)
    ended = guarded("limits that are over", lambda: with_ends(named, intervals, frame, space), named)
    # A full disk stops the server, so it comes first, unless it has space again.
    return tuple(sorted(ended, key=lambda t: (t.family is not STOPPING or t.over_s is not None, -t.seconds, t.level)))


def _changes(
    snapshot: Snapshot, ceilings: tuple[Ceiling, ...], window_s: tuple[int, int]
) -> tuple[tuple[Epoch, ...], tuple[Loading, ...]]:
    """Return the parts of the window in which nothing was changed, and when storage was loaded."""
    start_s, end_s = window_s
    epochs = guarded(
        "changes of class and storage",
        lambda: epochs_of(snapshot.annotations, ceilings, window_s),
        (Epoch(start_s=start_s, end_s=end_s, ceilings=ceilings),),
        hides=VERDICT,
    )
    loadings = guarded(
        "loading after a restore", lambda: loadings_of(snapshot.annotations, snapshot.instance, ceilings), ()
    )
    return epochs, loadings


def _gaps(
    snapshot: Snapshot,
    recent: Snapshot,
    judged: Judged,
    frame: Frame | None,
    ceilings: tuple[Ceiling, ...],
    unknown_class: str,
    catalog: Catalog,
) -> tuple[Missing, ...]:
    """Return what is missing in the input and the catalog."""
    return guarded(
        "what is missing in the input",
        lambda: (
            *missing_of(recent, judged.frame, judged.congestion, ceilings, unknown_class=unknown_class),
            *missing_before_changes(snapshot.annotations, _window(snapshot, frame)),
            *baselines_unknown(recent, ceilings),
            *not_measured_of(frame),
            *not_covered(snapshot, _measured_s(frame), _window(snapshot, frame)),
            *_newer(snapshot.instance, catalog, unknown_class),
        ),
        (),
        hides=VERDICT,
    )


def _newer(instance: Instance, catalog: Catalog, unknown_class: str) -> tuple[Missing, ...]:
    """Return the gap of a class that only the account knows."""
    db_class = instance.db_class
    is_newer = db_class and not unknown_class and not catalog.knows(db_class)
    return newer_class_of(instance) if is_newer else ()


def _outlook(
    recent: Snapshot, frame: Frame | None, *, is_brief: bool
) -> tuple[tuple[BucketFit, ...], tuple[Forecast, ...]]:
    """Return the buckets that were learned, and when balances and space run out."""
    size = recent.instance.storage.total_gib
    series = dict(recent.series)
    balances = forecast_by_law(series) if is_brief else series
    buckets = bucket_fits(frame, balances) if frame else ()
    space = gib(size) if size else None
    return buckets, forecasts_of(series, frame, buckets, storage_bytes=space)


def _with_open_gaps(
    frame: Frame | None, judged: Judged, ceilings: tuple[Ceiling, ...], known: tuple[Missing, ...]
) -> tuple[Missing, ...]:
    """Return the gaps; those come first that leave it open whether a ceiling bound."""
    deep = guarded(
        "what leaves the verdict open",
        lambda: (
            pressed_throughout(judged.frame, judged.congestion, ceilings)
            or steady_throughout(judged.frame, judged.congestion)
        ),
        (),
        hides=VERDICT,
    )
    # This gap is more specific than LIGHT_LOAD: it also gives the queue depth or the latency.
    rest = tuple(m for m in known if m.name != LIGHT_LOAD) if deep else known
    return too_short(frame) + deep + rest


def _waiting_causes(
    waiting: tuple[UnexplainedWaiting, ...], frame: Frame | None, snapshot: Snapshot, ceilings: tuple[Ceiling, ...]
) -> tuple[WaitingCause, ...]:
    if not waiting or frame is None:
        return ()
    find = partial(
        causes_of, waiting, frame, instance=snapshot.instance, ceilings=ceilings, annotations=snapshot.annotations
    )
    return guarded("possible causes of the waiting", find, ())


def _without_other_meaning(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without balances that have no meaning for this instance's storage."""
    # Aurora reports some of these metrics with another meaning, so they must not be judged by EBS
    # rules.
    others = other_meaning(snapshot.instance)
    kept = {m: s for m, s in snapshot.series.items() if m not in others or m not in BALANCES}
    return snapshot if len(kept) == len(snapshot.series) else replace(snapshot, series=kept)


def _judged(
    snapshot: Snapshot, epochs: tuple[Epoch, ...], frame: Frame | None, catalog: Catalog
) -> tuple[Judged, tuple[Interval, ...], tuple[UnexplainedWaiting, ...]]:
    """Return the present epoch with its frame; intervals and waiting of all epochs in order of time."""
    found: list[Interval] = []
    waiting: list[UnexplainedWaiting] = []
    for epoch in epochs:
        is_whole = len(epochs) == 1
        part = snapshot if is_whole else cut(snapshot, (epoch.start_s, epoch.end_s))
        judged = guarded(
            "the recognition of limits",
            partial(judge, part, epoch.ceilings, frame if is_whole else None),
            Judged(frame=frame, congestion=None, intervals=()),
            hides=VERDICT,
        )
        doubtful = guarded("jobs shorter than a sample", partial(_doubtful, judged, part, epoch.ceilings, catalog), ())
        bound = tuple(i for i in judged.intervals if i not in doubtful) + guarded(
            "the recognition of limits in finer samples",
            partial(judge_fine, part, epoch.ceilings, judged.intervals),
            (),
            hides=VERDICT,
        )
        if judged.frame is not None and judged.congestion is not None:
            bound += guarded(
                "short times at a ceiling",
                partial(pulses_of, judged.frame, judged.congestion, epoch.ceilings, bound),
                (),
                hides=VERDICT,
            )
        found += bound
        if judged.frame is not None and judged.congestion is not None:
            waiting += guarded(
                "waiting without a known limit",
                partial(waiting_of, judged.frame, judged.congestion, bound, epoch.ceilings, doubtful),
                (),
                hides=VERDICT,
            )
    return judged, _in_order(tuple(found)), tuple(waiting)


def _doubtful(judged: Judged, part: Snapshot, ceilings: tuple[Ceiling, ...], catalog: Catalog) -> tuple[Interval, ...]:
    """Return the intervals at levels that are documented nowhere and that a duty cycle explains as well."""
    if judged.frame is None:
        return ()
    doubtful = invented(judged.intervals, judged.frame, ceilings)
    if not doubtful:
        return ()
    of_them = tuple(at for at in _time_at(judged.intervals) if limit_key(at) in doubtful)
    named = with_lookalikes(of_them, judged.intervals, part.instance, ceilings, catalog, part.series)
    doubtful -= {limit_key(at) for at in named if any(is_of_family(one, part.instance) for one in at.lookalikes)}
    return tuple(i for i in judged.intervals if limit_key(i) in doubtful)


def _ceilings(instance: Instance, catalog: Catalog) -> tuple[tuple[Ceiling, ...], str]:
    """Return the documented ceilings, and the class's name if the catalog does not know it."""
    try:
        return ceilings_of(instance, catalog), ""
    except CatalogError as error:
        import msgspec

        # The storage may be documented although the class is not.
        bare = msgspec.structs.replace(instance, db_class=None)
        try:
            return ceilings_of(bare, catalog), f"{error.message}. {error.hint}"
        except CatalogError:
            return (), f"{error.message}. {error.hint}"


def _window(snapshot: Snapshot, frame: Frame | None) -> tuple[int, int]:
    """Return the first start and the last end of all samples; the last sample may be a long one."""
    start, end = snapshot.window_s or (0, 0)
    if frame is not None:
        end = max(end, int(frame.time_s[-1] + frame.width_s[-1]))
    # A balance covers five minutes, the last of them after now.
    return start, end if snapshot.asked_s is None else min(end, snapshot.asked_s[1])


def _measured_s(frame: Frame | None) -> float:
    if frame is None:
        return 0.0
    known = np.isfinite(frame.bytes_per_s) | np.isfinite(frame.ops_per_s)
    return float(frame.width_s[known].sum())


def _time_at(intervals: tuple[Interval, ...]) -> tuple[CeilingTime, ...]:
    """Return the time spent at each ceiling, the longest first; unknown limits differ by their level."""
    groups: dict[tuple[object, ...], list[Interval]] = {}
    for i in intervals:
        # A level is rounded to be a key; a byte per second is far below its error.
        key = (i.ceiling.family, i.ceiling.phase, i.ceiling.value) if i.ceiling else (round(i.level),)
        groups.setdefault((i.dimension, *key), []).append(i)
    found = [
        CeilingTime(
            family=g[0].family,
            phase=g[0].phase,
            dimension=g[0].dimension,
            level=float(np.median([i.level for i in g])),
            seconds=float(sum(i.end_s - i.start_s for i in g)),
            interval_count=len(g),
            ceiling=g[0].ceiling,
        )
        for g in groups.values()
    ]
    return tuple(sorted(found, key=lambda t: (-t.seconds, t.level)))


def _verdict(
    time_at: tuple[CeilingTime, ...],
    resources: tuple[Resource, ...],
    frame: Frame | None,
    missing: tuple[Missing, ...],
    *,
    waits: bool,
) -> Verdict:
    if time_at:
        return Verdict.BINDS
    # Something made requests wait, so it cannot be said that nothing binds.
    if waits:
        return Verdict.UNKNOWN
    # Without rates, or without latency and queue depth, it is not known that nothing binds.
    if frame is None or any(m.hides == VERDICT for m in missing):
        return Verdict.UNKNOWN
    # Near comes after unknown: a resource that is near does not make an unseen ceiling less likely.
    if any(r.verdict == Verdict.NEAR for r in resources):
        return Verdict.NEAR
    return Verdict.SLACK
