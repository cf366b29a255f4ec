"""The texts about waiting that no ceiling explains, and its possible causes."""

from dataclasses import dataclass

from plimsoll.model.waiting import CeilingShare, UnexplainedWaiting, WaitingCause
from plimsoll.reports.render import words
from plimsoll.reports.render.facts import Fact
from plimsoll.units import format_duration, format_latency, format_ratio, number

COLUMNS = ("When (UTC)", "Waited", "Times", "Latency", "Queue", "Rate")


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRow:
    """One stretch in which requests waited."""

    start_s: int
    end_s: int
    when: str
    short_when: str
    waited: str
    times: str
    latency: str
    """Reference and what it rose to: `0.8 ms → 16 ms`."""
    queue: str
    rate: str
    """The highest share of a ceiling: `20 % of instance EBS IOPS baseline`."""


def waiting_rows(waiting: tuple[UnexplainedWaiting, ...], count: int) -> tuple[tuple[WaitingRow, ...], str]:
    """Return the `count` longest stretches in order of time, and a sentence about the others."""
    kept = sorted(waiting, key=lambda w: (-w.waiting_s, w.start_s))[:count]
    left = len(waiting) - len(kept)
    more = ""
    if left:
        seconds = sum(w.waiting_s for w in waiting) - sum(w.waiting_s for w in kept)
        noun = "interval" if left == 1 else "intervals"
        more = f"and {left} shorter {noun}, {format_duration(seconds)} in total"
    return tuple(_row(w) for w in sorted(kept, key=lambda w: w.start_s)), more


def cause_facts(causes: tuple[WaitingCause, ...]) -> tuple[Fact, ...]:
    """Return each possible cause with its check; those with evidence come first."""
    return tuple(
        Fact(
            "Likely" if cause.has_evidence and index == 0 else "Possible",
            f"{words.sentence(cause.text)} To check: {words.sentence(cause.check)}",
        )
        for index, cause in enumerate(causes)
    )


def _row(one: UnexplainedWaiting) -> WaitingRow:
    latency = f"{format_latency(one.latency_reference_s)} → {format_latency(one.latency_s)}"
    return WaitingRow(
        start_s=one.start_s,
        end_s=one.end_s,
        when=words.span(one.start_s, one.end_s),
        short_when=words.short_span(one.start_s, one.end_s),
        waited=format_duration(one.waiting_s),
        times=number(one.times, 2),
        latency=latency,
        queue=words.quantity(one.queue_depth, "count"),
        rate=_share(one.shares[0]) if one.shares else _rates(one),
    )


def _share(share: CeilingShare) -> str:
    name = words.limit_name(share.family, share.phase).replace(",", "")
    return f"{format_ratio(share.ratio)} of {name}"


def _rates(one: UnexplainedWaiting) -> str:
    return f"{words.quantity(one.bytes_per_s, 'bytes/s')}, {words.quantity(one.ops_per_s, 'ops/s')}"
