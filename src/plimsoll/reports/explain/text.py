"""
Captured executions for a terminal, a pipe or a log: readable at 80 columns and without colour.

Rule 1: every outcome is a word, never a colour alone; a line of a changed plan has its sign.
Rule 2: a statement is shown in one line; the file has the whole.
"""

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from plimsoll.model.explain import (
    Capture,
    CaptureFile,
    DiffLine,
    ExplainComparison,
    Outcome,
    Pair,
    Source,
)
from plimsoll.reports.render import terminal
from plimsoll.units import format_latency, number

WIDTH_MIN, WIDTH_MAX = 60, 120

WORDS = {
    Outcome.SAME: "same",
    Outcome.NOT_THE_QUERY: "not the query",
    Outcome.CACHE: "less from memory",
    Outcome.ROWS: "other rows",
    Outcome.BLOCKS: "other blocks",
    Outcome.PLAN: "another plan",
    Outcome.UNKNOWN: "could not tell",
}
_STYLES = {
    Outcome.SAME: "green",
    Outcome.NOT_THE_QUERY: "bold yellow",
    Outcome.UNKNOWN: "magenta",
}
_SIGNS = {"-": "red", "+": "green", " ": "dim"}
# A plan of hundreds of nodes would bury the rest; the JSON form has all of it.
_DIFF_LINES_MOST = 60


def render_explain(comparison: ExplainComparison, *, width: int | None, color: bool) -> str:
    """
    Render a comparison as text that ends with a newline.

    Args:
        comparison: two files, statement by statement.
        width: columns, at least 60; None takes the terminal's, at most 120, and 80 in a pipe.
        color: whether escape sequences for colour may be used.
    """
    columns = terminal.columns_of(width, least=WIDTH_MIN, most=WIDTH_MAX)
    return terminal.rendered(list(_parts(comparison, columns)), width=columns, color=color)


def render_recorded(file: CaptureFile, *, width: int | None, color: bool) -> str:
    """
    Render what was recorded as text that ends with a newline: one row for each statement.

    Args:
        file: captures.
        width: columns, at least 60; None takes the terminal's, at most 120, and 80 in a pipe.
        color: whether escape sequences for colour may be used.
    """
    columns = terminal.columns_of(width, least=WIDTH_MIN, most=WIDTH_MAX)
    parts: list[RenderableType] = []
    if file.captures:
        parts.append(_captures(file.captures, columns))
    if file.unrecorded:
        parts.append(terminal.heading("Not recorded"))
        parts.append(
            terminal.bullets(
                [
                    " ".join(f"{_line(item.statement, 60)}: {item.reason}. {item.remedy}".split())
                    for item in file.unrecorded
                ]
            )
        )
    return terminal.rendered(parts, width=columns, color=color)


def time_of(seconds: float | None) -> str:
    """A time as people read it; unknown where it is."""
    if seconds is None:
        return "unknown"
    return f"{number(seconds, 3)} s" if seconds >= 1 else format_latency(seconds)


def _parts(comparison: ExplainComparison, width: int) -> Iterable[RenderableType]:
    yield terminal.styled(f"{comparison.first} beside {comparison.second}", "bold")
    yield terminal.styled(_summary(comparison.pairs), "dim")
    for pair in comparison.pairs:
        yield Text("")
        yield from _pair(pair, width)
    for title, statements in (
        (f"Only in {comparison.first}", comparison.only_first),
        (f"Only in {comparison.second}", comparison.only_second),
    ):
        if statements:
            yield terminal.heading(title)
            yield terminal.bullets([_line(statement, width - 4) for statement in statements])
    if comparison.notes:
        yield terminal.heading("Notes")
        yield terminal.bullets(comparison.notes)


def _summary(pairs: Sequence[Pair]) -> str:
    if not pairs:
        return "No statement is on both sides."
    counts = {o: sum(pair.outcome is o for pair in pairs) for o in Outcome}
    told = ", ".join(f"{count} {WORDS[outcome]}" for outcome, count in counts.items() if count)
    return f"{len(pairs)} {'statement' if len(pairs) == 1 else 'statements'} on both sides: {told}."


def _pair(pair: Pair, width: int) -> Iterable[RenderableType]:
    yield Text(_line(pair.statement, width) or "(statement not known)", style="bold")
    yield terminal.indented(terminal.styled(pair.title, _STYLES.get(pair.outcome, "bold red")))
    yield terminal.indented(_numbers(pair))
    if pair.diff:
        yield terminal.indented(_diff(pair.diff, width - 4))
    lines = [*pair.reasons, *([f"Next: {pair.advice}"] if pair.advice else [])]
    if pair.refuted_by:
        lines.append(f"Refuted by: {pair.refuted_by}")
    if lines:
        yield terminal.bullets(lines)


def _numbers(pair: Pair) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    for name in ("first", "second"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("times", justify="right", no_wrap=True)
    for name, cells in _rows(pair.first, pair.second):
        table.add_row(name, *cells)
    return table


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


def _diff(lines: Sequence[DiffLine], width: int) -> RenderableType:
    text = Text(no_wrap=True, overflow="ellipsis")
    for line in lines[:_DIFF_LINES_MOST]:
        shown = _line(f"{line.sign} {'  ' * line.depth}{line.text}", width, keeps_spaces=True)
        text.append(f"{shown}\n", style=_SIGNS[line.sign])
    if len(lines) > _DIFF_LINES_MOST:
        text.append(f"… {len(lines) - _DIFF_LINES_MOST} more lines in --format json\n")
    return Padding(text, (1, 0, 0, 0))


def _captures(captures: Sequence[Capture], width: int) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    rows = [_captured(capture) for capture in captures]
    taken = 0
    for column, name in enumerate(("time", "I/O time", "blocks", "read")):
        table.add_column(name, justify="right", no_wrap=True)
        taken += max(len(name), *(len(row[column]) for row in rows)) + 2
    table.add_column("statement", no_wrap=True)
    for row in rows:
        table.add_row(*row[:4], _line(row[4], width - taken))
    return table


def _captured(capture: Capture) -> tuple[str, str, str, str, str]:
    blocks = capture.blocks
    calls = f"{number(capture.calls)} {'call' if capture.calls == 1 else 'calls'}: "
    what = calls if capture.source is Source.PG_STAT_STATEMENTS else ""
    return (
        time_of(capture.execution_s) if capture.was_run else "-",
        time_of(blocks.io_s) if blocks is not None else "-",
        number(blocks.touched) if blocks is not None else "-",
        number(blocks.read) if blocks is not None else "-",
        f"{what if capture.was_run else 'only planned: '}{capture.statement}",
    )


def _line(text: str, most: int, *, keeps_spaces: bool = False) -> str:
    line = text if keeps_spaces else " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
