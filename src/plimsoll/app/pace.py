"""Pace a batch by a target: read its metrics, take its ceilings, and compute what the batch may take."""

import time

import numpy as np
from msgspec.structs import replace

from plimsoll.app.options import InstanceOptions, PaceTarget, ReadOptions
from plimsoll.app.progress import SILENT, Progress
from plimsoll.app.read import read_target
from plimsoll.errors import UsageError
from plimsoll.kernel import Stage
from plimsoll.load.pace.counters import ServerCounters
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.forecast import DeviceRate
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.pace.law.truths import Balance, SlowTruth
from plimsoll.load.pace.pace import Pace
from plimsoll.model.family import BALANCES
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.pace import PaceReport
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot

# The others of the last half hour; a longer window would describe another part of the day.
_LAST = "30m"
# As many samples as half an hour has minutes.
_SAMPLES_MOST = 30
# CloudWatch completes a minute's sample within the next one; the newest may still grow.
COMPLETE_AFTER_S = 60.0


def pace_report(target: PaceTarget, terms: PaceTerms, progress: Progress = SILENT) -> PaceReport:
    """
    Return how fast a batch may go now, with its parts.

    For a file, *now* is the end of its samples.

    Raises:
        UsageError: the target does not exist, or no storage limit of it is known.
        SourceError: the source refuses, or does not answer.
        DataError: the target holds nothing that can be read.
    """
    snapshot = read_to_pace(target, progress)
    chain, notes = ceilings_to_pace(snapshot.instance)
    controller = PaceController(chain, terms, notes=notes)
    end_s = snapshot.window_s[1] if snapshot.window_s else 0
    now_s = time.time() if target.is_live else float(end_s)
    controller.observe_slow(slow_truth_of_target(snapshot, target, now_s))
    return PaceReport(
        identifier=snapshot.instance.identifier,
        source=snapshot.source,
        is_simulated=snapshot.is_simulated,
        allowance=controller.allowance(now_s),
    )


def open_pace(
    target: str | PaceTarget,
    *,
    dsn: str | None = None,
    instance: InstanceOptions | None = None,
    options: ReadOptions | None = None,
    terms: PaceTerms | None = None,
) -> Pace:
    """
    Return the pace of a batch, not started; use it in a `with` block.

    Args:
        target: `rds:NAME` or `prom:URL`, whose metrics and limits count; a file's metrics are soon too old.
        dsn: the PostgreSQL server that is loaded; its counters make the pace follow at once, and other paced
            batches are seen. None goes by the metrics alone.
        instance: class, storage and so on; a field given here replaces what the source says.
        options: access to the target.
        terms: reserve, deadline and so on.

    Raises:
        UsageError: the target does not exist, or no storage limit of it is known.
        SourceError: the source refuses, or does not answer.
        DataError: the target holds nothing that can be read.

    >>> pace = open_pace("examples/search-service")
    >>> pace.wait(0) >= 0
    True
    """
    if isinstance(target, str):
        target = PaceTarget(
            target=target, dsn=dsn, instance=instance or InstanceOptions(), read_options=options or ReadOptions()
        )
    return _pace_of(target, terms or PaceTerms())[0]


def named_pace(target: PaceTarget, terms: PaceTerms, progress: Progress) -> tuple[Pace, str]:
    """Return the pace of a batch, not started, and the identifier of the instance."""
    return _pace_of(target, terms, progress)


def _pace_of(target: PaceTarget, terms: PaceTerms, progress: Progress = SILENT) -> tuple[Pace, str]:
    if str(target.target) == "-":
        raise UsageError("standard input has the batch", "Give rds:NAME, prom:URL or a file.")
    snapshot = read_to_pace(target, progress)
    chain, notes = ceilings_to_pace(snapshot.instance)
    controller = PaceController(chain, terms, notes=notes)
    controller.observe_slow(slow_truth_of_target(snapshot, target, time.time()))

    def read_slow() -> SlowTruth:
        return slow_truth_of_target(read_to_pace(target, SILENT), target, time.time())

    pace = Pace(
        controller,
        read_slow=read_slow if target.is_live else None,
        counters=ServerCounters(target.dsn) if target.dsn else None,
    )
    return pace, snapshot.instance.identifier


def pace_by_limits(instance: Instance, terms: PaceTerms, dsn: str) -> Pace:
    """
    Return a pace without metrics, not started: a share of the baselines of what was bought.

    Raises:
        UsageError: no storage limit is known.
    """
    chain, notes = ceilings_to_pace(instance)
    return Pace(PaceController(chain, terms, notes=notes), counters=ServerCounters(dsn))


def ceilings_to_pace(instance: Instance) -> tuple[tuple[Stage, ...], tuple[str, ...]]:
    """
    Return the chain of ceilings of an instance, and what is to be said of it.

    An instance that may have kept legacy limits is paced by the lowest of them: a batch that goes by the
    present ones would break the reserve.
    """
    from plimsoll.catalog.load import catalog
    from plimsoll.limits import chain_of, legacy_limits_of

    legacy = [
        one
        for one in legacy_limits_of(instance, catalog())
        if one.ebs_baseline_bytes_per_s is not None and one.ebs_baseline_ops_per_s is not None
    ]
    present = chain_of(instance, catalog())
    if not legacy:
        return present, ()
    lowest = min(legacy, key=lambda one: one.ebs_baseline_bytes_per_s or 0.0)
    older = chain_of(instance, catalog(), use_legacy=lowest)
    if older == present:
        return present, ()
    note = (
        f"the instance may still have the legacy limits of {instance.db_class} (documented until "
        f"{lowest.origin.valid_to or 'an unknown date'}); the allowance goes by them"
    )
    return older, (note,)


def read_to_pace(target: PaceTarget, progress: Progress) -> Snapshot:
    """Return the snapshot of a target; a live one for the last half hour, unless a window was asked for."""
    options = target.read_options
    if target.is_live and options.last is None and options.since is None:
        options = replace(options, last=_LAST)
    return read_target(target.target, target.instance, options, progress)


def slow_truth_of_target(snapshot: Snapshot, target: PaceTarget, now_s: float) -> SlowTruth:
    """Return what the metrics of a target say; of a live one without its newest, incomplete sample."""
    complete_s = now_s - COMPLETE_AFTER_S if target.is_live else float("inf")
    return slow_truth_of(snapshot, complete_s=complete_s)


def slow_truth_of(snapshot: Snapshot, *, complete_s: float, samples_most: int | None = _SAMPLES_MOST) -> SlowTruth:
    """
    Return what the metrics of a snapshot say: rates of reads and writes together, and credits.

    Args:
        snapshot: in SI units.
        complete_s: epoch seconds; a sample that ends later is left out, because it may be incomplete.
        samples_most: newest samples that are kept; None keeps all.
    """
    taken = _summed(snapshot, Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S)
    ops = _summed(snapshot, Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S)
    reads = _finite(snapshot.series.get(Metric.READ_BYTES_PER_S))
    moments = sorted(t for t in taken.keys() | ops.keys() if t + _step_s(snapshot) <= complete_s)
    kept = moments if samples_most is None else moments[-samples_most:]
    rates = tuple(
        DeviceRate(
            start_s=float(moment),
            end_s=float(moment + _step_s(snapshot)),
            bytes_per_s=taken.get(moment, float("nan")),
            ops_per_s=ops.get(moment, float("nan")),
            read_bytes_per_s=reads.get(moment, float("nan")),
        )
        for moment in kept
    )
    balances = {
        family.value: found
        for metric, family in BALANCES.items()
        if (found := _newest(snapshot.series.get(metric), complete_s)) is not None
    }
    return SlowTruth(rates=rates, balances=balances)


def _step_s(snapshot: Snapshot) -> int:
    series = snapshot.series.get(Metric.WRITE_BYTES_PER_S) or snapshot.series.get(Metric.WRITE_OPS_PER_S)
    # Without any rate there is no sample either.
    return series.step_s if series is not None else 60


def _summed(snapshot: Snapshot, read: Metric, write: Metric) -> dict[int, float]:
    """Return the sum of two series where both were measured."""
    one, other = snapshot.series.get(read), snapshot.series.get(write)
    if one is None or other is None:
        return {}
    times, at, beside = np.intersect1d(one.time_s, other.time_s, return_indices=True)
    total = one.value[at] + other.value[beside]
    return {int(t): float(v) for t, v in zip(times, total, strict=True) if np.isfinite(v)}


def _finite(series: Series | None) -> dict[int, float]:
    if series is None:
        return {}
    pairs = zip(series.time_s, series.value, strict=True)
    return {int(t): float(v) for t, v in pairs if np.isfinite(v)}


def _newest(series: Series | None, complete_s: float) -> Balance | None:
    if series is None:
        return None
    known = np.isfinite(series.value) & (series.time_s + series.step_s <= complete_s)
    if not known.any():
        return None
    last = int(np.flatnonzero(known)[-1])
    middle_s = float(series.time_s[last]) + series.step_s / 2
    return Balance(time_s=middle_s, ratio=float(np.clip(series.value[last], 0.0, 1.0)))
