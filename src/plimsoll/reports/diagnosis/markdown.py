"""The report as Markdown, for a ticket or a pull request: the same content, the same order."""

from collections.abc import Iterable
from functools import partial

from plimsoll.model.cause import Inspection
from plimsoll.model.contained import guarded
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.diagnosis.blocks import timeline_blocks
from plimsoll.reports.diagnosis.outline import Outline, outline
from plimsoll.reports.diagnosis.waiting import COLUMNS
from plimsoll.reports.document.markdown import part_in_markdown
from plimsoll.reports.inspect.document import causes_section
from plimsoll.reports.render.facts import Fact
from plimsoll.reports.render.markdown import bullets, escaped, facts, numbered, section, table
from plimsoll.reports.render.words import VERDICT_SIGNS, VERDICT_WORDS, sentence

# A code block of a ticket is about this wide before it scrolls.
_BLOCKS_WIDTH = 100


def render_markdown(diagnosis: Diagnosis, snapshot: Snapshot, inspection: Inspection | None = None) -> str:
    """
    Render the report as GitHub-flavoured Markdown that ends with a newline.

    Args:
        diagnosis: what was found.
        snapshot: the series it was found in.
        inspection: what inside the database spends it, for a section of its own; None leaves it out.
    """
    report = outline(diagnosis)
    draw = partial(timeline_blocks, diagnosis, snapshot, width=_BLOCKS_WIDTH)
    blocks = guarded("the timeline", draw, [])
    causes = "" if inspection is None else guarded("causes", lambda: part_in_markdown(causes_section(inspection)), "")
    return "\n\n".join(part for part in _parts(report, blocks, causes) if part) + "\n"


def _parts(report: Outline, blocks: list[str], causes: str) -> Iterable[str]:
    yield f"# {escaped(report.headline)}"
    if report.is_simulated:
        yield f"> **Simulated data.** {escaped(report.note)}".rstrip()
    yield facts(report.identity)
    yield section("What to do first", numbered(report.moves))
    if report.is_missing_first:
        yield section("Not known", facts(report.missing))
    yield section("Why", *_why(report))
    yield section("Possible causes", facts(report.causes))
    yield part_in_markdown(report.statements) if report.statements else ""
    yield section("Timeline", "\n".join(["```text", *blocks, "```"]) if blocks else "")
    yield section("What happened", _events(report), escaped(report.events.more))
    yield part_in_markdown(report.own_events) if report.own_events else ""
    yield section("Ruled out", facts(report.ruled_out))
    yield section("Resources", _resources(report))
    yield section("Time at a ceiling", facts(report.time_at), _intervals(report))
    yield section("Waiting without a known ceiling", _waiting(report))
    yield section("Credits and forecasts", bullets((*report.forecasts, *report.buckets)))
    yield section("Also found", _also_found(report))
    yield causes
    if not report.is_missing_first:
        yield section("Not known", facts(report.missing))
    yield section("Documented ceilings", _ceilings(report))
    yield section("How it was measured", facts(report.measured))


def _why(report: Outline) -> Iterable[str]:
    if report.findings:
        yield escaped(f"{report.findings[0].title} {report.findings[0].text}".strip())
    if report.shown:
        yield f"Evidence, {report.shown.when} UTC, confidence {report.shown.confidence}:"
    items = list(report.strongest)
    if report.documented:
        row = report.documented
        valid = f", valid {row.valid}" if row.valid else ""
        items.append(f"Documented: {row.name}, {row.value} ({row.source}{valid}).")
    if report.next_ceiling:
        items.append(f"Next ceiling at the same I/O size: {report.next_ceiling}.")
    if report.refuted_by:
        items.append(sentence(f"We would be wrong if {report.refuted_by}"))
    if report.findings or report.shown:
        yield bullets(items)


def _resources(report: Outline) -> str:
    shown = table(
        ("Resource", "Verdict", "Peak", "p99", "Mean", "Ceiling", "Above 80 %"),
        (
            (
                row.name,
                f"{VERDICT_SIGNS[row.verdict]} {VERDICT_WORDS[row.verdict]}",
                *(row.peak, row.p99, row.mean, row.ceiling, row.above),
            )
            for row in report.resources
        ),
    )
    notes = facts([Fact(row.name, row.note) for row in report.resources if row.note])
    return "\n\n".join(part for part in (shown, notes) if part)


def _intervals(report: Outline) -> str:
    shown = table(
        ("When (UTC)", "Long", "Served", "Limit", "Confidence"),
        (
            (r.when, r.duration, r.level, "; ".join(filter(None, (r.limit, r.remark))), r.confidence)
            for r in report.intervals
        ),
    )
    return f"{shown}\n\n{report.intervals_more}" if report.intervals_more else shown


def _waiting(report: Outline) -> str:
    rows = ((r.when, r.waited, r.times, r.latency, r.queue, r.rate) for r in report.waiting)
    shown = table(COLUMNS, rows)
    return f"{shown}\n\n{report.waiting_more}" if report.waiting_more else shown


def _events(report: Outline) -> str:
    """Return the events with the letters that mark them on the timeline."""
    return table(
        ("", "When (UTC)", "Kind", "What the source said"),
        (
            (row.mark, row.when, row.kind, row.text if row.mark else f"Before the window: {row.text}")
            for row in report.events.rows
        ),
    )


def _also_found(report: Outline) -> str:
    lines = []
    for finding in report.findings[1:]:
        lines.append(f"- {escaped(f'{finding.title} {finding.text}'.strip())}")
        lines += [f"  - {escaped(move)}" for move in finding.moves]
    return "\n".join(lines)


def _ceilings(report: Outline) -> str:
    return table(
        ("Ceiling", "Value", "Valid", "Source"),
        ((r.name, r.value, r.valid, f"{r.source}. {r.note}" if r.note else r.source) for r in report.ceilings),
    )
