"""
A sweep for a terminal, a pipe or a log: rates by I/O size, the limits behind them, what is not known.

Rule 1: no line is longer than `width`.
"""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from plimsoll.model.sweep import SweepReport
from plimsoll.reports.render.terminal import (
    bullets,
    columns_of,
    glued,
    heading,
    indented,
    pairs,
    rendered,
    styled,
)
from plimsoll.reports.sweep.outline import (
    BesideSaid,
    GroupSaid,
    SweepSaid,
    estimate,
    sweep_outline,
    with_phase,
)

WIDTH_MIN, WIDTH_DEFAULT = 60, 100


def render_sweep(reports: Sequence[SweepReport], *, width: int | None, color: bool) -> str:
    """
    Render sweeps below one another as text that ends with a newline.

    Args:
        reports: what was measured and found, one for each configuration.
        width: columns; None takes 100, or the terminal's if it has fewer.
        color: whether escape sequences for colour may be used.
    """
    columns = columns_of(width, least=WIDTH_MIN, most=WIDTH_DEFAULT)
    parts: list[RenderableType] = []
    for report in reports:
        parts += [*([Text("")] if parts else []), *_parts(sweep_outline(report))]
    if len(reports) > 1:
        parts += [Text(""), *_summary(reports)]
    return rendered(parts, width=columns, color=color)


def _summary(reports: Sequence[SweepReport]) -> Iterator[RenderableType]:
    """Every configuration's limits in one table."""
    yield heading("All configurations")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("configuration")
    table.add_column("operations", justify="right")
    table.add_column("throughput", justify="right")
    for report in reports:
        for fit in report.fit.phases:
            name = with_phase(report.sweep.subject, fit.phase)
            found = estimate(fit.ops_limit, "ops/s"), estimate(fit.bytes_limit, "bytes/s")
            table.add_row(*(glued(cell) for cell in (name, *found)))
    yield indented(table)
    known = [
        abs(truth.difference_ratio)
        for report in reports
        for truth in report.truths
        if truth.unit != "bytes" and truth.difference_ratio is not None
    ]
    if known:
        yield indented(
            styled(
                f"Of {len(known)} limits found, the furthest from what is enforced is off by"
                f" {max(known) * 100:.1f} %."
            )
        )


def _parts(said: SweepSaid) -> Iterator[RenderableType]:
    yield styled(said.title, "bold")
    yield styled(said.method, "dim")
    for group in said.groups:
        yield heading(group.title)
        yield _rates(group)
        yield Text("")
        yield pairs(group.limits)
        if group.merged:
            yield indented(styled(group.merged))
        if group.left_out:
            yield heading("Left out")
            yield bullets(group.left_out)
        if group.unknown:
            yield heading("What these sizes cannot tell")
            yield bullets(group.unknown)
    if said.truths:
        yield heading("Beside what is enforced")
        yield _beside(said.truths, "enforced")
    if said.published:
        yield heading("Beside what was published")
        yield _beside(said.published, "published")
        yield bullets([f"{item.name}: {item.remark}" for item in said.published if item.remark])
    if said.notes:
        yield heading("Notes")
        yield bullets(said.notes)


def _rates(group: GroupSaid) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("I/O size\n", justify="right", no_wrap=True)
    for name, is_there in (
        ("scattered", group.has_scattered),
        ("sequential", group.has_sequential),
    ):
        if is_there:
            table.add_column(f"{name}\nMB/s", justify="right", no_wrap=True)
            table.add_column("\nIOPS", justify="right", no_wrap=True)
    if group.has_came_as:
        table.add_column("requests\ncame as", justify="right")
    for row in group.rows:
        cells = [row.size]
        if group.has_scattered:
            cells += [row.scattered_mb, row.scattered_ops]
        if group.has_sequential:
            cells += [row.sequential_mb, row.sequential_ops]
        if group.has_came_as:
            cells.append(row.came_as)
        table.add_row(*cells)
    return indented(table)


def _beside(rows: Sequence[BesideSaid], other: str) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    table.add_column(other, justify="right")
    table.add_column("found", justify="right")
    table.add_column("difference", justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(glued(cell) for cell in (row.name, row.other, row.found, row.difference)))
    return indented(table)
