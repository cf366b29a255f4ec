"""Rehearse a load: copy a sample into a scratch table, and replay the whole on every class."""

import dataclasses
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from plimsoll.app.instance import with_flags
from plimsoll.app.load import inputs_of
from plimsoll.app.options import InstanceOptions, PaceTarget, ReadOptions
from plimsoll.app.pace import ceilings_to_pace, read_to_pace, slow_truth_of_target
from plimsoll.app.progress import SILENT, Progress
from plimsoll.errors import CatalogError, UsageError
from plimsoll.kernel import Stage
from plimsoll.load.copy.table import CopyOptions
from plimsoll.load.pace.law.allowance import has_bucket
from plimsoll.load.pace.law.forecast import balance_now
from plimsoll.load.pace.law.terms import RESERVE_RATIO, PaceTerms
from plimsoll.load.pace.law.truths import SlowTruth
from plimsoll.load.rehearse.law.cost import LoadSample
from plimsoll.load.rehearse.law.forecast import Circumstances
from plimsoll.load.rehearse.law.market import ClassMarket, other_classes
from plimsoll.load.rehearse.law.times import (
    LoadToForecast,
    cheapest_of,
    cost_of,
    forecast_of,
    is_too_small,
    time_of,
    work_span,
)
from plimsoll.load.rehearse.measure import Measured, measure
from plimsoll.load.rehearse.sample import SAMPLE_RATIO, FileSample, take_sample
from plimsoll.load.rehearse.scratch import scratch_table
from plimsoll.model.instance import Instance
from plimsoll.model.rehearsal import Rehearsal
from plimsoll.model.snapshot import Snapshot
from plimsoll.sources.files.bytes import load
from plimsoll.units import format_bytes, format_ratio

# A judgement: a sample that wrote at so much of what storage allowed may have been held back by it.
_LIMITED_RATIO = 0.7
_NO_REGION = (
    "prices are not known without a region, so the fastest classes come first, and of equally fast ones the smaller "
    "sizes, then the newer generations; --region orders classes by price"
)


class RehearsalRequest(Struct, frozen=True, kw_only=True):
    """What to rehearse, where, and by which metrics."""

    files: tuple[str, ...]
    """Paths, or `s3://BUCKET/KEY`."""
    table: str
    dsn: str
    copy: CopyOptions
    sample_ratio: float = SAMPLE_RATIO
    target: str | None = None
    """As for a load; None goes by the limits of `instance` alone, without metrics."""
    instance: InstanceOptions = InstanceOptions()
    read_options: ReadOptions = ReadOptions()
    reserve_ratio: float = RESERVE_RATIO
    finish_within_s: float | None = None
    workers_max: int = 8
    prices: Path | None = None
    """Offer file in place of the catalog's prices."""


class _Known(Struct, frozen=True, kw_only=True):
    """What is known of the instance before the sample."""

    snapshot: Snapshot
    around: Circumstances
    notes: tuple[str, ...]


def rehearse(request: RehearsalRequest, progress: Progress = SILENT) -> Rehearsal:
    """
    Return how long a load will take, here and on other classes.

    Raises:
        UsageError: a file, a table or a column is not there, no storage limit is known, or prices have no region.
        DataError: the server refuses a row, or a file is damaged.
        SourceError: a file cannot be read; the server, S3 or the account refuses, or does not answer.
    """
    inputs = inputs_of(request.files, request.read_options)
    known = _known(request, progress)
    if request.prices is not None and known.snapshot.instance.region is None:
        # Before the sample is copied. A file that cannot be read is the first thing to correct.
        load(request.prices)
        raise UsageError(
            f"the prices of '{request.prices}' need a region", "Give --region, for example --region eu-west-1."
        )
    with (
        # It has no name, so a run that is killed leaves no rows of the user on the disk.
        tempfile.TemporaryFile() as file,
        scratch_table(request.dsn, request.table) as scratch,
    ):
        sample = take_sample(inputs, request.copy, ratio=request.sample_ratio, file=file)
        measured = measure(scratch, sample, dsn=request.dsn, options=request.copy, workers=request.workers_max)
        table = scratch.like
    notes = (*known.notes, *scratch.left)
    return rehearsal_of(request, known.snapshot, known.around, measured, sample, table, notes)


def rehearsal_of(
    request: RehearsalRequest,
    snapshot: Snapshot,
    around: Circumstances,
    measured: Measured,
    taken: FileSample,
    table: str,
    notes: tuple[str, ...] = (),
) -> Rehearsal:
    """
    Return the rehearsal for a sample that was measured.

    Args:
        request: what was asked.
        snapshot: of the instance.
        around: its ceilings, credits and others.
        measured: what the sample cost.
        taken: where the sample came from.
        table: its name, quoted.
        notes: what is not known of the instance.
    """
    sample = _with_limit(measured.sample, around)
    load = LoadToForecast(
        sample=sample,
        server=measured.server,
        input_bytes=float(taken.input_bytes),
        finish_within_s=request.finish_within_s,
    )
    ended = forecast_of(load, around)
    present = time_of(ended, snapshot.instance.db_class, is_present=True)
    market, more = _market(request, snapshot)
    classes = other_classes(load, around, market) if market is not None else ()
    identifier = snapshot.instance.identifier if request.target is not None else ""
    return Rehearsal(
        identifier=identifier,
        source=snapshot.source,
        is_simulated=snapshot.is_simulated,
        table=table,
        input_bytes=load.input_bytes,
        reserve_ratio=request.reserve_ratio,
        finish_within_s=request.finish_within_s,
        cost=cost_of(sample, places=len(taken.ends), seconds=measured.seconds),
        work=work_span(ended),
        present=present,
        classes=classes,
        cheapest=cheapest_of(present, classes),
        prices_as_of=None if market is None else market.as_of,
        notes=(*notes, *more, *measured.notes, *_said(sample, classes, around)),
    )


def _said(sample: LoadSample, classes: tuple[object, ...], around: Circumstances) -> tuple[str, ...]:
    said = []
    if is_too_small(sample):
        said.append(
            f"the sample has only {format_bytes(sample.input_bytes)}, mostly what a table costs once, so it does not "
            "tell how long a load takes"
        )
    if sample.is_rate_limited:
        said.append(
            "storage may have limited the sample, so how fast the load goes without a limit is not known, only that "
            "it is no slower"
        )
    if classes and around.share_ratio is not None:
        said.append("another class is taken to copy as fast as this one, also without metrics")
    elif classes:
        said.append(
            "another class is taken to begin with full credits of the instance, and to copy as fast as this one"
        )
    return tuple(said)


def _known(request: RehearsalRequest, progress: Progress) -> _Known:
    terms = PaceTerms(reserve_ratio=request.reserve_ratio)
    if request.target is None:
        if request.instance.db_class is None and request.instance.storage is None:
            raise UsageError(
                "there is nothing to rehearse on",
                "Give --target rds:NAME, or at least --class, --storage and --size-gib.",
            )
        instance = with_flags(Instance(engine="postgres"), request.instance)
        snapshot, truth = Snapshot(instance=instance, series={}, source=""), SlowTruth(rates=())
        now_s = 0.0
    else:
        target = PaceTarget(
            target=request.target, instance=request.instance, read_options=request.read_options, dsn=request.dsn
        )
        snapshot = read_to_pace(target, progress)
        end_s = snapshot.window_s[1] if snapshot.window_s else 0
        now_s = time.time() if target.is_live else float(end_s)
        truth = slow_truth_of_target(snapshot, target, now_s)
    if request.read_options.region is not None:
        region = request.read_options.region
        snapshot = replace(snapshot, instance=replace(snapshot.instance, region=region))
    chain, notes = ceilings_to_pace(snapshot.instance)
    if not chain:
        raise UsageError("no storage limit of this instance is known", "Give --class, --storage and --size-gib.")
    balances = _balances(chain, truth, now_s)
    others = [_mean([getattr(one, name) for one in truth.rates]) for name in _RATES]
    around = Circumstances(
        chain=chain,
        balances=balances,
        reserve_ratio=request.reserve_ratio,
        headroom_ratio=terms.headroom_ratio,
        others_bytes_per_s=others[0] or 0.0,
        others_ops_per_s=others[1] or 0.0,
        share_ratio=None if _is_fresh(truth, now_s, terms) else terms.baseline_share_ratio,
        is_paced=True,
    )
    return _Known(snapshot=snapshot, around=around, notes=(*notes, *_missing(around, others)))


_RATES = ("bytes_per_s", "ops_per_s")


def _is_fresh(truth: SlowTruth, now_s: float, terms: PaceTerms) -> bool:
    """Return whether a pace goes by these metrics; otherwise it grants a share of each baseline."""
    return truth.end_s is not None and now_s - truth.end_s <= terms.stale_s


def _missing(around: Circumstances, others: Sequence[float | None]) -> Iterator[str]:
    """Yield what is not known of an instance, and what a load does then."""
    if around.share_ratio is not None:
        share = format_ratio(around.share_ratio)
        yield f"there are no recent metrics, so a load gets {share} of each baseline, and no credits"
        return
    if any(has_bucket(one) and one.name not in around.balances for one in around.chain):
        yield "how many credits are left is not known, so a load spends none of them"
    if None in others:
        yield "what others take is not known; the load is taken to be alone"


def _balances(chain: tuple[Stage, ...], truth: SlowTruth, now_s: float) -> Mapping[str, float]:
    return {
        stage.name: balance_now(stage, found.ratio, measured_s=found.time_s, now_s=now_s, rates=truth.rates)
        for stage in chain
        if (found := truth.balances.get(stage.name)) is not None
    }


def _mean(values: list[float]) -> float | None:
    known = [value for value in values if isfinite(value)]
    return float(np.mean(known)) if known else None


def _with_limit(sample: LoadSample, around: Circumstances) -> LoadSample:
    """Say whether storage may have limited the sample: WAL alone came near to what it allows."""
    per_s = float(np.mean(sample.rates_bytes_per_s)) * sample.wal_bytes / sample.input_bytes
    allowed = [
        stage.stripes * (stage.burst if around.balances.get(stage.name, 1.0) > 0 else stage.baseline)
        for stage in around.chain
        if stage.counts == "bytes"
    ]
    is_limited = bool(allowed) and per_s >= _LIMITED_RATIO * min(allowed)
    return dataclasses.replace(sample, is_rate_limited=is_limited)


def _market(request: RehearsalRequest, snapshot: Snapshot) -> tuple[ClassMarket | None, tuple[str, ...]]:
    """Return the classes that could be bought; None and the reason where they cannot be compared."""
    from plimsoll.app.prices import book_of
    from plimsoll.catalog.load import catalog
    from plimsoll.load.rehearse.law.market import market_of

    instance = snapshot.instance
    if instance.db_class is None or instance.engine is None:
        return None, ("the class is not known, so other classes are not compared",)
    book, notes = None, []
    if instance.region is None:
        notes.append(_NO_REGION)
    else:
        try:
            book = book_of(instance.region, request.prices)
        except UsageError as error:
            notes.append(error.message)
    try:
        market = market_of(snapshot, catalog(), book)
    except (UsageError, CatalogError) as error:
        return None, (*notes, error.message)
    return market, tuple(notes)
