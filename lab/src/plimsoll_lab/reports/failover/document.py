"""The document of an experiment with failovers: what was lost, how long nothing was written, and round by round."""

from collections import Counter
from collections.abc import Iterator

from plimsoll.reports.document.parts import (
    Cell,
    Column,
    Document,
    Facts,
    Paragraph,
    Part,
    Section,
    Table,
    Tone,
    bullets_of,
)
from plimsoll.reports.render.facts import Fact
from plimsoll.units import number
from plimsoll_lab.model.failover import FailoverReport, FailoverRound, Fault, Synchronous
from plimsoll_lab.reports.failover.views import pooler_parts, seconds, service_parts, verdict_table

TITLES = {Fault.KILL: "killed", Fault.PARTITION: "cut off from etcd", Fault.SWITCHOVER: "handed over"}
"""What happened to the node that took writes."""
_MESSAGES = 8


def failover_document(report: FailoverReport) -> Document:
    """Return the document of an experiment with failovers."""
    return Document(
        kind="experiment",
        headline=headline(report),
        tone=Tone.GOOD if report.is_right else Tone.BAD,
        parts=tuple(_parts(report)),
        is_wide=True,
    )


def headline(report: FailoverReport) -> str:
    """Return what was lost, and how long nothing was written, in one sentence."""
    count = len(report.rounds)
    median, most = report.no_write_quantile_s(0.5), report.no_write_quantile_s(0.95)
    times = "1 failover" if count == 1 else f"{count} failovers"
    lost = f"{report.lost:,} of {report.writes.acknowledged:,} acknowledged writes were lost"
    if median is None or most is None:
        return f"{lost}; there was no failover."
    healed = "" if report.is_healed else " The cluster did not heal by itself."
    before = "Interrupted: " if report.is_interrupted else ""
    return (
        f"{before}{lost} in {times} ({report.synchronous} replication); no write was taken for {number(median, 3)} s "
        f"(median) and {number(most, 3)} s (95 %).{healed}"
    )


def _parts(report: FailoverReport) -> Iterator[Part]:
    yield Paragraph(
        text=f"Real servers on this machine: {report.machine}. What is written is simulated.", weight="quiet"
    )
    yield Section(title="Verdict", parts=(verdict_table(report),))
    yield Section(title="Writes", parts=(Facts(facts=tuple(_writes(report))),))
    yield Section(title="Time without writes", parts=(_times(report),))
    yield Section(title="What the pooler did", parts=tuple(pooler_parts(report)))
    if report.services is not None:
        yield Section(title="What the services saw", parts=tuple(service_parts(report)))
    yield Section(title="Rounds", parts=(_table(report.rounds),))
    yield Section(title="What the writers saw", parts=(bullets_of(_messages(report)),))
    yield Section(title="Notes", parts=(bullets_of(report.notes),))


def _writes(report: FailoverReport) -> Iterator[Fact]:
    writes = report.writes
    rule = (
        "a standby has it, too" if report.synchronous is Synchronous.STRICT else "the server that takes writes has it"
    )
    yield Fact("clients", f"{report.writers}, each with one connection through the pooler")
    yield Fact("acknowledged", f"{writes.acknowledged:,}, each as soon as {rule}")
    yield Fact("lost", f"{report.lost:,} of them")
    yield Fact("refused", f"{writes.refused:,}, of which {report.refused_there:,} are there")
    yield Fact(
        "unknown", f"{writes.unknown:,} lost their connection before the answer; {report.unknown_there:,} are there"
    )


def _table(rounds: tuple[FailoverRound, ...]) -> Table:
    columns = (
        Column(title="#", is_number=True, may_break=False),
        Column(title="From", may_break=False),
        Column(title="To", may_break=False),
        Column(title="No write", is_number=True, may_break=False),
        Column(title="Healed", is_number=True, may_break=False, leaves=2),
        Column(title="Refused", is_number=True, may_break=False, leaves=3),
        Column(title="Unknown", is_number=True, may_break=False, leaves=4),
        Column(title="Pooler", leaves=1),
    )
    return Table(columns=columns, rows=tuple(_row(place, one) for place, one in enumerate(rounds, 1)), stacks=True)


def _row(place: int, one: FailoverRound) -> tuple[str | Cell, ...]:
    return (
        str(place),
        f"{one.from_node}, {TITLES[one.fault]}",
        one.to_node or "nobody",
        f"{number(one.no_write_s, 3)} s",
        seconds(one.healed_s),
        f"{one.writes.refused:,}",
        f"{one.writes.unknown:,}",
        "; ".join(one.pooler.changes) or "saw nothing",
    )


def _times(report: FailoverReport) -> Table:
    columns = (
        Column(title="The node was"),
        Column(title="Times", is_number=True, may_break=False),
        Column(title="p50", is_number=True, may_break=False),
        Column(title="p95", is_number=True, may_break=False),
        Column(title="Longest", is_number=True, may_break=False),
    )
    rows = []
    for fault in Fault:
        count = sum(one.fault is fault for one in report.rounds)
        shown = [report.no_write_quantile_s(share, fault) for share in (0.5, 0.95, 1.0)]
        if count:
            rows.append((TITLES[fault], str(count), *map(seconds, shown)))
    return Table(columns=columns, rows=tuple(rows), stacks=True)


def _messages(report: FailoverReport) -> tuple[str, ...]:
    seen: Counter[str] = Counter()
    for one in report.rounds:
        seen.update(one.errors)
    return tuple(f"{count:,} × {text}" for text, count in seen.most_common(_MESSAGES))
