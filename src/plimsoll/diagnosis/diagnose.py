"""Snapshot and catalog in, diagnosis out: the sentence of the product, stage by stage."""

import numpy as np

from plimsoll.catalog.load import Catalog
from plimsoll.diagnosis.balance import bucket_fits
from plimsoll.diagnosis.congestion import Congestion, congestion_of, load_of
from plimsoll.diagnosis.evidence import (
    refuted_by,
    ruled_out_of,
    shared_evidence_of,
    waiting_evidence_of,
)
from plimsoll.diagnosis.findings import findings_of
from plimsoll.diagnosis.forecast import forecasts_of
from plimsoll.diagnosis.frame import Frame, frame_of
from plimsoll.diagnosis.headroom import resources_of
from plimsoll.diagnosis.missing import missing_of
from plimsoll.diagnosis.next_ceiling import next_ceiling_of
from plimsoll.diagnosis.plateau import Plateau, plateaus_of
from plimsoll.errors import CatalogError
from plimsoll.limits import ceilings_of
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.diagnosis import (
    CeilingTime,
    Diagnosis,
    Evidence,
    Interval,
    Missing,
    Resource,
    RuledOut,
    Verdict,
)
from plimsoll.model.instance import Instance
from plimsoll.model.series import FloatArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import gib

# A level's error bars are 95 %: 1.96 standard errors, times what an autocorrelated median needs.
BARS = 1.96


def diagnose(snapshot: Snapshot, catalog: Catalog) -> Diagnosis:
    """
    Which ceiling binds, when, how sure, and what was ruled out.

    Args:
        snapshot: one reading; nothing in it is required. What is missing becomes *unknown*.
        catalog: documented limits. An unknown class is reported as missing, not raised.

    Returns:
        The diagnosis; equal inputs give equal values.
    """
    ceilings, unknown_class = _ceilings(snapshot.instance, catalog)
    frame = frame_of(snapshot)
    intervals: tuple[Interval, ...] = ()
    congestion: Congestion | None = None
    if frame is not None:
        congestion = congestion_of(frame, load_of(frame))
        plateaus = plateaus_of(frame, congestion, ceilings)
        intervals = _intervals(plateaus, frame, congestion, ceilings)
    time_at = _time_at(intervals)
    resources = resources_of(snapshot, frame, ceilings, time_at)
    measured_s = _measured_s(frame)
    size = snapshot.instance.storage.size_gib
    series = dict(snapshot.series)
    buckets = bucket_fits(frame, series) if frame else ()
    space = gib(size) if size else None
    forecasts = forecasts_of(series, frame, buckets, storage_bytes=space)
    missing = missing_of(snapshot, frame, congestion, ceilings, unknown_class=unknown_class)
    return Diagnosis(
        instance=snapshot.instance,
        window_s=_window(snapshot, frame),
        step_s=frame.step_s if frame else 0,
        measured_s=measured_s,
        is_simulated=snapshot.is_simulated,
        source=snapshot.source,
        note=snapshot.note,
        verdict=_verdict(time_at, resources, frame, missing),
        binding=time_at[0] if time_at else None,
        next_ceiling=next_ceiling_of(time_at, intervals, ceilings),
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
            series=series,
            measured_s=measured_s,
        ),
        missing=missing,
        ceilings=ceilings,
    )


def _ceilings(instance: Instance, catalog: Catalog) -> tuple[tuple[Ceiling, ...], str]:
    """The documented ceilings, and the class's name if the catalog does not know it."""
    try:
        return ceilings_of(instance, catalog), ""
    except CatalogError as error:
        import msgspec

        bare = msgspec.structs.replace(instance, db_class=None)
        try:
            return ceilings_of(bare, catalog), f"{error.message}. {error.hint}"
        except CatalogError:
            return (), f"{error.message}. {error.hint}"


def _window(snapshot: Snapshot, frame: Frame | None) -> tuple[int, int]:
    """First start and last end of all that was measured; the last sample may be a long one."""
    start, end = snapshot.window_s or (0, 0)
    if frame is not None:
        end = max(end, int(frame.time_s[-1] + frame.width_s[-1]))
    return start, end


def _measured_s(frame: Frame | None) -> float:
    if frame is None:
        return 0.0
    known = np.isfinite(frame.bytes_per_s) | np.isfinite(frame.ops_per_s)
    return float(frame.width_s[known].sum())


def _intervals(
    plateaus: list[Plateau], frame: Frame, congestion: Congestion, ceilings: tuple[Ceiling, ...]
) -> tuple[Interval, ...]:
    found: list[Interval] = []
    for plateau in plateaus:
        is_bytes = plateau.dimension == Dimension.THROUGHPUT
        other = frame.ops_per_s if is_bytes else frame.bytes_per_s
        meanwhile = np.concatenate([other[a:b] for a, b in plateau.runs])
        shared = shared_evidence_of(plateau, meanwhile)
        ruled_out = ruled_out_of(plateau, ceilings, other_rate=_known(_median(meanwhile)))
        refuted = refuted_by(plateau)
        found += [
            _interval(plateau, int(a), int(b), frame, congestion, shared, ruled_out, refuted)
            for a, b in plateau.runs
        ]
    return tuple(sorted(found, key=lambda i: (i.start_s, i.end_s)))


def _interval(
    plateau: Plateau,
    start: int,
    end: int,
    frame: Frame,
    congestion: Congestion,
    shared: tuple[Evidence, ...],
    ruled_out: tuple[RuledOut, ...],
    refuted: str,
) -> Interval:
    stretch = slice(start, end)
    ops = _median(frame.ops_per_s[stretch])
    size = _median(frame.bytes_per_s[stretch]) / ops if ops > 0 else float("nan")
    seen = {
        "latency_s": _known(_median(congestion.latency_s[stretch])),
        "reference_s": _known(_median(congestion.reference_s[stretch])),
        "queue_depth": _known(_median(frame.queue_depth[stretch])),
        "io_size_bytes": _known(size),
    }
    best = plateau.best.ceiling
    bars = float(np.exp(BARS * plateau.level_log_se))
    return Interval(
        start_s=int(frame.time_s[start]),
        end_s=int(frame.time_s[end - 1] + frame.width_s[end - 1]),
        dimension=plateau.dimension,
        level=plateau.level,
        level_low=plateau.level / bars,
        level_high=plateau.level * bars,
        family=best.family if best else Family.UNKNOWN,
        phase=best.phase if best else Phase.FIXED,
        former_phase=best.former_phase if best else None,
        ceiling=best,
        confidence=round(plateau.probability, 4),
        attribution=round(plateau.family_probability, 4),
        io_size_bytes=seen["io_size_bytes"],
        latency_s=seen["latency_s"],
        latency_reference_s=seen["reference_s"],
        queue_depth=seen["queue_depth"],
        evidence=shared[:2] + waiting_evidence_of(**seen) + shared[2:],
        ruled_out=ruled_out,
        refuted_by=refuted,
    )


def _median(values: FloatArray) -> float:
    """The middle of the known values; sorting is quicker than numpy's median for short stretches."""
    known = np.sort(values[np.isfinite(values)])
    if not known.size:
        return float("nan")
    return float(known[known.size // 2] + known[(known.size - 1) // 2]) / 2


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _time_at(intervals: tuple[Interval, ...]) -> tuple[CeilingTime, ...]:
    """Time spent at each ceiling, the longest first; unknown limits are told apart by level."""
    groups: dict[tuple[object, ...], list[Interval]] = {}
    for i in intervals:
        key = (
            (i.ceiling.family, i.ceiling.phase, i.ceiling.value) if i.ceiling else (round(i.level),)
        )
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
) -> Verdict:
    if time_at:
        return Verdict.BINDS
    # Without rates, or without anything that tells waiting, "nothing binds" cannot be said.
    if frame is None or any(m.hides == "verdict" for m in missing):
        return Verdict.UNKNOWN
    if any(r.verdict == Verdict.NEAR for r in resources):
        return Verdict.NEAR
    return Verdict.SLACK
