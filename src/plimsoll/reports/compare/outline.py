"""
The content of a comparison before it has a form: its sentences, their order and words.

The order is that of somebody who made a change: what became of the limit, what was changed, time
at ceilings, served and latency, ceilings, headroom, and what to beware of. Text and Markdown differ
in form only; numbers come from the comparison, this file adds none.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from plimsoll.model.ceiling import Ceiling, Dimension, Family
from plimsoll.model.comparison import (
    CeilingPair,
    Comparison,
    LimitsOutcome,
    MeasuredQuantity,
    Quantity,
    ResourcePair,
    SetupChange,
    TimePair,
    WindowStatistic,
)
from plimsoll.model.diagnosis import Diagnosis, Resource, Verdict
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.snapshot import Gap
from plimsoll.reports.compare.headline import compare_headline, limit_of, step_sentence, time_of
from plimsoll.reports.render import words
from plimsoll.reports.render.facts import Fact
from plimsoll.reports.render.pair import SAME, pair, percent_of
from plimsoll.units import MIB, format_bytes_per_s, format_duration, format_ops_per_s, format_ratio, number

BADGES = {
    LimitsOutcome.BETTER: "better",
    LimitsOutcome.SAME: "no worse, no better",
    LimitsOutcome.WORSE: "worse",
    LimitsOutcome.UNKNOWN: "unknown",
}
NOTHING_CHANGED = "Nothing: both sides have the same setup."

_SUBJECTS = {
    MeasuredQuantity.THROUGHPUT: "throughput",
    MeasuredQuantity.READ_THROUGHPUT: "  reads",
    MeasuredQuantity.WRITE_THROUGHPUT: "  writes",
    MeasuredQuantity.IOPS: "IOPS",
    MeasuredQuantity.READ_IOPS: "  reads",
    MeasuredQuantity.WRITE_IOPS: "  writes",
    MeasuredQuantity.IO_SIZE: "I/O size",
    MeasuredQuantity.READ_LATENCY: "read latency",
    MeasuredQuantity.WRITE_LATENCY: "write latency",
    MeasuredQuantity.QUEUE_DEPTH: "queue depth",
    MeasuredQuantity.BYTE_BALANCE: METRICS[Metric.BYTE_BALANCE_RATIO].cloudwatch or "",
    MeasuredQuantity.IO_BALANCE: METRICS[Metric.IO_BALANCE_RATIO].cloudwatch or "",
    MeasuredQuantity.VOLUME_BALANCE: METRICS[Metric.VOLUME_BALANCE_RATIO].cloudwatch or "",
    MeasuredQuantity.CPU: "CPU",
    MeasuredQuantity.CONNECTIONS: "connections",
    MeasuredQuantity.FREE_MEMORY: "freeable memory",
}
_STATISTICS = {
    WindowStatistic.MEAN: "mean",
    WindowStatistic.MEDIAN: "median",
    WindowStatistic.P95: "p95",
    WindowStatistic.P99: "p99",
    WindowStatistic.PEAK: "peak",
    WindowStatistic.LOWEST: "lowest",
    WindowStatistic.BELOW_TENTH: "below 10 %",
}
_BALANCES = (MeasuredQuantity.BYTE_BALANCE, MeasuredQuantity.IO_BALANCE, MeasuredQuantity.VOLUME_BALANCE)
_MACHINE = (MeasuredQuantity.CPU, MeasuredQuantity.CONNECTIONS, MeasuredQuantity.FREE_MEMORY)
# Of these only the mean is shown, and of _FEWER three statistics; the JSON form has all.
_MEAN_ONLY = frozenset(
    {
        MeasuredQuantity.READ_THROUGHPUT,
        MeasuredQuantity.WRITE_THROUGHPUT,
        MeasuredQuantity.READ_IOPS,
        MeasuredQuantity.WRITE_IOPS,
    }
)
_FEWER = frozenset({MeasuredQuantity.IOPS, MeasuredQuantity.QUEUE_DEPTH})
_SHARED = frozenset(
    {
        MeasuredQuantity.THROUGHPUT,
        MeasuredQuantity.IOPS,
        MeasuredQuantity.READ_LATENCY,
        MeasuredQuantity.WRITE_LATENCY,
        MeasuredQuantity.QUEUE_DEPTH,
    }
)

_NAMES = {
    "identifier": "instance",
    "db_class": "class",
    "engine_version": "engine version",
    "multi_az": "Multi-AZ",
    "storage.kind": "storage type",
    "storage.size_gib": "storage size",
    "storage.provisioned_ops_per_s": "provisioned IOPS",
    "storage.provisioned_bytes_per_s": "provisioned throughput",
    "storage.volume_count": "volumes",
    "launched_s": "launched",
    "connection_max": "max_connections",
    "vcpu_count": "vCPUs",
    "memory_bytes": "memory",
    "capacity_acu_max": "largest capacity",
}
_FORMS: dict[str, Callable[[float], str]] = {
    "storage.size_gib": lambda v: f"{number(v)} GiB",
    "storage.provisioned_ops_per_s": format_ops_per_s,
    "storage.provisioned_bytes_per_s": lambda v: f"{number(v / MIB)} MiB/s",
    "launched_s": words.moment,
    "memory_bytes": lambda v: words.quantity(v, "bytes"),
    "capacity_acu_max": lambda v: f"{number(v)} ACU",
    "multi_az": lambda v: "yes" if v else "no",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """One row of a table: a number on both sides, and their difference."""

    name: str
    short_name: str = ""
    """For narrow pages; empty where the name is short."""
    statistic: str = ""
    before: str
    after: str
    difference: str = ""
    percent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadroomRow:
    """One resource on both sides; None where that side has no such resource."""

    name: str
    verdict_before: Verdict | None
    before: str
    verdict_after: Verdict | None
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSection:
    """A table of quantities with its title."""

    title: str
    rows: tuple[ComparedRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOutline:
    """All texts of a comparison."""

    outcome: LimitsOutcome
    headline: str
    step: str
    """Whether what lies between was enough; empty where that is no question."""
    next_command: str
    simulated: tuple[str, ...]
    """Notes about the simulated sides; empty if both were measured."""
    sides: tuple[Fact, Fact]
    verdicts: tuple[Verdict, Verdict]
    bought: tuple[ComparedRow, ...]
    time_at: tuple[ComparedRow, ...]
    """Any ceiling first, then each."""
    bounds: tuple[Fact, ...]
    """What binds on each side, and what would next."""
    sections: tuple[ComparedSection, ...]
    ceilings: tuple[ComparedRow, ...]
    headroom: tuple[HeadroomRow, ...]
    unknown: tuple[Fact, ...]
    caveats: tuple[str, ...]


def compare_outline(comparison: Comparison) -> CompareOutline:
    """Return the texts of a comparison for people."""
    sides = (comparison.before, comparison.after)
    diagnoses = (sides[0].diagnosis, sides[1].diagnosis)
    return CompareOutline(
        outcome=comparison.outcome,
        headline=compare_headline(comparison),
        step=step_sentence(comparison),
        next_command=words.plain(comparison.next_command),
        simulated=_simulated(diagnoses),
        sides=(Fact("Before", _window(diagnoses[0])), Fact("After", _window(diagnoses[1]))),
        verdicts=(diagnoses[0].verdict, diagnoses[1].verdict),
        bought=tuple(_bought_row(b) for b in comparison.bought),
        time_at=_time_rows(comparison),
        bounds=tuple(Fact(name, _bound(d)) for name, d in zip(("Before", "After"), diagnoses, strict=True)),
        sections=tuple(_sections(comparison)),
        ceilings=tuple(_ceiling_row(row) for row in comparison.ceilings),
        headroom=tuple(_headroom_row(row) for row in comparison.headroom),
        unknown=tuple(_unknown(comparison.quantities)),
        caveats=tuple(words.sentence(c.text) for c in comparison.caveats),
    )


def _simulated(diagnoses: tuple[Diagnosis, Diagnosis]) -> tuple[str, ...]:
    notes = [words.plain(d.note) for d in diagnoses]
    if all(d.is_simulated for d in diagnoses) and notes[0] == notes[1]:
        return (notes[0],)
    return tuple(
        f"{when}: {note}" for when, note, d in zip(("Before", "After"), notes, diagnoses, strict=True) if d.is_simulated
    )


def _window(diagnosis: Diagnosis) -> str:
    instance, (start, end) = diagnosis.instance, diagnosis.window_s
    step = f"one sample per {format_duration(diagnosis.step_s)}" if diagnosis.step_s else ""
    known = words.storage(instance)
    parts = [
        words.subject(instance),
        known if known != "unknown" else "storage unknown",
        f"{words.span(start, end)} UTC, {format_duration(end - start)}",
        step,
    ]
    return " · ".join(part for part in parts if part)


def _bought_row(bought: SetupChange) -> ComparedRow:
    values: list[str] = []
    for value in (bought.before, bought.after):
        form = _FORMS.get(bought.name)
        if value is None:
            values.append("unknown")
        elif isinstance(value, str):
            values.append(words.plain(value))
        else:
            values.append(form(value) if form else number(value))
    name = _NAMES.get(bought.name, bought.name)
    return ComparedRow(name=name, before=values[0], after=values[1])


def _time_rows(comparison: Comparison) -> tuple[ComparedRow, ...]:
    before, after = comparison.before, comparison.after
    rows = [_time_row("any ceiling", "", comparison, before.at_ceiling_s, after.at_ceiling_s)]
    for at in comparison.time_at:
        limit = (at.family, at.phase, at.former_phase)
        level = _levels(at)
        name = f"{words.limit_name(*limit)}, {level}"
        short = f"{words.short_limit_name(*limit)}, {level}"
        rows.append(_time_row(name, short, comparison, at.before_s, at.after_s))
    return tuple(rows)


def _time_row(
    name: str, short: str, comparison: Comparison, before_s: float | None, after_s: float | None
) -> ComparedRow:
    shares = (comparison.before.share_of(before_s), comparison.after.share_of(after_s))
    return ComparedRow(
        name=name,
        short_name=short,
        before=_time_share(before_s, shares[0]),
        after=_time_share(after_s, shares[1]),
        difference=pair(*shares, "ratio").difference,
    )


def _time_share(seconds: float | None, share: float | None) -> str:
    if seconds is None:
        return "unknown"
    if not seconds:
        return "never"
    return f"{time_of(seconds)} ({format_ratio(share)})" if share is not None else time_of(seconds)


def _levels(row: TimePair) -> str:
    """Return `86.875 MB/s`, or `86.875 → 148.5 MB/s` if the sides differ."""
    digits = 4 if row.family is Family.UNKNOWN else 5
    levels = [
        format_ops_per_s(level) if row.dimension is Dimension.IOPS else format_bytes_per_s(level, digits)
        for level in (row.level_before, row.level_after)
        if level is not None
    ]
    if len(set(levels)) < 2:
        return levels[0]
    return f"{levels[0].rpartition(' ')[0]} → {levels[1]}"


def _bound(diagnosis: Diagnosis) -> str:
    if diagnosis.verdict is Verdict.UNKNOWN:
        return "We cannot say what binds."
    if diagnosis.binding is None:
        return "Nothing binds."
    following = diagnosis.next_ceiling
    then = (
        f"; next at the same I/O size: {words.ceiling_name(following)}, {words.ceiling_value(following)}"
        if following
        else ""
    )
    limit = limit_of(diagnosis).removeprefix("its ")
    return f"{limit} binds{then}."


def _sections(comparison: Comparison) -> Iterable[ComparedSection]:
    rates = [s for s in MeasuredQuantity if s not in (*_BALANCES, *_MACHINE)]
    storage = rates[: rates.index(MeasuredQuantity.READ_LATENCY)]
    waiting = rates[rates.index(MeasuredQuantity.READ_LATENCY) :]
    for title, subjects in (
        ("Served", storage),
        ("Latency and queue", waiting),
        ("Credits", _BALANCES),
        ("Machine", _MACHINE),
    ):
        rows = tuple(_quantity_rows(comparison.quantities, subjects))
        if rows:
            yield ComparedSection(title=title, rows=rows)
    shared = comparison.shared_hours
    if shared is None:
        return
    rows = tuple(
        _quantity_row(q)
        for q in shared.quantities
        if q.subject in _SHARED and q.statistic is WindowStatistic.MEAN and _is_known(q)
    )
    shares = pair(shared.at_ceiling_before, shared.at_ceiling_after, "ratio")
    share = ComparedRow(
        name="at a ceiling", statistic="share", before=shares.before, after=shares.after, difference=shares.difference
    )
    hours = f"{len(shared.hours)} hour{'s' if len(shared.hours) > 1 else ''}"
    yield ComparedSection(title=f"In the {hours} of the day that both cover", rows=(*rows, share))


def _quantity_rows(quantities: Iterable[Quantity], subjects: Iterable[MeasuredQuantity]) -> Iterable[ComparedRow]:
    """Yield the rows of these subjects; the name is in the first row of each."""
    wanted = tuple(subjects)
    previous: MeasuredQuantity | None = None
    for quantity in quantities:
        if quantity.subject in wanted and _is_shown(quantity) and _is_known(quantity):
            yield _quantity_row(quantity, is_first=quantity.subject is not previous)
            previous = quantity.subject


def _is_shown(quantity: Quantity) -> bool:
    if quantity.subject in _MEAN_ONLY:
        return quantity.statistic is WindowStatistic.MEAN
    if quantity.subject in _FEWER:
        return quantity.statistic in (WindowStatistic.MEAN, WindowStatistic.P95, WindowStatistic.PEAK)
    return True


def _is_known(quantity: Quantity) -> bool:
    return quantity.before is not None or quantity.after is not None


def _quantity_row(quantity: Quantity, *, is_first: bool = True) -> ComparedRow:
    shown = pair(quantity.before, quantity.after, quantity.unit)
    return ComparedRow(
        name=_SUBJECTS[quantity.subject] if is_first else "",
        statistic=_STATISTICS[quantity.statistic],
        before=shown.before,
        after=shown.after,
        difference=shown.difference,
        percent=shown.percent,
    )


def _ceiling_row(row: CeilingPair) -> ComparedRow:
    limit = (row.family, row.phase, row.former_phase)
    before, after = (c.value if c else None for c in (row.before, row.after))
    is_storage = row.dimension is not Dimension.AMOUNT
    difference = percent = ""
    if before is not None and after is not None:
        amount = _published(abs(after - before), row.unit)
        difference = SAME if before == after else f"{'+' if after > before else '−'}{amount}"
        percent = percent_of(before, after)
    return ComparedRow(
        name=words.limit_name(*limit),
        short_name=words.short_limit_name(*limit) if is_storage else "",
        before=_ceiling_cell(row.before),
        after=_ceiling_cell(row.after),
        difference=difference,
        percent=percent if row.unit != "ratio" else "",
    )


def _published(value: float, unit: str) -> str:
    """Return a limit with up to five significant figures: 86.875, 593.75."""
    return format_bytes_per_s(value, 5) if unit == "bytes/s" else words.quantity(value, unit)


def _ceiling_cell(ceiling: Ceiling | None) -> str:
    """Return the decimal number, and on a second line the binary one if it is sold in that unit."""
    if ceiling is None:
        return "–"
    text = words.ceiling_value(ceiling)
    return text.replace(" (", "\n").removesuffix(")") if text.endswith("MiB/s)") else text


def _headroom_row(row: ResourcePair) -> HeadroomRow:
    resource = row.before or row.after
    assert resource is not None
    return HeadroomRow(
        name=words.plain(resource.name),
        verdict_before=row.before.verdict if row.before else None,
        before=_headroom(row.before),
        verdict_after=row.after.verdict if row.after else None,
        after=_headroom(row.after),
    )


def _headroom(resource: Resource | None) -> str:
    if resource is None:
        return "–"
    return words.quantity(resource.headroom, resource.unit)


def _unknown(quantities: tuple[Quantity, ...]) -> Iterable[Fact]:
    """Yield what could not be compared, with the reason; quantities with one reason are joined."""
    before = _gaps(gap for q in quantities for gap in q.gaps_before)
    after = _gaps(gap for q in quantities for gap in q.gaps_after)
    groups: dict[tuple[str, str], list[str]] = {}
    for gap in dict.fromkeys((*before, *after)):
        when = "on neither side" if gap in before and gap in after else "before"
        when = when if gap in before else "after"
        reason = f"{words.sentence(gap.reason)} {words.sentence(gap.remedy)}".strip()
        groups.setdefault((when, reason), []).append(words.plain(gap.metric))
    for (when, reason), named in groups.items():
        yield Fact(f"{words.series_of(named)}, {when}", reason)


def _gaps(gaps: Iterable[Gap]) -> dict[Gap, None]:
    """Return each gap once, in order of first occurrence."""
    return dict.fromkeys(gaps)
