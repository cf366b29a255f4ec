"""The report as Markdown, for a ticket or a pull request: the same content, the same order."""

from collections.abc import Iterable

from plimsoll.model.cause import Inspection
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


def render_markdown(
    diagnosis: Diagnosis, snapshot: Snapshot, inspection: Inspection | None = None
) -> str:
    """
    Render the report as GitHub-flavoured Markdown that ends with a newline.

    Args:
        diagnosis: what was found.
        snapshot: the series it was found in.
        inspection: what inside the database spends it, for a section of its own; None leaves it out.
    """
    said = outline(diagnosis)
    blocks = timeline_blocks(diagnosis, snapshot, width=_BLOCKS_WIDTH)
    causes = "" if inspection is None else part_in_markdown(causes_section(inspection))
    return "\n\n".join(part for part in _parts(said, blocks, causes) if part) + "\n"


def _parts(said: Outline, blocks: list[str], causes: str) -> Iterable[str]:
    yield f"# {escaped(said.headline)}"
    if said.is_simulated:
        yield f"> **Simulated data.** {escaped(said.note)}".rstrip()
    yield facts(said.identity)
    yield section("What to do first", numbered(said.moves))
    if said.is_missing_first:
        yield section("Not known", facts(said.missing))
    yield section("Why", *_why(said))
    yield section("Possible causes", facts(said.causes))
    yield section("Timeline", "\n".join(["```text", *blocks, "```"]) if blocks else "")
    yield section("What happened", _events(said), escaped(said.events.more))
    yield section("Ruled out", facts(said.ruled_out))
    yield section("Resources", _resources(said))
    yield section("Time at a ceiling", facts(said.time_at), _intervals(said))
    yield section("Waiting without a known ceiling", _waiting(said))
    yield section("Credits and forecasts", bullets((*said.forecasts, *said.buckets)))
    yield section("Also found", _also_found(said))
    yield causes
    if not said.is_missing_first:
        yield section("Not known", facts(said.missing))
    yield section("Documented ceilings", _ceilings(said))
    yield section("How it was measured", facts(said.measured))


def _why(said: Outline) -> Iterable[str]:
    if said.findings:
        yield escaped(f"{said.findings[0].title} {said.findings[0].text}".strip())
    if said.shown:
        yield f"Evidence, {said.shown.when} UTC, confidence {said.shown.confidence}:"
    items = list(said.strongest)
    if said.documented:
        row = said.documented
        valid = f", valid {row.valid}" if row.valid else ""
        items.append(f"Documented: {row.name}, {row.value} ({row.source}{valid}).")
    if said.next_ceiling:
        items.append(f"Next ceiling at the same I/O size: {said.next_ceiling}.")
    if said.refuted_by:
        items.append(sentence(f"We would be wrong if {said.refuted_by}"))
    if said.findings or said.shown:
        yield bullets(items)


def _resources(said: Outline) -> str:
    shown = table(
        ("Resource", "Verdict", "Peak", "p99", "Mean", "Ceiling", "Above 80 %"),
        (
            (
                row.name,
                f"{VERDICT_SIGNS[row.verdict]} {VERDICT_WORDS[row.verdict]}",
                *(row.peak, row.p99, row.mean, row.ceiling, row.above),
            )
            for row in said.resources
        ),
    )
    notes = facts([Fact(row.name, row.note) for row in said.resources if row.note])
    return "\n\n".join(part for part in (shown, notes) if part)


def _intervals(said: Outline) -> str:
    shown = table(
        ("When (UTC)", "Long", "Served", "Limit", "Confidence"),
        (
            (
                r.when,
                r.duration,
                r.level,
                "; ".join(filter(None, (r.limit, r.remark))),
                r.confidence,
            )
            for r in said.intervals
        ),
    )
    return f"{shown}\n\n{said.intervals_more}" if said.intervals_more else shown


def _waiting(said: Outline) -> str:
    rows = ((r.when, r.waited, r.times, r.latency, r.queue, r.rate) for r in said.waiting)
    shown = table(COLUMNS, rows)
    return f"{shown}\n\n{said.waiting_more}" if said.waiting_more else shown


def _events(said: Outline) -> str:
    """Return the events with the letters that mark them on the timeline."""
    return table(
        ("", "When (UTC)", "Kind", "What the source said"),
        (
            (
                row.mark,
                row.when,
                row.kind,
                row.text if row.mark else f"Before the window: {row.text}",
            )
            for row in said.events.rows
        ),
    )


def _also_found(said: Outline) -> str:
    lines = []
    for finding in said.findings[1:]:
        lines.append(f"- {escaped(f'{finding.title} {finding.text}'.strip())}")
        lines += [f"  - {escaped(move)}" for move in finding.moves]
    return "\n".join(lines)


def _ceilings(said: Outline) -> str:
    return table(
        ("Ceiling", "Value", "Valid", "Source"),
        (
            (r.name, r.value, r.valid, f"{r.source}. {r.note}" if r.note else r.source)
            for r in said.ceilings
        ),
    )
