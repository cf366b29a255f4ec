"""The report as Markdown, for a ticket or a pull request: the same content, the same order."""

import re
from collections.abc import Iterable, Sequence

from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.snapshot import Snapshot
from plimsoll.sinks.blocks import timeline_blocks
from plimsoll.sinks.outline import Fact, Outline, outline
from plimsoll.sinks.words import VERDICT_SIGNS, VERDICT_WORDS, sentence

# A code block of a ticket is about this wide before it scrolls.
_BLOCKS_WIDTH = 100

_SPECIAL = re.compile(r"([\\`*<>|\[\]~])|(?<!\w)(_)|(_)(?!\w)")


def render_markdown(diagnosis: Diagnosis, snapshot: Snapshot) -> str:
    """Render the report as GitHub-flavoured Markdown that ends with a newline."""
    said = outline(diagnosis)
    blocks = timeline_blocks(diagnosis, snapshot, width=_BLOCKS_WIDTH)
    return "\n\n".join(part for part in _parts(said, blocks) if part) + "\n"


def _parts(said: Outline, blocks: list[str]) -> Iterable[str]:
    yield f"# {_escaped(said.headline)}"
    if said.is_simulated:
        yield f"> **Simulated data.** {_escaped(said.note)}".rstrip()
    yield _facts(said.identity)
    yield _section("What to do first", _numbered(said.moves))
    if said.verdict is Verdict.UNKNOWN:
        yield _section("Not known", _facts(said.missing))
    yield _section("Why", *_why(said))
    yield _section("Timeline", "\n".join(["```text", *blocks, "```"]) if blocks else "")
    yield _section("What happened", _events(said), _escaped(said.events.more))
    yield _section("Not the cause", _facts(said.ruled_out))
    yield _section("Resources", _resources(said))
    yield _section("Time at a ceiling", _facts(said.time_at), _intervals(said))
    yield _section("Credits and forecasts", _bullets((*said.forecasts, *said.buckets)))
    yield _section("Also found", _also_found(said))
    if said.verdict is not Verdict.UNKNOWN:
        yield _section("Not known", _facts(said.missing))
    yield _section("Documented ceilings", _ceilings(said))
    yield _section("How it was measured", _facts(said.measured))


def _escaped(text: str) -> str:
    """Text in which nothing is Markdown or HTML."""
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", text)


def _section(title: str, *parts: str) -> str:
    filled = [part for part in parts if part]
    return "\n\n".join([f"## {title}", *filled]) if filled else ""


def _bullets(items: Sequence[str]) -> str:
    return "\n".join(f"- {_escaped(item)}" for item in items)


def _numbered(items: Sequence[str]) -> str:
    return "\n".join(f"{n}. {_escaped(item)}" for n, item in enumerate(items, start=1))


def _facts(facts: Sequence[Fact]) -> str:
    return "\n".join(f"- **{_escaped(f.name)}:** {_escaped(f.value)}" for f in facts)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(titles) + " |", "|" + " --- |" * len(titles)]
    lines += ["| " + " | ".join(_escaped(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) if len(lines) > 2 else ""


def _why(said: Outline) -> Iterable[str]:
    if said.findings:
        yield _escaped(f"{said.findings[0].title} {said.findings[0].text}".strip())
    if said.shown:
        yield f"Evidence, {said.shown.when} UTC, confidence {said.shown.confidence}:"
    items = list(said.evidence)
    if said.documented:
        row = said.documented
        valid = f", valid {row.valid}" if row.valid else ""
        items.append(f"Documented: {row.name}, {row.value} ({row.source}{valid}).")
    if said.next_ceiling:
        items.append(f"Next ceiling at the same I/O size: {said.next_ceiling}.")
    if said.refuted_by:
        items.append(sentence(f"Refuted by: {said.refuted_by}"))
    if said.findings or said.shown:
        yield _bullets(items)


def _resources(said: Outline) -> str:
    table = _table(
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
    notes = _facts([Fact(row.name, row.note) for row in said.resources if row.note])
    return "\n\n".join(part for part in (table, notes) if part)


def _intervals(said: Outline) -> str:
    table = _table(
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
    return f"{table}\n\n{said.intervals_more}" if said.intervals_more else table


def _events(said: Outline) -> str:
    """Each event beside the letter that marks it on the timeline."""
    return _table(
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
        lines.append(f"- {_escaped(f'{finding.title} {finding.text}'.strip())}")
        lines += [f"  - {_escaped(move)}" for move in finding.moves]
    return "\n".join(lines)


def _ceilings(said: Outline) -> str:
    return _table(
        ("Ceiling", "Value", "Valid", "Source"),
        (
            (r.name, r.value, r.valid, f"{r.source}. {r.note}" if r.note else r.source)
            for r in said.ceilings
        ),
    )
