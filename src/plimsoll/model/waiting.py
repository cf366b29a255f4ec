"""Waiting that no ceiling explains: its time, its length, and its possible causes."""

from typing import Annotated

from msgspec import Struct

from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.written import Moment, OneOf, Positive


class CeilingShare(Struct, frozen=True, kw_only=True):
    """A served rate as a share of a documented ceiling."""

    family: Family
    """Which limit."""
    phase: Phase
    """Which number of it."""
    value: Positive
    """The ceiling, bytes/s or ops/s."""
    ratio: Positive
    """Mean rate as a ratio of the ceiling; above 1 where credits paid for more."""


class UnexplainedWaiting(Struct, frozen=True, kw_only=True):
    """A stretch of time during which requests waited although no ceiling was found to bind."""

    start_s: Moment
    """First moment."""
    end_s: Moment
    """First moment after it."""
    waiting_s: Positive
    """Time within it for which requests waited, in seconds."""
    times: Positive
    """Latency as a multiple of the reference, median while they waited."""
    latency_s: Positive
    """Median latency while they waited, in seconds."""
    latency_reference_s: Positive
    """Latency of the same mix of requests without waiting, in seconds; in a window that never
    shows it, the latency of its fastest tenth."""
    queue_depth: Positive | None
    """Median number of requests waiting or in service."""
    bytes_per_s: Positive | None
    """Median throughput while they waited, reads and writes together, bytes/s."""
    ops_per_s: Positive | None
    """Median rate of operations while they waited, reads and writes together, ops/s."""
    io_size_bytes: Positive | None
    """Mean I/O size while they waited, in bytes."""
    shares: tuple[CeilingShare, ...]
    """These rates as shares of every present ceiling, the largest first."""


class WaitingCause(Struct, frozen=True, kw_only=True):
    """A possible cause of waiting, and the check that confirms or excludes it."""

    code: Annotated[
        str,
        OneOf(
            (
                *("events", "loading", "undocumented_limit", "within_sample", "magnetic", "cpu", "replication"),
                "storage_fault",
            )
        ),
    ]
    """`events`: a restore, change, backup or failover; `loading`: a new instance, whose reads wait;
    `undocumented_limit`: the rate stood still; `within_sample`: a ceiling reached for a part of each sample;
    `magnetic`: such storage; `cpu`: finished I/O was taken
    up late; `replication`: the Multi-AZ standby; `storage_fault`: a neighbour, a volume or the
    host."""
    text: str
    """The cause, and the measurement that is evidence for it."""
    check: str
    """How to check it."""
    has_evidence: bool
    """Whether a measurement in this window is evidence for it."""


def waiting_s_of(waiting: tuple[UnexplainedWaiting, ...]) -> float:
    """Return the time for which requests waited, all stretches together."""
    return sum(w.waiting_s for w in waiting)


def longest_of(waiting: tuple[UnexplainedWaiting, ...]) -> UnexplainedWaiting:
    """Return the stretch in which requests waited for the longest time, the first of equals."""
    return max(waiting, key=lambda w: (w.waiting_s, -w.start_s))
