"""
The document of a diagnosis.

The order is that of somebody with an incident: the verdict, what to do first, why we believe it,
what it was not, then everything else. Claims come from the diagnosis; this file adds none, it counts and arranges.

Rule: each section is guarded, so an internal error costs one section and is named among what is not known.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from plimsoll.model.cause import Inspection
from plimsoll.model.ceiling import Ceiling, Dimension
from plimsoll.model.contained import guarded, guarded_each
from plimsoll.model.diagnosis import SHORT_WINDOW, Diagnosis, Finding, Interval, Missing, Resource, Verdict
from plimsoll.model.family import FAMILIES
from plimsoll.model.now import second_of
from plimsoll.model.plan import Plan
from plimsoll.model.severity import SEVERITIES
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.diagnosis.blocks import timeline_blocks
from plimsoll.reports.diagnosis.chart import chart_caption, chart_samples, live_timeline
from plimsoll.reports.diagnosis.events import events_section
from plimsoll.reports.diagnosis.headline import WITHOUT_CREDITS, headline, peak_ratio, shown_interval
from plimsoll.reports.diagnosis.intervals import NARROW, intervals_section, is_finer
from plimsoll.reports.diagnosis.own_events import own_events_section
from plimsoll.reports.diagnosis.statements import statements_section
from plimsoll.reports.diagnosis.waiting import possible_section, waiting_section
from plimsoll.reports.document.parts import (
    NEVER,
    Advice,
    Bullets,
    Cell,
    Column,
    Document,
    Facts,
    Paragraph,
    Part,
    Picture,
    Section,
    Table,
    bullets_of,
    facts_of,
)
from plimsoll.reports.document.verdict import VERDICT_TONES, verdict_cell
from plimsoll.reports.inspect.document import causes_section
from plimsoll.reports.plan.document import plan_section
from plimsoll.reports.render import words
from plimsoll.reports.render.explanations import topic_of_finding
from plimsoll.reports.render.facts import Fact
from plimsoll.units import format_bytes, format_duration, format_latency, format_ratio, number

# More signs than this are not read in an incident; pages and the JSON form have all of them.
_SIGNS_SHOWN = 4
# Columns of the characters in a ticket.
_TICKET_WIDTH = 100


def diagnosis_document(
    diagnosis: Diagnosis, snapshot: Snapshot, inspection: Inspection | None = None, plan: Plan | None = None
) -> Document:
    """
    Return the document of a diagnosis; parts that are lost to internal errors are left out.

    Args:
        diagnosis: what was found.
        snapshot: the series it was found in, for the timeline.
        inspection: what inside the database spends it, for a section of its own.
        plan: the way past, likewise.
    """
    line = guarded("the headline", lambda: headline(diagnosis), diagnosis.verdict.value)
    return Document(
        kind="report",
        headline=line,
        badge=f"{words.VERDICT_SIGNS[diagnosis.verdict]} {words.VERDICT_BADGES[diagnosis.verdict]}",
        figures=guarded("the figures", lambda: tuple(_figures(diagnosis)), ()),
        tone=VERDICT_TONES[diagnosis.verdict],
        simulated=(diagnosis.note,) if diagnosis.is_simulated else (),
        parts=(
            *guarded("the description of the instance", lambda: (_identity(diagnosis, line),), ()),
            *_sections(diagnosis, snapshot, inspection, plan),
        ),
    )


def _sections(
    diagnosis: Diagnosis, snapshot: Snapshot, inspection: Inspection | None, plan: Plan | None
) -> Iterator[Part]:
    missing = ("what is not known", partial(_missing, diagnosis))
    is_missing_first = diagnosis.verdict is Verdict.UNKNOWN and not diagnosis.waiting
    statements, own = diagnosis.statements, diagnosis.own_events
    sections: list[tuple[str, Callable[[], Section]]] = [
        *([missing] if is_missing_first else []),
        ("what to do first", lambda: _moves(diagnosis)),
        ("why", lambda: _why(diagnosis)),
        ("the possible causes", lambda: possible_section(diagnosis.waiting_causes)),
        *([("the statements", partial(statements_section, statements))] if statements else []),
        ("the timeline", lambda: _timeline(diagnosis, snapshot)),
        ("the events", lambda: events_section(diagnosis)),
        *([("your events", partial(own_events_section, own, diagnosis))] if own else []),
        ("the limits ruled out", lambda: _ruled_out(diagnosis)),
        ("the resources", lambda: _resources(diagnosis)),
        ("the intervals", lambda: intervals_section(diagnosis)),
        ("the intervals of waiting", lambda: waiting_section(diagnosis)),
        ("credits and forecasts", lambda: _credits(diagnosis)),
        ("further findings", lambda: _also_found(diagnosis)),
        *([("causes", partial(causes_section, inspection))] if inspection else []),
        *([] if is_missing_first else [missing]),
        ("the documented ceilings", lambda: _ceilings(diagnosis)),
        ("how it was measured", lambda: _measured(diagnosis)),
        *([("the plan", partial(plan_section, plan))] if plan else []),
    ]
    for name, section in sections:
        found = guarded(name, section, None)
        if found is not None and found.parts:
            yield found


def moves_of(diagnosis: Diagnosis) -> tuple[str, ...]:
    """Return what to do first: the moves of the worst finding, and the first for a ceiling that bound as long."""
    moves = next((tuple(map(words.sentence, finding.moves)) for finding in _ranked(diagnosis)), ())
    second = second_of(diagnosis)
    if second is None or second.family not in FAMILIES or not moves:
        return moves
    codes = (FAMILIES[second.family].code, FAMILIES[second.family].exhausted_code)
    own = next((f.moves[0] for f in diagnosis.findings if f.code in codes and f.moves), "")
    step = words.sentence(own)
    return moves if not own or step in moves else (*moves, f"For the {words.FAMILY_NAMES[second.family]}: {step}")


def missing_facts(missing: tuple[Missing, ...]) -> tuple[Fact, ...]:
    """Return the missing facts; gaps with the same consequence and remedy are joined."""
    names: dict[tuple[str, str], list[str]] = {}
    for gap in missing:
        names.setdefault((gap.hides, gap.remedy), []).append(words.plain(gap.name))
    return tuple(
        Fact(words.series_of(named), f"{_hidden(hides, named)} {words.sentence(remedy)}".strip())
        for (hides, remedy), named in names.items()
    )


def _ranked(diagnosis: Diagnosis) -> list[Finding]:
    """Return the findings, the worst first; one of a severity we do not know comes last."""
    order = {severity: place for place, severity in enumerate(SEVERITIES)}
    return sorted(diagnosis.findings, key=lambda finding: order.get(finding.severity, len(order)))


def _identity(diagnosis: Diagnosis, line: str) -> Paragraph:
    """Return instance, class, engine, storage and window; name and class stand in the headline if they fit there."""
    instance, (start, end) = diagnosis.instance, diagnosis.window_s
    engine = " ".join(words.plain(p) for p in (instance.engine, instance.engine_version) if p)
    known, db_class = words.storage(instance), words.plain(instance.db_class or "unknown")
    parts = [
        *(name for name in [words.plain(instance.identifier)] if name not in line),
        *(("class unknown" if db_class == "unknown" else db_class,) if db_class not in line else ()),
        engine or "engine unknown",
        "storage unknown" if known == "unknown" else known,
    ]
    if instance.capacity_acu_max is not None:
        parts.append(f"capacity at most {number(instance.capacity_acu_max)} ACU")
    if instance.pending:
        parts.append(f"pending: {', '.join(instance.pending)}")
    if instance.region:
        parts.append(instance.region)
    if instance.launched_s is not None:
        parts.append(f"launched {words.moment(instance.launched_s)[:10]}")
    parts.append(f"{words.span(start, end)} UTC, {format_duration(end - start)}")
    return Paragraph(text=" · ".join(parts), weight="quiet")


def _figures(diagnosis: Diagnosis) -> Iterator[Fact]:
    """Yield the known figures: limit, time, latency, queue, I/O size, confidence."""
    shown = shown_interval(diagnosis)
    if diagnosis.binding is None or shown is None:
        return
    window = format_duration(diagnosis.span_s)
    is_space = shown.dimension is Dimension.AMOUNT and shown.family not in WITHOUT_CREDITS
    yield Fact("In use at the maximum" if is_space else "Served at the ceiling", words.level_with_error(shown))
    yield Fact("Time at this limit", f"{format_duration(diagnosis.binding.seconds)} of {window}")
    if shown.latency_s is not None:
        latency = format_latency(shown.latency_s)
        if shown.latency_reference_s is not None:
            latency = f"{format_latency(shown.latency_reference_s)} → {latency}"
        yield Fact("Latency, light load → at the ceiling", latency)
    if shown.queue_depth is not None:
        yield Fact("Queue depth", words.quantity(shown.queue_depth, "count"))
    if shown.io_size_bytes is not None:
        yield Fact("I/O size", format_bytes(shown.io_size_bytes))
    yield Fact("Confidence", words.confidence(shown.confidence))


def _moves(diagnosis: Diagnosis) -> Section:
    moves = moves_of(diagnosis)
    return Section(
        title="What to do first", parts=(bullets_of(moves, is_numbered=True),) if moves else (), is_lead=True
    )


def _why(diagnosis: Diagnosis) -> Section:
    """Return the worst finding with its evidence, which is that of the longest interval at the binding ceiling."""
    first, shown = next(iter(_ranked(diagnosis)), None), shown_interval(diagnosis)
    if first is None and shown is None:
        return Section(title="Why", parts=())
    after = []
    if diagnosis.binding and diagnosis.binding.ceiling:
        bound = diagnosis.binding.ceiling
        valid = _valid(bound)
        source = f"{words.plain(words.source_of(bound.origin))}{f', valid {valid}' if valid else ''}"
        after.append(f"Documented: {words.ceiling_name(bound)}, {words.ceiling_value(bound)} ({source}).")
    if diagnosis.next_ceiling:
        following = f"{words.ceiling_name(diagnosis.next_ceiling)}, {words.ceiling_value(diagnosis.next_ceiling)}"
        after.append(f"Next ceiling at the same I/O size: {following}.")
    if shown:
        wrong = f". We would be wrong if {words.plain(shown.refuted_by)}" if shown.refuted_by else ""
        after.append(words.sentence(f"{words.sure(words.confidence(shown.confidence))}{wrong}"))
    items = (*_signs(shown, diagnosis.step_s, is_short=True), *after)
    when = (f"Seen {words.span(shown.start_s, shown.end_s)} UTC, the longest such interval.",) if shown else ()
    whole = (*when, *_signs(shown, diagnosis.step_s, is_short=False), *after)
    return Section(
        title="Why",
        parts=(
            *((Paragraph(lead=words.sentence(first.title), text=words.sentence(first.text)),) if first else ()),
            *((Bullets(items=items, on_page=whole),) if items else ()),
        ),
        topic=topic_of_finding(first.code) if first else None,
    )


def _signs(interval: Interval | None, step_s: int, *, is_short: bool) -> Iterator[str]:
    """Yield context and signs, the heaviest first; in short the heaviest, those clearly against, and how many more."""
    if interval is None:
        return
    if interval.context:
        yield words.sentence(f"context: {interval.context}")
    if is_finer(interval, step_s):
        fine, coarse = format_duration(interval.step_s), format_duration(step_s)
        yield words.sentence(f"seen in samples of {fine}; the whole window has samples of {coarse}")
    kept = [e for place, e in enumerate(interval.evidence) if place < _SIGNS_SHOWN or e.weight <= -1]
    yield from (words.sentence(e.text) for e in (kept if is_short else interval.evidence))
    left = len(interval.evidence) - len(kept)
    if left and is_short:
        yield words.sentence(
            f"{left} more {'observation' if left == 1 else 'observations'}: see the HTML or JSON report"
        )


def _timeline(diagnosis: Diagnosis, snapshot: Snapshot) -> Section:
    """Return the timeline: characters where storage was measured, a chart where anything was."""
    draw = partial(timeline_blocks, diagnosis, snapshot)
    has_blocks = bool(guarded("the timeline", lambda: draw(width=_TICKET_WIDTH), []))
    samples = guarded("the timeline", lambda: chart_samples(diagnosis, snapshot), None)
    has_chart = samples is not None and bool(samples.metric)
    picture = Picture(
        characters=(lambda width: draw(width=width)) if has_blocks else None,
        spec=None,
        caption=chart_caption(diagnosis, samples) if samples else "",
        live=(lambda: guarded("the timeline", lambda: live_timeline(diagnosis, snapshot), None)) if has_chart else None,
    )
    return Section(title="Timeline", parts=(picture,) if has_blocks or has_chart else ())


def _ruled_out(diagnosis: Diagnosis) -> Section:
    shown = shown_interval(diagnosis)
    facts = [
        (f"{words.ceiling_name(one.ceiling)}, {words.ceiling_value(one.ceiling)}", words.sentence(one.reason))
        for one in (shown.ruled_out if shown else ())
    ]
    return Section(title="Ruled out", parts=(facts_of(facts, are_sentences=True),) if facts else ())


def _resources(diagnosis: Diagnosis) -> Section:
    rows = guarded_each(lambda r: r.name, diagnosis.resources, _resource_row)
    columns = (
        Column(title="Verdict"),
        Column(title="Resource", names_row=True),
        Column(title="Peak of ceiling", from_width=NEVER),
        Column(title="Peak", is_number=True),
        *(Column(title=title, is_number=True, from_width=NEVER) for title in ("p99", "Mean")),
        Column(title="Ceiling", is_number=True),
        Column(title="Above 80 %", is_number=True, from_width=NARROW),
    )
    notes = [(words.plain(r.name), words.sentence(r.note)) for r in diagnosis.resources if r.note]
    return Section(
        title="Resources",
        parts=(
            *((Table(columns=columns, rows=tuple(rows), stacks=True),) if rows else ()),
            *((facts_of(notes, are_sentences=True),) if notes else ()),
        ),
        is_dense=True,
    )


def _resource_row(resource: Resource) -> tuple[str | Cell, ...]:
    above, bound, ratio = resource.minutes_above_80, resource.ceiling, peak_ratio(resource)
    share = Cell(format_ratio(ratio), VERDICT_TONES[resource.verdict], share=ratio) if ratio is not None else "unknown"
    return (
        verdict_cell(resource.verdict),
        words.plain(resource.name),
        share,
        *(words.quantity(value, resource.unit) for value in (resource.peak, resource.p99, resource.mean)),
        words.ceiling_value(bound, as_sold=False) if bound else "unknown",
        "unknown" if above is None else format_duration(above * 60) if above else "never",
    )


def _credits(diagnosis: Diagnosis) -> Section:
    texts = [one.text for one in diagnosis.forecasts] + [one.text for one in diagnosis.buckets]
    texts = [words.sentence(text) for text in texts if text]
    return Section(title="Credits and forecasts", parts=(bullets_of(texts),) if texts else ())


def _also_found(diagnosis: Diagnosis) -> Section:
    rest = tuple(
        Advice(
            lead=words.sentence(finding.title),
            text=words.sentence(finding.text),
            moves=tuple(map(words.sentence, finding.moves)),
            topic=topic_of_finding(finding.code),
        )
        for finding in _ranked(diagnosis)[1:]
    )
    return Section(title="Also found", parts=(Bullets(items=rest),) if rest else ())


def _missing(diagnosis: Diagnosis) -> Section:
    facts = missing_facts(diagnosis.missing)
    return Section(title="Not known", parts=(Facts(facts=facts, are_sentences=True),) if facts else ())


def _hidden(hides: str, names: Sequence[str]) -> str:
    """Return the consequence of a gap as a sentence; empty where only a part is missing."""
    if not hides or names == [SHORT_WINDOW]:
        return ""
    without = "without it" if len(names) == 1 else "without them"
    if hides == "verdict":
        return f"No verdict is possible {without}."
    return words.sentence(f"{without} we do not know {hides}")


def _ceilings(diagnosis: Diagnosis) -> Section:
    """Return every ceiling with its origin, to look up."""
    columns = (Column(title="Ceiling"), Column(title="Value", is_number=True), Column(title="Valid"))
    table = Table(
        columns=(*columns, Column(title="Source")),
        rows=tuple(_ceiling_row(ceiling) for ceiling in diagnosis.ceilings),
        stacks=True,
    )
    return Section(title="Documented ceilings", parts=(table,) if table.rows else (), in_text=False)


def _ceiling_row(ceiling: Ceiling) -> tuple[str, ...]:
    source, note = words.plain(words.source_of(ceiling.origin)), words.sentence(ceiling.note)
    return (
        words.ceiling_name(ceiling),
        words.ceiling_value(ceiling),
        _valid(ceiling),
        f"{source}. {note}" if note else source,
    )


def _valid(ceiling: Ceiling) -> str:
    origin = ceiling.origin
    if origin.valid_from and origin.valid_to:
        return f"{origin.valid_from} to {origin.valid_to}"
    return f"since {origin.valid_from}" if origin.valid_from else f"until {origin.valid_to}" if origin.valid_to else ""


def _measured(diagnosis: Diagnosis) -> Section:
    share = diagnosis.measured_s / diagnosis.span_s if diagnosis.span_s > 0 else 0.0
    asked = "" if diagnosis.asked_s is None else " asked for"
    measured = f"{format_duration(diagnosis.measured_s)} of {format_duration(diagnosis.span_s)}{asked}"
    facts = [
        ("Source", diagnosis.source),
        ("Step", f"one sample per {format_duration(diagnosis.step_s)}"),
        ("Storage measured", f"{measured} ({format_ratio(share)})"),
    ]
    if diagnosis.instance.ebs_limits is not None:
        facts.append(("EBS limits", words.ebs_limits(diagnosis.instance.ebs_limits)))
    if diagnosis.note:
        facts.append(("Note", diagnosis.note))
    return Section(title="How it was measured", parts=(facts_of(facts),))
