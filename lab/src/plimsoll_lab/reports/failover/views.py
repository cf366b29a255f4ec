"""The parts of a report of failovers that say what holds, what the pooler did, and what the services saw."""

from collections import Counter
from collections.abc import Iterator, Sequence

from plimsoll.reports.document.parts import Cell, Column, Facts, Paragraph, Part, Table, Tone
from plimsoll.reports.render.facts import Fact
from plimsoll.units import number
from plimsoll_lab.model.failover import FailoverReport, FailoverRound, Synchronous, nearest_rank

REASONS = {
    "refused": "the queue of the service was full",
    "no_answer": "the client left",
    "pool_timeout": "no connection of the pool was free",
    "too_many_clients": "the pooler or the server was full",
    "connection": "the connection was lost, or could not be opened",
    "unknown_outcome": "the connection was lost during COMMIT",
    "read_only": "a write reached a server that only reads",
    "conflict": "a deadlock or a serialization failure",
}
"""Reasons of the services for what failed, in words."""


def seconds(value: float | None) -> str:
    """Return a time in seconds; a dash if there is none."""
    return "–" if value is None else f"{number(value, 3)} s"


def verdict_table(report: FailoverReport) -> Table:
    """Return what is expected of the cluster, and whether it holds."""
    columns = (Column(title="Expected"), Column(title="Found"), Column(title="Verdict", may_break=False))
    rows = tuple(
        (expected, found, Cell("● right", Tone.GOOD) if holds else Cell("▲ not right", Tone.BAD))
        for expected, found, holds in _verdicts(report)
    )
    return Table(columns=columns, rows=rows)


def _verdicts(report: FailoverReport) -> Iterator[tuple[str, str, bool]]:
    lost = f"{report.lost:,} of {report.writes.acknowledged:,} lost"
    if report.synchronous is Synchronous.ASYNCHRONOUS:
        lost += "; asynchronous replication allows it" if report.lost else ""
    yield "every acknowledged write is there", lost, report.lost == 0
    refused = f"{report.refused_there:,} of {report.writes.refused:,} are there"
    yield "no refused write is there", refused, report.refused_there == 0
    healed = f"{report.healed_count} of {report.round_count}"
    problem = next((one.problem for one in report.rounds if one.problem), None)
    if report.is_interrupted:
        problem = "interrupted"
    yield (
        "the cluster heals by itself after each failover",
        healed if problem is None else f"{healed}: {problem}",
        report.is_healed,
    )


def pooler_parts(report: FailoverReport) -> Iterator[Part]:
    """Yield how the pooler found the new primary, and how long it refused clients or kept them waiting."""
    yield Paragraph(
        text="Seen by a client that connects again and again. A connection that takes longer than a second hangs.",
        weight="quiet",
    )
    rounds = report.rounds
    found = [s for one in rounds if (s := one.pooler.primary_found_s) is not None]
    yield Facts(facts=(Fact("found the new primary", f"{len(found)} of {len(rounds)} times"),))
    yield _quantiles(
        (
            ("until it found the new primary", found),
            ("refused connections", [one.pooler.refused_s for one in rounds]),
            ("connections hung", [one.pooler.hung_s for one in rounds]),
        )
    )
    if rounds:
        yield Facts(facts=tuple(_states(rounds[-1])))


def _states(last: FailoverRound) -> Iterator[Fact]:
    states = "; ".join(f"{name} {state}" for name, state in last.pooler.states.items())
    yield Fact("nodes at the end", states or "no answer")


def service_parts(report: FailoverReport) -> Iterator[Part]:
    """Yield the business transactions of the services in all rounds, and the longest times without one."""
    services = report.services
    if services is None:
        return
    yield Paragraph(text=f"{report.fleet}.", weight="quiet")
    failed = sum(services.failed.values())
    reasons = "; ".join(
        f"{count:,} × {REASONS.get(reason, reason)}" for reason, count in Counter(services.failed).most_common()
    )
    yield Facts(
        facts=(
            Fact("arrived", f"{services.arrivals:,} business transactions"),
            Fact("done", f"{services.done:,}"),
            Fact("failed", f"{failed:,}: {reasons}" if failed else "0"),
            Fact("retried", f"{services.retries:,} attempts"),
        )
    )
    gaps = [one.services.gap_s for one in report.rounds if one.services is not None]
    yield _quantiles((("no business transaction was done", gaps),))


def _quantiles(rows: Sequence[tuple[str, Sequence[float]]]) -> Table:
    columns = (
        Column(title="Time in a round"),
        Column(title="p50", is_number=True, may_break=False),
        Column(title="p95", is_number=True, may_break=False),
        Column(title="Longest", is_number=True, may_break=False),
    )
    return Table(
        columns=columns,
        rows=tuple(
            (name, *(seconds(nearest_rank(values, share)) for share in (0.5, 0.95, 1.0))) for name, values in rows
        ),
        stacks=True,
    )
