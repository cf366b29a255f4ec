"""
The document of a comparison.

The order is that of somebody who made a change: what became of the limit, what was changed, time at ceilings, served and
latency, ceilings, headroom, and what to beware of. Numbers come from the comparison, this file adds none.
"""

from collections.abc import Callable, Iterable, Iterator

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
from plimsoll.model.family import unit_at
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.snapshot import Gap
from plimsoll.reports.compare.headline import compare_headline, limit_of, step_sentence, time_of
from plimsoll.reports.document.parts import (
    Cell,
    Column,
    Command,
    Document,
    Facts,
    Paragraph,
    Part,
    Section,
    Table,
    Tone,
    bullets_of,
    facts_of,
)
from plimsoll.reports.document.verdict import verdict_cell
from plimsoll.reports.render import words
from plimsoll.reports.render.explanations import Topic
from plimsoll.reports.render.facts import Fact
from plimsoll.reports.render.pair import SAME, pair, percent_of
from plimsoll.units import MIB, format_bytes_per_s, format_duration, format_ops_per_s, format_ratio, number

# Below this a terminal leaves differences out, which the reader can see from the sides.
_NARROW = 76
# From this width on, names of limits are written in full, and times have a column of differences.
_WIDE = 100

BADGES = {
    LimitsOutcome.BETTER: "better",
    LimitsOutcome.SAME: "no worse, no better",
    LimitsOutcome.WORSE: "worse",
    LimitsOutcome.UNKNOWN: "unknown",
}

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
_OUTCOMES = {
    LimitsOutcome.BETTER: Tone.GOOD,
    LimitsOutcome.SAME: Tone.PLAIN,
    LimitsOutcome.WORSE: Tone.BAD,
    LimitsOutcome.UNKNOWN: Tone.UNKNOWN,
}
_NAME = Column(title="")

Row = tuple[str | Cell, ...]


def compare_document(comparison: Comparison) -> Document:
    """Return the document of a comparison."""
    return Document(
        kind="comparison",
        headline=compare_headline(comparison),
        tone=_OUTCOMES[comparison.outcome],
        simulated=_simulated(comparison.before.diagnosis, comparison.after.diagnosis),
        parts=tuple(_parts(comparison)),
        topic=Topic.COMPARISON,
    )


def _parts(comparison: Comparison) -> Iterator[Part]:
    diagnoses = (comparison.before.diagnosis, comparison.after.diagnosis)
    step = step_sentence(comparison)
    if step:
        yield Paragraph(text=step)
    if comparison.next_command:
        yield Command(line=words.plain(comparison.next_command))
    yield facts_of([(name, _window(d)) for name, d in zip(("Before", "After"), diagnoses, strict=True)])
    yield Section(title="What changed", parts=(_bought(comparison.bought),))
    bounds = facts_of(
        [(name, _bound(d)) for name, d in zip(("Before", "After"), diagnoses, strict=True)], are_sentences=True
    )
    yield Section(title=f"Time at ceilings: {BADGES[comparison.outcome]}", parts=(_times(comparison), bounds))
    for title, rows in _quantities(comparison):
        if rows:
            yield Section(title=title, parts=(_numbers(rows),))
    if comparison.ceilings:
        rows = [_ceiling_row(row) for row in comparison.ceilings]
        yield Section(title="Ceilings", parts=(_table(rows, _NAME, *_numeric("Before", "After"), *_differences()),))
    if comparison.headroom:
        yield Section(title="Headroom", parts=(_headroom(comparison.headroom),))
    unknown = tuple(_unknown(comparison.quantities))
    if unknown:
        yield Section(title="Not compared", parts=(Facts(facts=unknown, are_sentences=True),))
    if comparison.caveats:
        yield Section(title="Caveats", parts=(bullets_of([words.sentence(c.text) for c in comparison.caveats]),))


def _table(rows: Iterable[Row], *columns: Column) -> Table:
    return Table(columns=columns, rows=tuple(rows))


def _numeric(*titles: str) -> tuple[Column, ...]:
    return tuple(_number(title) for title in titles)


def _number(title: str, from_width: int = 0) -> Column:
    return Column(title=title, is_number=True, may_break=False, from_width=from_width)


def _differences() -> tuple[Column, Column]:
    """Return the columns of a difference, absolute and in percent."""
    return _number("Difference", _NARROW), _number("", _NARROW)


def _simulated(before: Diagnosis, after: Diagnosis) -> tuple[str, ...]:
    """Return notes about the simulated sides; none if both were measured."""
    if before.is_simulated and after.is_simulated and before.note == after.note:
        return (before.note,)
    return tuple(f"{when}: {d.note}" for when, d in (("Before", before), ("After", after)) if d.is_simulated)


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


def _bought(bought: Iterable[SetupChange]) -> Part:
    rows = [
        (_NAMES.get(one.name, one.name), _setting(one.name, one.before), _setting(one.name, one.after))
        for one in bought
    ]
    if not rows:
        return bullets_of(["Nothing: both sides have the same setup."])
    return _table(rows, _NAME, *(Column(title=title, may_break=False) for title in ("Before", "After")))


def _setting(name: str, value: str | float | None) -> str:
    if value is None:
        return "unknown"
    return words.plain(value) if isinstance(value, str) else _FORMS.get(name, number)(value)


def _times(comparison: Comparison) -> Table:
    """Return the verdict and the time at each ceiling, any ceiling first."""
    before, after = comparison.before, comparison.after
    verdicts: Row = ("verdict", *(verdict_cell(side.diagnosis.verdict) for side in (before, after)), "")
    rows = [_time_row("any ceiling", comparison, before.at_ceiling_s, after.at_ceiling_s)]
    for at in comparison.time_at:
        limit, level = (at.family, at.phase, at.former_phase), _levels(at)
        name = _limit(f"{words.limit_name(*limit)}, {level}", f"{words.short_limit_name(*limit)}, {level}")
        rows.append(_time_row(name, comparison, at.before_s, at.after_s))
    return _table((verdicts, *rows), _NAME, *_numeric("Before", "After"), _number("Difference", _WIDE))


def _time_row(name: str | Cell, comparison: Comparison, before_s: float | None, after_s: float | None) -> Row:
    shares = (comparison.before.share_of(before_s), comparison.after.share_of(after_s))
    difference = pair(*shares, "ratio").difference
    return name, _time_share(before_s, shares[0]), _time_share(after_s, shares[1]), difference


def _limit(name: str, short: str) -> Cell:
    """Return the name of a limit; narrow terminals have the short one."""
    return Cell(name, brief=short or None, brief_below=_WIDE)


def _time_share(seconds: float | None, share: float | None) -> str:
    if seconds is None:
        return "unknown"
    if not seconds:
        return "never"
    return f"{time_of(seconds)} ({format_ratio(share)})" if share is not None else time_of(seconds)


def _levels(row: TimePair) -> str:
    """Return `86.875 MB/s`, or `86.875 → 148.5 MB/s` if the sides differ."""
    digits = 4 if row.family is Family.UNKNOWN else 5
    unit = unit_at(row.family, row.dimension)
    levels = [
        format_bytes_per_s(level, digits) if unit == "bytes/s" else words.quantity(level, unit)
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


def _quantities(comparison: Comparison) -> Iterator[tuple[str, list[Row]]]:
    """Yield the rows of each table of numbers with its title."""
    rates = [s for s in MeasuredQuantity if s not in (*_BALANCES, *_MACHINE)]
    storage = rates[: rates.index(MeasuredQuantity.READ_LATENCY)]
    waiting = rates[rates.index(MeasuredQuantity.READ_LATENCY) :]
    for title, subjects in (
        ("Served", storage),
        ("Latency and queue", waiting),
        ("Credits", _BALANCES),
        ("Machine", _MACHINE),
    ):
        yield title, list(_quantity_rows(comparison.quantities, subjects))
    shared = comparison.shared_hours
    if shared is None:
        return
    rows = [
        _quantity_row(q)
        for q in shared.quantities
        if q.subject in _SHARED and q.statistic is WindowStatistic.MEAN and _is_known(q)
    ]
    shares = pair(shared.at_ceiling_before, shared.at_ceiling_after, "ratio")
    hours = words.counted(len(shared.hours), "hour")
    share = ("at a ceiling", "share", shares.before, shares.after, shares.difference, "")
    yield f"In the {hours} of the day that both cover", [*rows, share]


def _numbers(rows: Iterable[Row]) -> Table:
    """
    Return the numbers of both sides with their difference, absolute and in percent.

    A ticket may quote one row, so each has the whole name of what it counts; a terminal says it once.
    """
    cells: list[Row] = []
    name = parent = ""
    for first, *others in rows:
        shown = str(first)
        if shown.startswith(" "):
            name = f"{parent}, {shown.strip()}"
        elif shown:
            name = parent = shown
        cells.append((Cell(name, brief=shown), *others))
    return _table(cells, _NAME, Column(title="", may_break=False), *_numeric("Before", "After"), *_differences())


def _quantity_rows(quantities: Iterable[Quantity], subjects: Iterable[MeasuredQuantity]) -> Iterator[Row]:
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


def _quantity_row(quantity: Quantity, *, is_first: bool = True) -> Row:
    shown = pair(quantity.before, quantity.after, quantity.unit)
    name = _SUBJECTS[quantity.subject] if is_first else ""
    return name, _STATISTICS[quantity.statistic], shown.before, shown.after, shown.difference, shown.percent


def _ceiling_row(row: CeilingPair) -> Row:
    limit = (row.family, row.phase, row.former_phase)
    before, after = (c.value if c else None for c in (row.before, row.after))
    difference = percent = ""
    if before is not None and after is not None:
        amount = words.published(abs(after - before), row.unit)
        difference = SAME if before == after else f"{'+' if after > before else '−'}{amount}"
        percent = percent_of(before, after) if row.unit != "ratio" else ""
    short = words.short_limit_name(*limit) if row.dimension is not Dimension.AMOUNT else ""
    name = _limit(words.limit_name(*limit), short)
    return name, _ceiling_cell(row.before), _ceiling_cell(row.after), difference, percent


def _ceiling_cell(ceiling: Ceiling | None) -> str:
    """Return the decimal number, and on a second line the binary one if it is sold in that unit."""
    if ceiling is None:
        return "–"
    text = words.ceiling_value(ceiling)
    return text.replace(" (", "\n").removesuffix(")") if text.endswith("MiB/s)") else text


def _headroom(pairs: Iterable[ResourcePair]) -> Table:
    rows: list[Row] = []
    for one in pairs:
        resource = one.before or one.after
        assert resource is not None
        rows.append((words.plain(resource.name), *_side(one.before), *_side(one.after)))
    verdict = Column(title="Before", may_break=False)
    return _table(rows, _NAME, verdict, *_numeric("Headroom", "After", "Headroom"))


def _side(resource: Resource | None) -> Row:
    if resource is None:
        return "–", "–"
    return verdict_cell(resource.verdict), words.quantity(resource.headroom, resource.unit)


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
