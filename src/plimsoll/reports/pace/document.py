"""
The document of an allowance: how fast a batch may go now, and from which parts that follows.

Rule: what is not known is said, and what was assumed instead.
"""

from plimsoll.model.ceiling import Family
from plimsoll.model.pace import PaceAllowance, PaceBasis, PacedCeiling, PaceReport
from plimsoll.reports.document.parts import (
    Cell,
    Column,
    Document,
    Paragraph,
    Section,
    Table,
    Tone,
    bullets_of,
    facts_of,
)
from plimsoll.reports.render.explanations import Topic
from plimsoll.reports.render.words import FAMILY_NAMES, sentence
from plimsoll.units import format_bytes, format_bytes_per_s, format_duration, format_ops_per_s, format_ratio, number


def pace_document(found: PaceReport) -> Document:
    """Return the rate in one sentence, the ceilings, and the terms."""
    allowance = found.allowance
    return Document(
        kind="pace",
        headline=_headline(allowance),
        topic=Topic.PACE,
        tone=Tone.UNKNOWN if allowance.basis is PaceBasis.BASELINE_SHARE else Tone.PLAIN,
        simulated=("",) if found.is_simulated else (),
        parts=(
            Paragraph(text=f"{found.identifier} · {found.source}", weight="quiet"),
            _table(allowance),
            facts_of(_facts(allowance)),
            Section(
                title="Not known",
                parts=(bullets_of([sentence(note) for note in allowance.notes]),) if allowance.notes else (),
            ),
        ),
    )


def _headline(allowance: PaceAllowance) -> str:
    rate = format_bytes_per_s(allowance.unstepped_bytes_per_s, 3)
    name = FAMILY_NAMES[allowance.binding]
    if allowance.unstepped_bytes_per_s <= 0:
        return f"Nothing is left for a batch now: others take the whole allowance of the {name}."
    if allowance.basis is PaceBasis.BASELINE_SHARE:
        return f"A batch may go at {rate} of input: a share of the baseline of the {name}."
    return f"A batch may go at {rate} of input now; the {name} decides."


def _table(allowance: PaceAllowance) -> Table:
    return Table(
        columns=(
            Column(title="ceiling", least=12),
            Column(title="baseline", is_number=True, leaves=2),
            Column(title="burst", is_number=True, leaves=1),
            Column(title="credits", is_number=True),
            Column(title="all may take", is_number=True),
            Column(title="others take", is_number=True, leaves=3),
            Column(title="batch", is_number=True),
        ),
        rows=tuple(_row(one, allowance.binding) for one in allowance.ceilings),
        stacks=True,
    )


def _row(one: PacedCeiling, binding: Family) -> tuple[str | Cell, ...]:
    def rate(value: float) -> str:
        return format_bytes_per_s(value, 3) if one.unit == "bytes/s" else format_ops_per_s(value)

    has_bucket = one.burst_per_s > one.baseline_per_s
    unknown = "unknown" if has_bucket else "-"
    return (
        Cell(FAMILY_NAMES[one.family], tone=Tone.NEAR if one.family is binding else Tone.PLAIN),
        rate(one.baseline_per_s),
        rate(one.burst_per_s) if has_bucket else "-",
        unknown if one.balance_ratio is None else format_ratio(one.balance_ratio),
        rate(one.total_per_s),
        "unknown" if one.others_per_s is None else rate(one.others_per_s),
        rate(one.batch_per_s),
    )


def _facts(allowance: PaceAllowance) -> list[tuple[str, str]]:
    ratio = allowance.ratio
    how = "measured" if ratio.is_learned else "assumed until measured"
    cost = f"{number(ratio.bytes_per_byte, 2)} bytes at the device ({how})"
    age = allowance.metrics_age_s
    facts = [
        ("a byte of input", cost),
        ("reserve", f"{format_ratio(allowance.reserve_ratio)} of the credits"),
        ("credits spent over", format_duration(allowance.time_left_s)),
        ("newest metrics", "none" if age is None else f"{format_duration(age)} old"),
    ]
    if ratio.wal_per_byte is not None:
        facts.insert(1, ("WAL", f"{number(ratio.wal_per_byte, 2)} bytes for each byte of input"))
    if allowance.unwritten_bytes > 0:
        owed = format_bytes(allowance.unwritten_bytes)
        facts.append(("pages not yet written", f"{owed}; their credits count as spent"))
    if allowance.peer_count > 1:
        facts.append(("batches that share", str(allowance.peer_count)))
    return facts
