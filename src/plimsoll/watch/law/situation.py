"""What every rule judges: one diagnosis, the use of every ceiling by the minute, and the days before."""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from plimsoll.model.ceiling import Ceiling, Family, Phase
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.family import BALANCES, FAMILIES, RATE_FAMILIES
from plimsoll.model.metric import Metric
from plimsoll.model.now import reaches_end
from plimsoll.model.series import BoolArray, FloatArray, IntArray, Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.watch.law.days import DaySummary
from plimsoll.watch.law.load import InspectedLoad

# Basic monitoring has a sample in five minutes, and a late one comes ten minutes later
# (cloudwatch_exporter waits that long by default, its README, 2024): a metric whose newest sample is
# older than this, compared with the end of the data, is missing.
FRESH_S = 900

WATCHED_FAMILIES = (*RATE_FAMILIES, Family.CPU, Family.CONNECTIONS)
"""Families whose use is compared with a ceiling minute by minute."""


class Readings(Struct, frozen=True, kw_only=True, eq=False):
    """Samples of one quantity, in SI units, that end by the end of the data."""

    time_s: IntArray
    """Start of each sample, epoch seconds, shape (n,)."""
    value: FloatArray
    """Shape (n,); NaN where not measured."""
    step_s: int

    def newest(self, at_s: int) -> float | None:
        """Return the newest value; None if there is none in the `FRESH_S` before the end of the data."""
        known = np.flatnonzero(np.isfinite(self.value))
        if not known.size or int(self.time_s[known[-1]]) + self.step_s < at_s - FRESH_S:
            return None
        return float(self.value[known[-1]])

    def held_since(self, held: BoolArray, at_s: int) -> int | None:
        """
        Return the start of the last run of samples for which `held` is true.

        Args:
            held: shape (n,); a sample without a value does not count and does not end the run.
            at_s: end of the data, epoch seconds.

        Returns:
            Epoch seconds; None if the newest value is not in such a run, or is not fresh.
        """
        if self.newest(at_s) is None:
            return None
        known = np.isfinite(self.value)
        time_s, held = self.time_s[known], held[known]
        if not held[-1]:
            return None
        ended = np.flatnonzero(~held)
        first = int(ended[-1]) + 1 if ended.size else 0
        # A hole of that length may hide anything, so the run begins after it.
        holes = np.flatnonzero(np.diff(time_s[first:]) > FRESH_S)
        return int(time_s[first + int(holes[-1]) + 1 if holes.size else first])


class CeilingUse(Struct, frozen=True, kw_only=True, eq=False):
    """What was used of one family, and the ceilings that bound it."""

    family: Family
    name: str
    """For people: `instance EBS throughput`."""
    unit: str
    used: Readings | None
    """None where a metric of it is missing."""
    sustained: Ceiling | None
    """Baseline or fixed: what can be used for ever; None where it is not known."""
    burst: Ceiling | None
    """What can be used while credits last; None without a bucket."""
    balance: Readings | None
    """Credits left, as ratios; None without a bucket, or where the metric is missing."""

    @property
    def has_bucket(self) -> bool:
        """Return whether credits pay for more than the baseline, and a metric counts them."""
        return self.burst is not None and FAMILIES[self.family].balance is not None

    def ratio_now(self, at_s: int) -> float | None:
        """Return the newest use as a ratio of the sustained ceiling; None where either is unknown."""
        now = self.used.newest(at_s) if self.used is not None else None
        if now is None or self.sustained is None or self.sustained.value <= 0:
            return None
        return now / self.sustained.value


class Situation(Struct, frozen=True, kw_only=True, eq=False):
    """One instance at the end of its data."""

    diagnosis: Diagnosis
    at_s: int
    """End of the last complete minute that was read, epoch seconds UTC."""
    uses: Mapping[Family, CeilingUse]
    """Of the families that this instance has."""
    measured: frozenset[Family] = frozenset()
    """Resources that are no storage rate and whose metrics reach the end of the window."""
    days: tuple[DaySummary, ...] = ()
    """The last days, as far as they were watched."""
    load: InspectedLoad | None = None
    """What the last inspection of its database found; None if it is not inspected."""

    @property
    def is_storage_judged(self) -> bool:
        """Return whether the diagnosis has a verdict."""
        return self.diagnosis.verdict is not Verdict.UNKNOWN


def situation_of(
    snapshot: Snapshot,
    diagnosis: Diagnosis,
    *,
    at_s: int,
    days: tuple[DaySummary, ...] = (),
    load: InspectedLoad | None = None,
) -> Situation:
    """
    Return what the rules judge, from a snapshot that ends with its last complete minute.

    Args:
        snapshot: as it was diagnosed.
        diagnosis: of that snapshot.
        at_s: end of that minute, epoch seconds; balances may have samples that end later.
        days: summaries of earlier days.
        load: what the last inspection of its database found.
    """
    uses = {
        family: _use(snapshot, diagnosis, family)
        for family in WATCHED_FAMILIES
        if any(c.family is family for c in diagnosis.ceilings) or any(r.family is family for r in diagnosis.resources)
    }
    measured = frozenset(
        resource.family
        for resource in diagnosis.resources
        if resource.family not in RATE_FAMILIES and _reaches_end(snapshot, diagnosis, resource.family)
    )
    return Situation(diagnosis=diagnosis, at_s=at_s, uses=uses, measured=measured, days=days, load=load)


def _reaches_end(snapshot: Snapshot, diagnosis: Diagnosis, family: Family) -> bool:
    """Return whether a metric of a family has a value at the end of the window."""
    for metric in FAMILIES[family].metrics:
        series = snapshot.series.get(metric)
        known = series.time_s[np.isfinite(series.value)] if series is not None else None
        if series is not None and known is not None and known.size:
            return reaches_end(diagnosis, int(known[-1]) + series.step_s)
    return False


def _use(snapshot: Snapshot, diagnosis: Diagnosis, family: Family) -> CeilingUse:
    facts = FAMILIES[family]
    mine = [c for c in diagnosis.ceilings if c.family is family and c.phase is not Phase.LEGACY]
    # Resources have ceilings that are read, not documented: max_connections of the server, for example.
    mine += [r.ceiling for r in diagnosis.resources if r.family is family and r.ceiling is not None]
    sustained = [c for c in mine if c.phase in (Phase.BASELINE, Phase.FIXED)]
    balance = snapshot.series.get(facts.balance) if facts.balance is not None else None
    return CeilingUse(
        family=family,
        name=facts.name,
        unit=facts.unit,
        used=used_of(snapshot, facts.metrics),
        sustained=min(sustained, key=lambda c: c.value, default=None),
        burst=max((c for c in mine if c.phase is Phase.BURST), key=lambda c: c.value, default=None),
        balance=_readings(balance),
    )


def used_of(snapshot: Snapshot, metrics: tuple[Metric, ...]) -> Readings | None:
    """Return the sum of the metrics of a family where all were measured."""
    found = [snapshot.series.get(metric) for metric in metrics]
    present = [series for series in found if series is not None and series.time_s.size]
    if not present or len(present) < len(metrics):
        return None
    total = present[0]
    time_s, value = total.time_s, total.value
    for series in present[1:]:
        time_s, at, beside = np.intersect1d(time_s, series.time_s, return_indices=True)
        value = value[at] + series.value[beside]
    return Readings(time_s=time_s, value=value, step_s=total.step_s) if time_s.size else None


def _readings(series: Series | None) -> Readings | None:
    if series is None or not series.time_s.size:
        return None
    return Readings(time_s=series.time_s, value=series.value, step_s=series.step_s)


def balance_families(situation: Situation) -> tuple[Family, ...]:
    """Return the families of this instance that have a bucket whose credits a metric counts."""
    return tuple(
        family for family in BALANCES.values() if family in situation.uses and situation.uses[family].has_bucket
    )
