"""What services have counted: sums that only grow, so that the difference of two is what happened between them."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """A histogram of the time from the arrival of a business transaction to its end, in seconds."""

    bounds_s: tuple[float, ...] = ()
    """Upper bounds, ascending."""
    counts: tuple[int, ...] = ()
    """By bound: how many took at most that long."""
    total: int = 0
    """How many there were, with those above the last bound."""
    sum_s: float = 0.0

    def __add__(self, other: Self) -> Self:
        """Return both together."""
        return self._with(other, 1)

    def __sub__(self, earlier: Self) -> Self:
        """Return what came since an earlier state."""
        return self._with(earlier, -1)

    def _with(self, other: Self, sign: int) -> Self:
        bounds = self.bounds_s or other.bounds_s
        mine = self.counts or (0,) * len(bounds)
        theirs = other.counts or (0,) * len(bounds)
        return type(self)(
            bounds_s=bounds,
            counts=tuple(a + sign * b for a, b in zip(mine, theirs, strict=True)),
            total=self.total + sign * other.total,
            sum_s=self.sum_s + sign * other.sum_s,
        )

    def percentile_s(self, share: float) -> float | None:
        """
        Return the upper bound of the step in which a percentile lies; None if nothing was counted.

        Args:
            share: 0 to 1, for example 0.95.
        """
        if not self.total:
            return None
        wanted = math.ceil(share * self.total)
        reached = (b for b, n in zip(self.bounds_s, self.counts, strict=True) if n >= wanted)
        return next(reached, math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """What is so at one moment, at all instances together."""

    connections: int = 0
    """Connections of the pools, in any state."""
    active: int = 0
    """Of them, those that a request has taken."""
    idle: int = 0
    waiting: int = 0
    """Requests that wait for a connection."""
    leaked: int = 0
    """Connections that were taken and will not be given back; part of `active`."""
    in_service: int = 0
    """Requests that have a thread."""
    queued: int = 0
    """Requests that wait for a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What services have counted since they were started, or between two states."""

    arrivals: int = 0
    """Business transactions that clients wanted."""
    done: int = 0
    """Of them, those that were done while the client waited."""
    failed: Mapping[str, int] = field(default_factory=dict)
    """Of them, those that were given up, by reason."""
    attempts: int = 0
    attempts_failed: Mapping[str, int] = field(default_factory=dict)
    """Attempts that failed, by reason, also if they were tried again."""
    late: int = 0
    """Attempts that were done after their client had left."""
    retries: int = 0
    queries: int = 0
    """Statements that were sent, without BEGIN, COMMIT and ROLLBACK."""
    queries_useful: int = 0
    """Of them, those of business transactions that were done while the client waited."""
    transactions: int = 0
    """Database transactions that were committed."""
    connections_opened: int = 0
    connections_closed: int = 0
    connections_failed: Mapping[str, int] = field(default_factory=dict)
    """Connections that could not be opened, by reason."""
    events_published: int = 0
    events_consumed: int = 0
    latency: Latency = field(default_factory=Latency)
    now: Now = field(default_factory=Now)
    """Of the later state, if this is a difference."""
    last_errors: Mapping[str, str] = field(default_factory=dict)
    """By reason: what the last error said. Of the later state, if this is a difference."""

    @property
    def refused(self) -> int:
        """Return how many business transactions were given up because an instance's queue was full."""
        return self.failed.get("refused", 0)

    def __add__(self, other: Self) -> Self:
        """Return both together."""
        now = {name: n + getattr(other.now, name) for name, n in asdict(self.now).items()}
        return self._with(other, 1, Now(**now), {**self.last_errors, **other.last_errors})

    def __sub__(self, earlier: Self) -> Self:
        """Return what happened since an earlier state."""
        return self._with(earlier, -1, self.now, self.last_errors)

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON has it."""
        return asdict(self)

    def _with(self, other: Self, sign: int, now: Now, errors: Mapping[str, str]) -> Self:
        changed: dict[str, Any] = {"now": now, "last_errors": errors}
        for name in COUNTERS:
            changed[name] = getattr(self, name) + sign * getattr(other, name)
        for name in BY_REASON:
            mine, theirs = getattr(self, name), getattr(other, name)
            both = {key: mine.get(key, 0) + sign * theirs.get(key, 0) for key in mine | theirs}
            changed[name] = {key: count for key, count in both.items() if count}
        latency = self.latency + other.latency if sign > 0 else self.latency - other.latency
        return type(self)(latency=latency, **changed)


COUNTERS = (
    "arrivals",
    "done",
    "attempts",
    "late",
    "retries",
    "queries",
    "queries_useful",
    "transactions",
    "connections_opened",
    "connections_closed",
    "events_published",
    "events_consumed",
)
BY_REASON = ("failed", "attempts_failed", "connections_failed")


def counts_of(state: Mapping[str, Any]) -> Counts:
    """Return the counts of one service from its answer to `GET /state`."""
    return Counts(
        **{name: state[name] for name in (*COUNTERS, *BY_REASON, "last_errors")},
        now=Now(**state["now"]),
        latency=Latency(
            bounds_s=tuple(state["latency_s_bounds"]),
            counts=tuple(state["latency_counts"]),
            total=state["done"],
            sum_s=state["latency_s_sum"],
        ),
    )


def total_of(counts: Iterable[Counts]) -> Counts:
    """Return the sum of counts."""
    found = Counts()
    for one in counts:
        found += one
    return found
