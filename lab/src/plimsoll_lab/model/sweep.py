"""
The I/O-size experiment: the rates that storage delivered at each I/O size, and the limits behind them.

Rates of a point are those of its direction alone; nothing else is assumed to have used the storage.
"""

from enum import StrEnum

from msgspec import Struct

from plimsoll.model.ceiling import Phase


class Pattern(StrEnum):
    """The order of the requests' positions."""

    SCATTERED = "scattered"
    """Never where another one ended, so that no two can be merged."""
    SEQUENTIAL = "sequential"
    """Where the one before it ended, in one stream or in several side by side."""


class Direction(StrEnum):
    """The direction of the requests."""

    READ = "read"
    WRITE = "write"


class SweepPoint(Struct, frozen=True, kw_only=True):
    """The delivered rate at one I/O size."""

    io_size_bytes: float
    """As asked for, > 0."""
    pattern: Pattern
    """Where a request begins: scattered, or sequential where the one before it ended."""
    direction: Direction = Direction.READ
    """The direction of the requests."""
    phase: Phase = Phase.FIXED
    """Burst or baseline where it is known which one was measured; fixed for as it was found."""
    ops_per_s: float
    """Requests per second, > 0."""
    bytes_per_s: float
    """Bytes per second, > 0."""
    length_s: float
    """For how long it was measured, > 0."""
    depth: float | None = None
    """Requests in flight, mean; null where it was not seen."""
    busy_ratio: float | None = None
    """Share 0–1 of the time in which the measuring side computed instead of waiting for storage."""
    error_ratio: float | None = None
    """Standard error of the rate as a share of it, from its parts in time; null where not known."""

    @property
    def effective_size_bytes(self) -> float:
        """Return the bytes per request as measured; below the requested size where requests were split."""
        return self.bytes_per_s / self.ops_per_s

    @property
    def latency_s(self) -> float | None:
        """Return the mean time of a request by Little's law; None where the depth was not measured."""
        # Little's law: requests in flight = rate × time in the system, in steady state.
        return None if self.depth is None else self.depth / self.ops_per_s


class Sweep(Struct, frozen=True, kw_only=True):
    """Everything that one experiment measured."""

    subject: str
    """The subject: a path, a database, an emulated instance."""
    method: str
    """With what, in a sentence."""
    points: tuple[SweepPoint, ...]
    """The delivered rates, one entry for each size, pattern, direction and phase."""
    alone: tuple[SweepPoint, ...] = ()
    """The same with one request at a time: what a request takes while nothing else waits."""
    notes: tuple[str, ...] = ()
    """Sentences about what could not be done or measured, and the consequence."""


class Estimate(Struct, frozen=True, kw_only=True):
    """A number found by the fit, with the range that holds it in 95 of 100 experiments."""

    value: float
    """The number."""
    low: float | None = None
    """Lower end of the range; null where too little was measured."""
    high: float | None = None
    """Upper end of the range; null where too little was measured."""

    @property
    def error_ratio(self) -> float | None:
        """Return half the width of the range as a share of the value; None where it is unknown."""
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2 / self.value


class UnitEvidence(StrEnum):
    """The evidence for an accounting unit."""

    SPLITTING = "splitting"
    """Sizes between its multiples delivered less: they are charged as the next multiple."""
    PLATEAU = "plateau"
    """The throughput plateau rose with the operations, though the throughput limit has more to give."""
    DOCUMENTED = "documented"
    """The plateau is the limit of operations times the documented unit; a throughput limit of just
    that height cannot be excluded."""


class Unit(Struct, frozen=True, kw_only=True):
    """The accounting unit: the most bytes that are charged as one operation."""

    size: Estimate
    """Bytes."""
    evidence: UnitEvidence
    """How it was recognised."""


class Merge(Struct, frozen=True, kw_only=True):
    """The merging of sequential requests of one size."""

    io_size_bytes: float
    """As asked for."""
    merged_bytes: Estimate
    """Bytes per operation charged."""
    is_at_least: bool
    """Whether something else bound first, so that more may have been merged."""


class SweepLeftOut(Struct, frozen=True, kw_only=True):
    """A point that no limit of the storage decided."""

    point: SweepPoint
    """What was measured."""
    reason: str
    """A sentence."""


class PhaseFit(Struct, frozen=True, kw_only=True):
    """The limits that explain the points of one phase and direction."""

    phase: Phase
    """Burst or baseline where it is known which one was measured; fixed for as it was found."""
    direction: Direction
    """The direction of the requests."""
    pattern: Pattern
    """Which points the two limits were taken from."""
    ops_limit: Estimate | None
    """Most requests per second, of any size up to the knee."""
    bytes_limit: Estimate | None
    """Most bytes per second, from the knee on: of a throughput limit, or of the unit."""
    knee: Estimate | None
    """Bytes: the I/O size at which the two limits meet."""
    unit: Unit | None
    """The accounting unit; null where none shows."""
    request_limit: Estimate | None
    """Most sequential requests per second, where it is another number: it knows no merging."""
    merges: tuple[Merge, ...]
    """The merging of sequential requests, by size; empty where it is not known."""
    left_out: tuple[SweepLeftOut, ...]
    """Points that no limit of the storage decided."""
    unknown: tuple[str, ...]
    """Sentences: what these sizes do not show."""
    scatter_ratio: float | None
    """Typical distance of a point from the model, as a share; null with nothing to compare."""
    is_explained: bool
    """Whether the model is near enough to the points for its numbers to be limits."""


class SweepFit(Struct, frozen=True, kw_only=True):
    """The limits of the storage by a sweep."""

    phases: tuple[PhaseFit, ...]
    """In the order in which they were measured."""


class SweepTruth(Struct, frozen=True, kw_only=True):
    """A number that is known of the storage, compared with the one that was found."""

    name: str
    """Which number, for people."""
    phase: Phase
    """Of the credits."""
    unit: str
    """`ops/s`, `bytes/s`, `bytes`."""
    known: float
    """The enforced number."""
    found: Estimate | None
    """The number of the fit; null where it found none."""

    @property
    def difference_ratio(self) -> float | None:
        """Return (found − known) / known; None where nothing was found."""
        return None if self.found is None else self.found.value / self.known - 1


class SweepPublished(Struct, frozen=True, kw_only=True):
    """A published measurement, compared with the number that was found."""

    name: str
    """Which number, for people."""
    phase: Phase
    """Of the credits."""
    unit: str
    """`ops/s`, `bytes/s`."""
    said: float
    """The published number."""
    found: float | None
    """The number of the fit; null where it found none."""
    remark: str
    """A sentence: why they agree or differ."""


class SweepReport(Struct, frozen=True, kw_only=True):
    """One configuration of the experiment, whole."""

    sweep: Sweep
    """What was measured."""
    fit: SweepFit
    """The limits that explain it."""
    truths: tuple[SweepTruth, ...] = ()
    """Enforced numbers compared with those that were found; empty where none are known."""
    published: tuple[SweepPublished, ...] = ()
    """Published numbers compared with those that were found; empty without any."""
