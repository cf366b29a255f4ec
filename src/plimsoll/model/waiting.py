"""Waiting that no ceiling explains: its time, its length, and its possible causes."""

from msgspec import Struct

from plimsoll.model.ceiling import Family, Phase


class CeilingShare(Struct, frozen=True, kw_only=True):
    """A served rate as a share of a documented ceiling."""

    family: Family
    phase: Phase
    value: float
    """The ceiling, bytes/s or ops/s."""
    ratio: float
    """Mean rate ÷ ceiling; below 1 unless credits paid for more."""


class UnexplainedWaiting(Struct, frozen=True, kw_only=True):
    """A stretch of time during which requests waited although no ceiling was found to bind."""

    start_s: int
    end_s: int
    """Epoch seconds UTC; [start, end)."""
    waiting_s: float
    """Time within it for which requests waited; pauses of a few minutes lie between."""
    times: float
    """Latency ÷ reference, median while they waited."""
    latency_s: float
    latency_reference_s: float
    """
    Median latency while they waited, and the latency of the same mix when requests do not wait.

    A window that never shows that is compared with its fastest tenth, which may be slower.
    """
    queue_depth: float | None
    bytes_per_s: float | None
    ops_per_s: float | None
    """Median rates while they waited, reads and writes together."""
    io_size_bytes: float | None
    shares: tuple[CeilingShare, ...]
    """The mean rates as shares of every present ceiling, the largest first."""


class WaitingCause(Struct, frozen=True, kw_only=True):
    """A possible cause of waiting, and the check that confirms or excludes it."""

    code: str
    """`events`, `undocumented_limit`, `within_sample`, `cpu`, `replication`, `storage_fault`"""
    text: str
    """A sentence: the cause, and the measurement that is evidence for it."""
    check: str
    """How to check it, as a sentence."""
    has_evidence: bool
    """Whether a measurement in this window is evidence for it; otherwise it is only possible."""


def waiting_s_of(waiting: tuple[UnexplainedWaiting, ...]) -> float:
    """Return the time for which requests waited, all stretches together."""
    return sum(w.waiting_s for w in waiting)


def longest_of(waiting: tuple[UnexplainedWaiting, ...]) -> UnexplainedWaiting:
    """Return the stretch in which requests waited for the longest time, the first of equals."""
    return max(waiting, key=lambda w: (w.waiting_s, -w.start_s))
