"""
The content of the report before it has a form: its sentences, their order and words.

The order is that of somebody with an incident: the verdict, what to do first, why we believe it,
what it was not, then everything else. Text, Markdown and the page differ in form only. Claims come
from the diagnosis; this file adds none, it counts and arranges.
"""

from dataclasses import dataclass

from plimsoll.model.ceiling import Ceiling
from plimsoll.model.contained import guarded, guarded_each
from plimsoll.model.diagnosis import (
    SHORT_WINDOW,
    CeilingTime,
    Diagnosis,
    Finding,
    Interval,
    Missing,
    Resource,
    RuledOut,
    Verdict,
)
from plimsoll.reports.diagnosis.events import Events, events_of
from plimsoll.reports.diagnosis.headline import headline, longest_intervals, peak_ratio, shown_interval
from plimsoll.reports.diagnosis.own_events import own_events_section
from plimsoll.reports.diagnosis.statements import statements_section
from plimsoll.reports.diagnosis.waiting import WaitingRow, cause_facts, waiting_rows
from plimsoll.reports.document.parts import Section
from plimsoll.reports.render import words
from plimsoll.reports.render.explanations import Topic, topic_of_finding
from plimsoll.reports.render.facts import Fact
from plimsoll.units import format_bytes, format_duration, format_latency, format_ratio, number

# More rows than this are not read in an incident; the JSON form has all of them.
SIGNS_SHOWN = 4
INTERVALS_SHOWN = 12

_SEVERITIES = ("critical", "warning", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalRow:
    """One interval at a ceiling."""

    start_s: int
    end_s: int
    when: str
    short_when: str
    duration: str
    limit: str
    short_limit: str
    level: str
    confidence: str
    remark: str
    """What a reader must know of it: `lazy loading after a restore; seen at 1 s`; may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRow:
    """One resource with its verdict."""

    name: str
    verdict: Verdict
    ceiling: str
    peak: str
    p99: str
    mean: str
    above: str
    headroom: str
    note: str
    peak_ratio: float | None
    """Peak over ceiling, where both are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CeilingRow:
    """One documented ceiling with its origin."""

    name: str
    value: str
    source: str
    valid: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow:
    """One finding, in sentences."""

    title: str
    text: str
    moves: tuple[str, ...]
    topic: Topic | None
    """What explains it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """All texts of a report."""

    verdict: Verdict
    headline: str
    is_simulated: bool
    note: str
    identity: tuple[Fact, ...]
    figures: tuple[Fact, ...]
    """The few numbers that carry the verdict."""
    moves: tuple[str, ...]
    """What to do, the free thing first."""
    findings: tuple[FindingRow, ...]
    """Worst first; the first one's moves are `moves`."""
    shown: IntervalRow | None
    """The interval that `evidence`, `ruled_out` and `refuted_by` are about."""
    evidence: tuple[str, ...]
    strongest: tuple[str, ...]
    """The part of `evidence` that decides, and how much is left out; for short reports."""
    ruled_out: tuple[Fact, ...]
    refuted_by: str
    documented: CeilingRow | None
    """The ceiling that bound, with its origin; None for an unknown limit or none."""
    next_ceiling: str
    time_at: tuple[Fact, ...]
    intervals: tuple[IntervalRow, ...]
    interval_count: int
    intervals_more: str
    resources: tuple[ResourceRow, ...]
    buckets: tuple[str, ...]
    forecasts: tuple[str, ...]
    waiting: tuple[WaitingRow, ...]
    """Stretches in which requests waited and no ceiling explains it, the longest of them."""
    waiting_more: str
    causes: tuple[Fact, ...]
    """What may have caused them, the likeliest first; the value ends with what would tell."""
    missing: tuple[Fact, ...]
    """What is not known with what it hides; the value ends with what would supply it."""
    is_missing_first: bool
    """Whether what is missing is the reason why no verdict could be given."""
    ceilings: tuple[CeilingRow, ...]
    measured: tuple[Fact, ...]
    events: Events
    """What happened in the window, and what changed before it."""
    statements: Section | None
    """Who waited for storage while a limit was reached; None where no source told."""
    own_events: Section | None
    """The caller's own events; None where none were given."""


def outline(diagnosis: Diagnosis) -> Outline:
    """Return the texts of a diagnosis for people; what an internal error costs is empty."""
    ranked = sorted(diagnosis.findings, key=_severity)
    findings = tuple(guarded_each(lambda f: f"the finding {f.code}", ranked, _finding_row))
    shown = shown_interval(diagnosis)
    listed = longest_intervals(diagnosis.intervals, INTERVALS_SHOWN)
    waited, waiting_more = guarded(
        "the intervals of waiting", lambda: waiting_rows(diagnosis.waiting, INTERVALS_SHOWN), ((), "")
    )
    bound = diagnosis.binding.ceiling if diagnosis.binding else None
    statements, own = diagnosis.statements, diagnosis.own_events
    return Outline(
        verdict=diagnosis.verdict,
        headline=guarded("the headline", lambda: headline(diagnosis), diagnosis.verdict.value),
        is_simulated=diagnosis.is_simulated,
        note=words.plain(diagnosis.note),
        identity=guarded("the description of the instance", lambda: _identity(diagnosis), ()),
        figures=guarded("the figures", lambda: _figures(diagnosis, shown), ()),
        moves=findings[0].moves if findings else (),
        findings=findings,
        shown=_interval_row(shown, diagnosis.step_s) if shown else None,
        evidence=_evidence(shown, diagnosis.step_s) if shown else (),
        strongest=_strongest(shown, diagnosis.step_s) if shown else (),
        ruled_out=tuple(guarded_each(lambda _: "a limit ruled out", shown.ruled_out if shown else (), _ruled_out)),
        refuted_by=words.plain(shown.refuted_by) if shown else "",
        documented=_ceiling_row(bound) if bound else None,
        next_ceiling=guarded("the next ceiling", lambda: _next_ceiling(diagnosis), ""),
        time_at=tuple(
            guarded_each(
                lambda at: f"the time at {at.family.value}", diagnosis.time_at, lambda at: _time_at(at, diagnosis)
            )
        ),
        intervals=tuple(
            guarded_each(lambda _: "an interval", listed, lambda one: _interval_row(one, diagnosis.step_s))
        ),
        interval_count=len(diagnosis.intervals),
        intervals_more=_more(diagnosis.intervals, listed),
        resources=tuple(guarded_each(lambda r: r.name, diagnosis.resources, _resource_row)),
        buckets=tuple(words.sentence(b.text) for b in diagnosis.buckets if b.text),
        forecasts=tuple(words.sentence(f.text) for f in diagnosis.forecasts if f.text),
        waiting=waited,
        waiting_more=waiting_more,
        causes=guarded("the possible causes", lambda: cause_facts(diagnosis.waiting_causes), ()),
        missing=_missing(diagnosis.missing),
        is_missing_first=diagnosis.verdict is Verdict.UNKNOWN and not diagnosis.waiting,
        ceilings=tuple(guarded_each(lambda _: "a documented ceiling", diagnosis.ceilings, _ceiling_row)),
        measured=guarded("how it was measured", lambda: _measured(diagnosis), ()),
        events=guarded(
            "the events", lambda: events_of(diagnosis.annotations, diagnosis.window_s), Events(rows=(), more="")
        ),
        statements=guarded("the statements", lambda: statements_section(statements), None) if statements else None,
        own_events=guarded("your events", lambda: own_events_section(own, diagnosis), None) if own else None,
    )


def _ruled_out(one: RuledOut) -> Fact:
    name, value = words.ceiling_name(one.ceiling), words.ceiling_value(one.ceiling)
    return Fact(f"{name}, {value}", words.sentence(one.reason))


def _severity(finding: Finding) -> int:
    known = finding.severity in _SEVERITIES
    return _SEVERITIES.index(finding.severity) if known else len(_SEVERITIES)


def _finding_row(finding: Finding) -> FindingRow:
    return FindingRow(
        title=words.sentence(finding.title),
        text=words.sentence(finding.text),
        moves=tuple(words.sentence(move) for move in finding.moves),
        topic=topic_of_finding(finding.code),
    )


def _identity(diagnosis: Diagnosis) -> tuple[Fact, ...]:
    instance = diagnosis.instance
    engine = " ".join(words.plain(p) for p in (instance.engine, instance.engine_version) if p)
    start, end = diagnosis.window_s
    facts = [
        Fact("Instance", words.plain(instance.identifier)),
        Fact("Class", words.plain(instance.db_class or "unknown")),
        Fact("Engine", engine or "unknown"),
        Fact("Storage", words.storage(instance)),
    ]
    if instance.capacity_acu_max is not None:
        facts.append(Fact("Capacity", f"at most {number(instance.capacity_acu_max)} ACU"))
    if instance.pending:
        facts.append(Fact("Pending", words.plain(", ".join(instance.pending))))
    if instance.region:
        facts.append(Fact("Region", words.plain(instance.region)))
    if instance.launched_s is not None:
        facts.append(Fact("Launched", words.moment(instance.launched_s)[:10]))
    facts.append(Fact("Window", f"{words.span(start, end)} UTC, {format_duration(end - start)}"))
    return tuple(facts)


def _measured(diagnosis: Diagnosis) -> tuple[Fact, ...]:
    share = diagnosis.measured_s / diagnosis.span_s if diagnosis.span_s > 0 else 0.0
    asked = "" if diagnosis.asked_s is None else " asked for"
    facts = [
        Fact("Source", words.plain(diagnosis.source)),
        Fact("Step", f"one sample per {format_duration(diagnosis.step_s)}"),
        Fact(
            "Storage measured",
            f"{format_duration(diagnosis.measured_s)} of {format_duration(diagnosis.span_s)}"
            f"{asked} ({format_ratio(share)})",
        ),
    ]
    if diagnosis.instance.ebs_limits is not None:
        facts.append(Fact("EBS limits", words.ebs_limits(diagnosis.instance.ebs_limits)))
    if diagnosis.note:
        facts.append(Fact("Note", words.plain(diagnosis.note)))
    return tuple(facts)


def _more(intervals: tuple[Interval, ...], listed: tuple[Interval, ...]) -> str:
    left = len(intervals) - len(listed)
    if not left:
        return ""
    seconds = sum(i.end_s - i.start_s for i in intervals)
    seconds -= sum(i.end_s - i.start_s for i in listed)
    noun = "interval" if left == 1 else "intervals"
    return f"and {left} shorter {noun}, {format_duration(seconds)} in total"


def _evidence(interval: Interval, step_s: int) -> tuple[str, ...]:
    """Return the context and then every sign, the heaviest first, as sentences."""
    texts = (*_reading(interval, step_s), *(e.text for e in interval.evidence))
    return tuple(words.sentence(text) for text in texts)


def _strongest(interval: Interval, step_s: int) -> tuple[str, ...]:
    """Return the heaviest signs, those clearly against the claim, and the number of the others."""
    strongest = interval.evidence[:SIGNS_SHOWN]
    strongest += tuple(e for e in interval.evidence[SIGNS_SHOWN:] if e.weight <= -1)
    texts = [*_reading(interval, step_s), *(e.text for e in strongest)]
    left = len(interval.evidence) - len(strongest)
    if left:
        noun = "observation" if left == 1 else "observations"
        texts.append(f"{left} more {noun}: see the HTML or JSON report")
    return tuple(words.sentence(text) for text in texts)


def _reading(interval: Interval, step_s: int) -> tuple[str, ...]:
    texts = [f"context: {interval.context}"] if interval.context else []
    if _is_finer(interval, step_s):
        fine, coarse = format_duration(interval.step_s), format_duration(step_s)
        texts.append(f"seen in samples of {fine}; the whole window has samples of {coarse}")
    return tuple(texts)


def _is_finer(interval: Interval, step_s: int) -> bool:
    return 0 < interval.step_s < step_s


def _interval_row(interval: Interval, step_s: int) -> IntervalRow:
    remarks = [words.plain(interval.context)] if interval.context else []
    if _is_finer(interval, step_s):
        remarks.append(f"seen at {format_duration(interval.step_s)}")
    limit = (interval.family, interval.phase, interval.former_phase)
    return IntervalRow(
        start_s=interval.start_s,
        end_s=interval.end_s,
        when=words.span(interval.start_s, interval.end_s),
        short_when=words.short_span(interval.start_s, interval.end_s),
        duration=format_duration(interval.end_s - interval.start_s),
        limit=words.limit_name(*limit),
        short_limit=words.short_limit_name(*limit),
        level=words.level_with_error(interval),
        confidence=words.confidence(interval.confidence),
        remark="; ".join(remarks),
    )


def _figures(diagnosis: Diagnosis, shown: Interval | None) -> tuple[Fact, ...]:
    """Return the known figures: limit, time, latency, queue, I/O size, confidence."""
    if diagnosis.binding is None or shown is None:
        return ()
    window = format_duration(diagnosis.span_s)
    facts = [
        Fact("Served at the ceiling", words.level_with_error(shown)),
        Fact("Time at this limit", f"{format_duration(diagnosis.binding.seconds)} of {window}"),
    ]
    if shown.latency_s is not None:
        latency = format_latency(shown.latency_s)
        if shown.latency_reference_s is not None:
            latency = f"{format_latency(shown.latency_reference_s)} → {latency}"
        facts.append(Fact("Latency, light load → at the ceiling", latency))
    if shown.queue_depth is not None:
        facts.append(Fact("Queue depth", words.quantity(shown.queue_depth, "count")))
    if shown.io_size_bytes is not None:
        facts.append(Fact("I/O size", format_bytes(shown.io_size_bytes)))
    facts.append(Fact("Confidence", words.confidence(shown.confidence)))
    return tuple(facts)


def _missing(missing: tuple[Missing, ...]) -> tuple[Fact, ...]:
    """Return the missing facts; gaps with the same consequence and remedy are joined."""
    names: dict[tuple[str, str], list[str]] = {}
    for gap in missing:
        names.setdefault((gap.hides, gap.remedy), []).append(words.plain(gap.name))
    return tuple(
        Fact(words.series_of(named), f"{_hidden(hides, named)} {words.sentence(remedy)}".strip())
        for (hides, remedy), named in names.items()
    )


def _hidden(hides: str, names: list[str]) -> str:
    """Return the consequence of a gap as a sentence; empty where only a part is missing."""
    if not hides or names == [SHORT_WINDOW]:
        return ""
    without = "without it" if len(names) == 1 else "without them"
    if hides == "verdict":
        return f"No verdict is possible {without}."
    return words.sentence(f"{without} we do not know {hides}")


def _next_ceiling(diagnosis: Diagnosis) -> str:
    ceiling = diagnosis.next_ceiling
    if ceiling is None:
        return ""
    return f"{words.ceiling_name(ceiling)}, {words.ceiling_value(ceiling)}"


def _time_at(at: CeilingTime, diagnosis: Diagnosis) -> Fact:
    legacy = at.ceiling.former_phase if at.ceiling else None
    rate = words.ceiling_value(at.ceiling) if at.ceiling else words.level(at.level, at.dimension)
    window = diagnosis.span_s
    noun = "interval" if at.interval_count == 1 else "intervals"
    time = f"{format_duration(at.seconds)} ({format_ratio(at.seconds / window)} of the window)"
    return Fact(f"{words.limit_name(at.family, at.phase, legacy)}, {rate}", f"{time} in {at.interval_count} {noun}")


def _resource_row(resource: Resource) -> ResourceRow:
    above, bound = resource.minutes_above_80, resource.ceiling
    return ResourceRow(
        name=words.plain(resource.name),
        verdict=resource.verdict,
        ceiling=words.ceiling_value(bound, as_sold=False) if bound else "unknown",
        peak=words.quantity(resource.peak, resource.unit),
        p99=words.quantity(resource.p99, resource.unit),
        mean=words.quantity(resource.mean, resource.unit),
        above="unknown" if above is None else format_duration(above * 60) if above else "never",
        headroom=words.quantity(resource.headroom, resource.unit),
        note=words.sentence(resource.note),
        peak_ratio=peak_ratio(resource),
    )


def _ceiling_row(ceiling: Ceiling) -> CeilingRow:
    origin = ceiling.origin
    valid = ""
    if origin.valid_from and origin.valid_to:
        valid = f"{origin.valid_from} to {origin.valid_to}"
    elif origin.valid_from:
        valid = f"since {origin.valid_from}"
    elif origin.valid_to:
        valid = f"until {origin.valid_to}"
    return CeilingRow(
        name=words.ceiling_name(ceiling),
        value=words.ceiling_value(ceiling),
        source=words.plain(words.source_of(origin)),
        valid=valid,
        note=words.sentence(ceiling.note),
    )
