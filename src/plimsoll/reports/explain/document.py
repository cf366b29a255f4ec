"""
Captured executions of statements, said.

Rule 1: every outcome is a word, never a colour alone; a line of a changed plan has its sign.
Rule 2: a statement is shown in one line; the file has the whole.
"""

from collections.abc import Iterable, Sequence

from plimsoll.model.explain import Capture, CaptureFile, DiffLine, ExplainComparison, PairOutcome, Source, StatementPair
from plimsoll.reports.document.parts import (
    Card,
    Column,
    Diff,
    DiffRow,
    Document,
    Paragraph,
    Part,
    Section,
    Table,
    Tone,
    bullets_of,
)
from plimsoll.reports.render.explanations import Topic
from plimsoll.units import format_latency, number

WORDS = {
    PairOutcome.SAME: "same",
    PairOutcome.NOT_THE_QUERY: "not the query",
    PairOutcome.CACHE: "less from memory",
    PairOutcome.ROWS: "other rows",
    PairOutcome.BLOCKS: "other blocks",
    PairOutcome.PLAN: "another plan",
    PairOutcome.UNKNOWN: "could not tell",
}
_TONES = {PairOutcome.SAME: Tone.GOOD, PairOutcome.NOT_THE_QUERY: Tone.NEAR, PairOutcome.UNKNOWN: Tone.UNKNOWN}
# A plan of hundreds of nodes would bury the rest; the JSON form has all of it.
_DIFF_LINES_MOST = 60


def explain_document(comparison: ExplainComparison) -> Document:
    """Return the document of two files, statement by statement."""
    parts: list[Part] = [
        Paragraph(text=f"{comparison.first} and {comparison.second}", weight="quiet"),
        *map(_pair, comparison.pairs),
    ]
    for title, items in (
        (f"Only in {comparison.first}", list(map(_line, comparison.only_first))),
        (f"Only in {comparison.second}", list(map(_line, comparison.only_second))),
        ("Notes", list(comparison.notes)),
    ):
        if items:
            parts.append(Section(title=title, parts=(bullets_of(items),)))
    return Document(
        kind="query plans",
        headline=_summary(comparison.pairs),
        tone=_worst(comparison.pairs),
        topic=Topic.QUERY_PLANS,
        parts=tuple(parts),
    )


def recorded_document(file: CaptureFile) -> Document:
    """Return the document of a recording: a row for each statement, and those that failed."""
    count = len(file.captures)
    left = [f"{_line(item.statement, 60)}: {item.reason}. {item.remedy}" for item in file.unrecorded]
    return Document(
        kind="query plans",
        headline=f"{count:,} {'execution' if count == 1 else 'executions'} recorded.",
        parts=(
            *([_captures(file.captures)] if file.captures else []),
            *([Paragraph(text=file.note)] if file.note else []),
            Section(title="Not recorded", parts=(bullets_of(left),) if left else ()),
        ),
    )


def time_of(seconds: float | None) -> str:
    """Return a time for people; `unknown` if it is not known."""
    if seconds is None:
        return "unknown"
    return f"{number(seconds, 3)} s" if seconds >= 1 else format_latency(seconds)


def _worst(pairs: Sequence[StatementPair]) -> Tone:
    tones = {_TONES.get(pair.outcome, Tone.BAD) for pair in pairs}
    order = (Tone.BAD, Tone.NEAR, Tone.UNKNOWN, Tone.GOOD)
    return next((tone for tone in order if tone in tones), Tone.UNKNOWN)


def _summary(pairs: Sequence[StatementPair]) -> str:
    if not pairs:
        return "No statement is on both sides."
    counts = {o: sum(pair.outcome is o for pair in pairs) for o in PairOutcome}
    counted = ", ".join(f"{count} {WORDS[outcome]}" for outcome, count in counts.items() if count)
    return f"{len(pairs)} {'statement' if len(pairs) == 1 else 'statements'} on both sides: {counted}."


def _pair(pair: StatementPair) -> Card:
    lines = [*pair.reasons, *([f"Next: {pair.advice}"] if pair.advice else [])]
    if pair.refuted_by:
        lines.append(f"Wrong if: {pair.refuted_by}")
    parts: list[Part] = [Paragraph(text=pair.title, tone=_TONES.get(pair.outcome, Tone.BAD)), _numbers(pair)]
    if pair.diff:
        parts.append(_diff(pair.diff))
    if lines:
        parts.append(bullets_of(lines))
    return Card(
        title=_line(pair.statement) or "(statement not known)",
        tone=_TONES.get(pair.outcome, Tone.BAD),
        parts=tuple(parts),
        is_cut=True,
    )


def _numbers(pair: StatementPair) -> Table:
    return Table(
        columns=(Column(title=""), *(Column(title=name, is_number=True) for name in ("first", "second", "times"))),
        rows=tuple((name, *cells) for name, cells in _rows(pair.first, pair.second)),
    )


def _rows(first: Capture, second: Capture) -> Iterable[tuple[str, tuple[str, str, str]]]:
    a, b = first.blocks, second.blocks
    yield "time", _times(first.execution_s, second.execution_s)
    if a is not None and b is not None:
        yield "I/O time", _times(a.io_s, b.io_s)
        yield "blocks touched", _counts(a.touched, b.touched)
        yield "of them read", _counts(a.read, b.read)
        if a.temp_written or b.temp_written:
            yield "temporary blocks", _counts(a.temp_written, b.temp_written)
    if first.rows is not None and second.rows is not None:
        yield "rows", _counts(first.rows, second.rows)


def _times(first: float | None, second: float | None) -> tuple[str, str, str]:
    return time_of(first), time_of(second), _ratio(first, second)


def _counts(first: float, second: float) -> tuple[str, str, str]:
    return number(first), number(second), _ratio(first, second)


def _ratio(first: float | None, second: float | None) -> str:
    if not first or second is None:
        return ""
    ratio = second / first
    return f"× {number(ratio, 2 if ratio < 10 else 3)}"


def _diff(lines: Sequence[DiffLine]) -> Diff:
    left = len(lines) - _DIFF_LINES_MOST
    return Diff(
        rows=tuple(
            DiffRow(sign=line.sign, text=f"{'  ' * line.depth}{line.text}") for line in lines[:_DIFF_LINES_MOST]
        ),
        more=f"… {left} more lines in --format json" if left > 0 else "",
    )


def _captures(captures: Sequence[Capture]) -> Table:
    names = ("time", "I/O time", "blocks", "read")
    return Table(
        columns=(
            *(Column(title=name, is_number=True, may_break=False) for name in names),
            Column(title="statement", is_cut=True),
        ),
        rows=tuple(map(_captured, captures)),
    )


def _captured(capture: Capture) -> tuple[str, str, str, str, str]:
    blocks = capture.blocks
    calls = f"{number(capture.calls)} {'call' if capture.calls == 1 else 'calls'}: "
    what = calls if capture.source is Source.PG_STAT_STATEMENTS else ""
    return (
        time_of(capture.execution_s) if capture.was_run else "-",
        time_of(blocks.io_s) if blocks is not None else "-",
        number(blocks.touched) if blocks is not None else "-",
        number(blocks.read) if blocks is not None else "-",
        _line(f"{what if capture.was_run else 'only planned: '}{capture.statement}"),
    )


def _line(text: str, most: int | None = None) -> str:
    line = " ".join(text.split())
    return line if most is None or len(line) <= most else f"{line[: most - 1]}…"
