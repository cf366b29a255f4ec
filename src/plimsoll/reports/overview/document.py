"""
The document of many instances: the most urgent first, one row each, then who could not be judged.

Rule 1: every instance is named in every form; what is folded is listed by name, never left out.
Rule 2: unknown and unread stand with what would remedy them, and are never counted as fine.
"""

from collections.abc import Iterable, Iterator, Sequence

from plimsoll.model.diagnosis import SHORT_WINDOW, Verdict
from plimsoll.model.family import unit_at
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.overview import BoundTime, Overview, OverviewRow, RemainingAmount, UnreadInstance
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
    facts_of,
)
from plimsoll.reports.document.verdict import VERDICT_TONES
from plimsoll.reports.render import words
from plimsoll.reports.render.explanations import Topic
from plimsoll.reports.render.words import VERDICT_SIGNS
from plimsoll.units import format_duration, format_ratio, number

NOTHING = "–"
"""Stands where nothing is to be said: no time at a ceiling, no balance below full."""

_METRICS = {metric.value: METRICS[metric] for metric in Metric}

# A change of latency below half as much again is seen without any limit.
_SLOWER = 1.5
# Less than this share of the window measured, and a verdict of `slack` needs the remark.
_MEASURED = 0.5

# If the terminal is too narrow, columns are dropped: first those that others imply, then facts to look up.
_COLUMNS = (
    Column(title="#", is_number=True, leaves=4),
    Column(title="Instance", least=16),
    Column(title="Class", leaves=3),
    Column(title="Engine and storage", leaves=1),
    Column(title="Verdict"),
    # The name of a limit is on one line, its number on the next.
    Column(title="Limit, or nearest", least=24, legend="Percentages: peak of the nearest resource, of its ceiling."),
    Column(title="At it", is_number=True, leaves=6),
    Column(title="Share", is_number=True, leaves=2, legend="Share: of the time measured."),
    Column(
        title="Credits",
        least=10,
        leaves=5,
        legend=f"Credits: the lowest balance, and when it is empty at the present rate; {NOTHING}: none below 100 %.",
    ),
)

# Instances with one reason why something is missing: the reason, its remedy, their names.
Group = tuple[str, str, tuple[str, ...]]


def overview_document(overview: Overview, *, lists_all: bool = False) -> Document:
    """
    Return the document of many instances.

    Args:
        overview: many instances, ranked.
        lists_all: whether every instance gets a row; without it those that are not near a limit are
            listed by name.
    """
    simulated = _simulated(overview)
    worst = overview.rows[0].verdict if overview.rows else Verdict.UNKNOWN
    return Document(
        kind="overview",
        headline=headline(overview),
        tone=VERDICT_TONES[worst],
        simulated=(simulated,) if simulated else (),
        parts=tuple(_parts(overview, lists_all=lists_all)),
        topic=Topic.OVERVIEW,
        is_wide=True,
    )


def _parts(overview: Overview, *, lists_all: bool) -> Iterator[Part]:
    if overview.stopped:
        yield Paragraph(text=words.sentence(f"reading stopped early: {overview.stopped}"), tone=Tone.UNKNOWN)
    shown, folded = [], []
    for rank, item in enumerate(overview.ranked, start=1):
        verdict = item.verdict if isinstance(item, OverviewRow) else Verdict.UNKNOWN
        if lists_all or verdict in (Verdict.BINDS, Verdict.NEAR):
            shown.append((rank, item))
        elif isinstance(item, OverviewRow) and verdict is Verdict.SLACK:
            folded.append(_folded_name(item))
    if shown:
        yield Section(title="Instances", parts=(_table(shown),))
    unknown = _grouped(
        (_gap_names(row), _remedies(row), _unjudged_name(row))
        for row in overview.rows
        if row.verdict is Verdict.UNKNOWN
    )
    yield _groups("Could not be judged", unknown)
    yield _groups("Could not be read", _grouped((u.reason, u.remedy, u.identifier) for u in overview.unread))
    failed = _failed(overview)
    if failed:
        yield Section(title="Read only in part", parts=(_group_facts(failed),))
    if folded:
        names = Paragraph(text=", ".join(sorted(folded)))
        yield Section(title=f"Not near a limit: {len(folded)}", parts=(names,))
    yield Section(title="How it was measured", parts=(facts_of(_measured(overview)),))


def _table(ranked: Sequence[tuple[int, OverviewRow | UnreadInstance]]) -> Table:
    return Table(
        columns=_COLUMNS,
        rows=tuple(
            _cells(item, rank) if isinstance(item, OverviewRow) else _unread_cells(item, rank) for rank, item in ranked
        ),
        remarks=tuple(
            "; ".join(_notes(item)) if isinstance(item, OverviewRow) else words.plain(item.reason) for _, item in ranked
        ),
        stacks=True,
    )


def _cells(row: OverviewRow, rank: int) -> tuple[str | Cell, ...]:
    instance, spent = row.instance, row.binding or row.waiting
    engine = " ".join(words.plain(p) for p in (instance.engine, instance.engine_version) if p)
    word = _word(row).upper() if row.verdict is Verdict.BINDS else _word(row)
    return (
        *(str(rank), words.plain(instance.identifier), words.plain(instance.db_class or "unknown")),
        f"{engine or 'unknown'}; {words.storage(instance)}",
        Cell(f"{VERDICT_SIGNS[row.verdict]} {word}", VERDICT_TONES[row.verdict]),
        _limit(row),
        format_duration(spent.seconds) if spent else NOTHING,
        format_ratio(spent.share_ratio) if spent else NOTHING,
        _credits(row.credits_left),
    )


def _unread_cells(item: UnreadInstance, rank: int) -> tuple[str | Cell, ...]:
    verdict = Cell(f"{VERDICT_SIGNS[Verdict.UNKNOWN]} unread", VERDICT_TONES[Verdict.UNKNOWN])
    name = words.plain(item.identifier)
    return str(rank), name, "unknown", "unknown; unknown", verdict, "unknown", NOTHING, NOTHING, NOTHING


def _groups(title: str, groups: Sequence[Group]) -> Section:
    count = sum(len(names) for _, _, names in groups)
    return Section(title=f"{title}: {count}", parts=(_group_facts(groups),) if groups else ())


def _group_facts(groups: Sequence[Group]) -> Facts:
    facts = [(reason, f"{', '.join(names)}. {remedy}".strip()) for reason, remedy, names in groups]
    return facts_of(facts, are_sentences=True)


def failed_groups(overview: Overview) -> dict[tuple[str, str], list[str]]:
    """Return the failed requests by reason and remedy, with the instances concerned."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in overview.rows:
        by_reason: dict[tuple[str, str], list[str]] = {}
        for gap in row.failed:
            by_reason.setdefault((gap.reason, gap.remedy), []).append(published(gap.metric))
        for (reason, remedy), names in by_reason.items():
            described = f"{words.series_of([words.plain(n) for n in names])}: {reason}"
            found.setdefault((described, remedy), []).append(row.instance.identifier)
    return found


def published(metric: str) -> str:
    """Return CloudWatch's name for one of our metrics; any other name unchanged."""
    facts = _METRICS.get(metric)
    return (facts.cloudwatch if facts else None) or metric


def _failed(overview: Overview) -> tuple[Group, ...]:
    count = len(overview.rows)
    return tuple(
        (reason, remedy, (f"all {words.counted(count, 'instance')}",) if len(names) == count > 1 else names)
        for reason, remedy, names in _grouped(
            (reason, remedy, name) for (reason, remedy), names in failed_groups(overview).items() for name in names
        )
    )


def headline(overview: Overview) -> str:
    """Return the numbers of instances at a limit, of others, and of those that could not be judged."""
    rows = overview.rows
    total = len(rows) + len(overview.unread)
    count = {verdict: sum(row.verdict is verdict for row in rows) for verdict in Verdict}
    waits = sum(row.verdict is Verdict.UNKNOWN and row.waiting is not None for row in rows)
    unjudged = count[Verdict.UNKNOWN] + len(overview.unread)
    free = count[Verdict.NEAR] + count[Verdict.SLACK]
    bound = count[Verdict.BINDS]
    if not total:
        return "No instance was found."
    if unjudged == total and not waits:
        return f"None of {words.counted(total, 'instance')} could be judged."
    # Where none was judged, there is nothing to say of limits.
    parts = [] if unjudged == total else [_bound(bound, sum(row.now is not None for row in rows), total, unjudged)]
    if bound and free:
        parts.append(f"{free:,} {'is' if free == 1 else 'are'} not")
    if count[Verdict.NEAR]:
        parts[-1] += f", but {count[Verdict.NEAR]:,} came near one"
    # Without a documented limit, none that was reached is only a sign that none was.
    guessed = sum(bool(r.gaps) for r in rows if r.verdict in (Verdict.NEAR, Verdict.SLACK))
    if guessed:
        parts.append(f"{guessed:,} with some limits unknown")
    if waits:
        verb = "waits" if waits == 1 else "wait"
        of = "" if parts else f" of {words.counted(total, 'instance')}"
        parts.append(f"{waits:,}{of} {verb} for storage, and no documented limit explains it")
    if unjudged > waits:
        parts.append(f"{unjudged - waits:,} could not be judged")
    return "; ".join(parts) + "."


def _folded_name(row: OverviewRow) -> str:
    """Return an instance in a list of names, with its remark in brackets."""
    name, notes = words.plain(row.instance.identifier), "; ".join(_notes(row))
    return f"{name} ({notes})" if notes else name


def _bound(bound: int, now: int, total: int, unjudged: int) -> str:
    if not bound:
        # Instances that could not be judged do not count as free.
        judged = total - unjudged
        if unjudged and judged == 1:
            return "The one instance that could be judged was not up against a limit"
        those = (
            f"the {words.counted(judged, 'instance')} that could be judged"
            if unjudged
            else words.counted(total, "instance")
        )
        return f"None of {those} was up against a limit"
    who = f"{bound:,} of {words.counted(total, 'instance')}"
    if not now:
        return f"{who} {'was' if bound == 1 else 'were'} up against a limit, none of them now"
    which = "now" if bound == 1 else "all of them now" if now == bound else f"{now:,} of them now"
    return f"{who} {'is' if bound == 1 else 'are'} up against a limit, {which}"


def _word(row: OverviewRow) -> str:
    """Return the verdict, and whether it holds at the end of the window."""
    if row.verdict is Verdict.UNKNOWN and row.waiting:
        return "waits now" if row.waiting.is_now else "waited"
    return f"{words.VERDICT_WORDS[row.verdict]}{' now' if row.now else ''}"


def bound_name(bound: BoundTime) -> str:
    """Return `instance baseline 287.5 MB/s`, `unknown limit 81.3 MB/s`, `storage space 100 GiB`."""
    unit = unit_at(bound.family, bound.dimension)
    return words.limit_value(bound.family, bound.phase, bound.former_phase, bound.value, unit)


def _limit(row: OverviewRow) -> str:
    if row.binding:
        return bound_name(row.binding)
    if row.waiting:
        return "no known ceiling"
    if row.verdict is Verdict.UNKNOWN or row.nearest is None:
        return "unknown"
    return f"{words.plain(row.nearest.name)} {format_ratio(row.nearest.peak_ratio)}"


def _credits(left: RemainingAmount | None) -> str:
    if left is None:
        return NOTHING
    if left.ratio <= 0.005:
        return "none left"
    time = "" if left.empty_in_s is None else f", {format_duration(left.empty_in_s)}"
    return f"{format_ratio(left.ratio)}{time}"


def _notes(row: OverviewRow) -> Iterable[str]:
    """Return the facts that have no column, the most urgent first."""
    if row.now and row.now != row.binding:
        yield f"now at {bound_name(row.now)}"
    if row.binding:
        yield _when(row.binding, row.now)
    if row.waiting:
        yield (
            f"latency was {number(row.waiting.times, 2)} times normal for "
            f"{format_duration(row.waiting.seconds)}, no documented limit explains it"
        )
    if _close(row):
        yield f"near: {_close(row)}"
    if row.latency_ratio is not None and row.latency_ratio >= _SLOWER:
        yield f"latency up to {number(row.latency_ratio, 2)} times normal"
    yield from (words.plain(context) for context in row.contexts)
    if row.space_left and row.space_left.empty_in_s is not None:
        name = words.FAMILY_NAMES[row.space_left.family]
        yield f"{name} full in {format_duration(row.space_left.empty_in_s)}"
    if row.ends_early:
        yield f"no samples after {words.moment(row.window_s[1])}"
    if 0 < row.measured_s < _MEASURED * row.expected_s:
        expected = format_duration(row.expected_s)
        yield f"measured for {format_duration(row.measured_s)} of {expected}"
    limits = [words.plain(m.name) for m in row.gaps if m.hides != "verdict"]
    if limits:
        yield f"some limits unknown: {words.series_of(limits)} missing"
    hidden = [words.plain(m.name) for m in row.gaps if m.hides == "verdict"]
    if SHORT_WINDOW in hidden:
        hidden.remove(SHORT_WINDOW)
        yield SHORT_WINDOW
    if hidden:
        yield f"missing: {words.series_of(hidden)}"
    if row.instance.pending:
        yield f"pending: {words.plain(', '.join(row.instance.pending))}"


def _when(binding: BoundTime, now: BoundTime | None) -> str:
    start = words.moment(binding.first_s)[5:]
    count = f"{binding.interval_count} intervals"
    if now == binding:
        return f"since {start}" if binding.interval_count == 1 else f"{count} since {start}"
    span = words.short_span(binding.first_s, binding.last_s)
    return span if binding.interval_count == 1 else f"{count}, {span}"


def _close(row: OverviewRow) -> str:
    """Return the near resource of an unknown verdict: `connections 93 %`; empty without one."""
    nearest = row.nearest
    if row.verdict is not Verdict.UNKNOWN or nearest is None or nearest.verdict is Verdict.SLACK:
        return ""
    return f"{words.plain(nearest.name)} {format_ratio(nearest.peak_ratio)}"


def _unjudged_name(row: OverviewRow) -> str:
    return f"{row.instance.identifier} ({_close(row)})" if _close(row) else row.instance.identifier


def _gap_names(row: OverviewRow) -> str:
    if row.waiting:
        return "requests waited, and no documented limit explains it"
    names = [words.plain(m.name) for m in row.gaps if m.hides == "verdict"]
    if names == [SHORT_WINDOW]:
        return SHORT_WINDOW
    return f"{words.series_of(names)} missing" if names else "not measured"


def _remedies(row: OverviewRow) -> str:
    if row.waiting:
        return row.waiting.check
    remedies = dict.fromkeys(m.remedy for m in row.gaps if m.hides == "verdict")
    return " ".join(words.sentence(remedy) for remedy in remedies)


def _grouped(items: Iterable[tuple[str, str, str]]) -> tuple[Group, ...]:
    """Return groups by reason and remedy, the largest first."""
    names: dict[tuple[str, str], list[str]] = {}
    for reason, remedy, name in items:
        names.setdefault((reason, remedy), []).append(words.plain(name))
    groups = [
        (words.sentence(reason).rstrip("."), words.sentence(remedy), tuple(sorted(named)))
        for (reason, remedy), named in names.items()
    ]
    return tuple(sorted(groups, key=lambda group: (-len(group[2]), *group[:2])))


def _simulated(overview: Overview) -> str:
    names = [words.plain(r.instance.identifier) for r in overview.rows if r.is_simulated]
    if not names:
        return ""
    if len(names) == len(overview.rows):
        return "The samples of every instance come from a simulator."
    return f"The samples of {words.series_of(sorted(names))} come from a simulator."


def _measured(overview: Overview) -> list[tuple[str, str]]:
    start, end = overview.window_s
    facts = [("Source", words.plain(overview.source))]
    if end > start:
        facts.append(("Window", f"{words.span(start, end)} UTC, {format_duration(end - start)}"))
    steps = sorted({row.step_s for row in overview.rows if row.step_s})
    if steps:
        length = words.series_of([format_duration(s) for s in steps])
        facts.append(("Step", f"one sample per {length}"))
    if overview.usage is not None:
        facts.append(("API requests", _asked(overview)))
    return facts


def _asked(overview: Overview) -> str:
    usage = overview.usage
    assert usage is not None
    calls = ", ".join(f"{words.plain(action)} {count:,}" for action, count in usage.calls)
    text = f"{usage.call_count:,} requests" + (f" ({calls})" if calls else "")
    if usage.metrics_requested:
        price = "at an unknown price" if overview.usd is None else f"about ${overview.usd:.4f}"
        text += f"; {usage.metrics_requested:,} metrics, {price}"
    return text
