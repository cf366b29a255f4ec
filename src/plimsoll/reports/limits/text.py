"""
The limit sheet for a terminal, a pipe or a log: readable at 80 columns and without colour.

Rule 1: every rate has its unit in the column's title or beside it; every ceiling has its source.
Rule 2: no line is longer than `width`.
"""

from collections.abc import Iterable
from io import StringIO
from math import log2, log10

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from plimsoll.model.ceiling import Ceiling, Phase
from plimsoll.model.family import FAMILIES, INSTANCE_FAMILIES
from plimsoll.model.metric import METRICS
from plimsoll.model.sheet import Knee, LimitSheet, Rate, SheetRow, Unreachable
from plimsoll.reports.render import words
from plimsoll.units import KIB, format_bytes, format_bytes_per_s, format_time, number

WIDTH_MIN, WIDTH_MAX = 60, 120
# Below this the table of sizes leaves out IOPS, which follow from MB/s and size.
_NARROW = 76
_CURVE_ROWS = 18
_KEY = "MB/s by I/O size in KiB:  ⠤ baseline  ◆ knee"
_KEY_WITH_BURST = "MB/s by I/O size in KiB:  ⠤ baseline  · burst, while credits last  ◆ knee"
_MOVES = {True: "can move", False: "cannot move", None: "not known"}


def render_limits(sheet: LimitSheet, *, width: int, color: bool) -> str:
    """
    Render the sheet as text that ends with a newline.

    Args:
        sheet: what the instance can do.
        width: columns; fewer than 60 are taken as 60, more than 120 as 120.
        color: whether escape sequences for colour may be used.
    """
    width = min(max(width, WIDTH_MIN), WIDTH_MAX)
    out = StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        _environ={},
    )
    for section in _sections(sheet, width):
        console.print(section)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n")).rstrip() + "\n"


def _sections(sheet: LimitSheet, width: int) -> Iterable[RenderableType]:
    yield Text(sheet_title(sheet), style="bold")
    if sheet.rows:
        yield _heading("Ceiling by I/O size, reads and writes together")
        yield _table_of_sizes(sheet, has_iops=width >= _NARROW)
        yield Padding(Text(_knees(sheet)), (1, 0, 0, 2))
        yield _heading("Curve")
        yield Text(curve_text(sheet, width=width), no_wrap=True, overflow="crop")
        yield _indented(Text(_KEY_WITH_BURST if has_burst(sheet) else _KEY))
    yield _heading("Ceilings")
    yield _ceilings(sheet, [c for c in sheet.ceilings if c.phase is not Phase.LEGACY])
    yield _heading("Balances")
    yield _balances(sheet)
    if sheet.unreachable:
        yield _heading("Bought, but more than the instance takes")
        yield _list(_unreachable(item) for item in sheet.unreachable)
    former = [c for c in sheet.ceilings if c.phase is Phase.LEGACY]
    if former:
        yield _heading("Former limits this instance may still have")
        yield _ceilings(sheet, former)
        yield _list(_former_notes(former))
    if sheet.notes:
        yield _heading("Notes")
        yield _list(sheet.notes)
    if sheet.origins:
        yield _heading("Sources")
        yield _sources(sheet)


def sheet_title(sheet: LimitSheet) -> str:
    """What the sheet is about: class, engine, storage and layout as far as they are known."""
    instance = sheet.instance
    storage = words.storage(instance)
    if instance.storage.volume_count is None and sheet.volume_count is not None:
        storage += f" on {sheet.volume_count} volume{'s' if sheet.volume_count != 1 else ''}"
    parts = [
        words.subject(instance),
        instance.engine,
        storage if instance.storage.kind else None,
        "Multi-AZ" if instance.multi_az else None,
        f"launched {format_time(instance.launched_s)[:10]}" if instance.launched_s else None,
    ]
    return " · ".join(words.plain(part) for part in parts if part)


def has_burst(sheet: LimitSheet) -> bool:
    """Whether the chain lets more through while credits last, at any size of the table."""
    return any(row.burst != row.baseline for row in sheet.rows)


def _table_of_sizes(sheet: LimitSheet, *, has_iops: bool) -> RenderableType:
    bursts = has_burst(sheet)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("I/O size\n", justify="right", no_wrap=True)
    for title in ["baseline", "burst"] if bursts else ["baseline"]:
        table.add_column(f"{title}\nMB/s", justify="right", no_wrap=True)
        if has_iops:
            table.add_column("\nIOPS", justify="right", no_wrap=True)
        table.add_column("\nbinds", no_wrap=True)
    for row in sheet.rows:
        rates = (row.baseline, row.burst) if bursts else (row.baseline,)
        cells = [cell for rate in rates for cell in _rate(rate, has_iops=has_iops)]
        table.add_row(format_bytes(row.io_size_bytes), *cells)
    return _indented(table)


def _rate(rate: Rate, *, has_iops: bool) -> list[str]:
    iops = [f"{rate.ops_per_s:,.0f}"] if has_iops else []
    return [
        number(rate.bytes_per_s / 1e6, 5),
        *iops,
        FAMILIES[rate.binding].short_name or words.FAMILY_NAMES[rate.binding],
    ]


def _knees(sheet: LimitSheet) -> str:
    if sheet.knee is None:
        binding = words.FAMILY_NAMES[sheet.rows[-1].baseline.binding]
        said = f"No knee at the baseline: {binding} binds at every size."
    else:
        said = f"Knee at {_knee(sheet.knee)}."
    if sheet.burst_knee is None:
        return said
    return f"{said} While credits last, at {_knee(sheet.burst_knee)}."


def _knee(knee: Knee) -> str:
    return (
        f"{format_bytes(knee.io_size_bytes)}: below it {words.FAMILY_NAMES[knee.below]}"
        f" ({knee.ops_per_s:,.0f}) binds, above it {words.FAMILY_NAMES[knee.above]}"
        f" ({format_bytes_per_s(knee.bytes_per_s, 5)})"
    )


def curve_text(sheet: LimitSheet, *, width: int) -> str:
    """
    The curve in characters, at most `width` columns, both axes logarithmic.

    Braille dots are what can be held forever, middle dots what can be had while credits last.
    """
    import plotext

    plotext.terminal.limit(False, False)
    figure = plotext.figure
    figure.clear()
    figure.plot_size(width - 2, _CURVE_ROWS)
    figure.legend(False)
    lines = [("braille", sheet.knee, [row.baseline for row in sheet.curve])]
    if has_burst(sheet):
        lines.insert(0, ("·", sheet.burst_knee, [row.burst for row in sheet.curve]))
    sizes = [log2(row.io_size_bytes) for row in sheet.curve]
    for marker, _, rates in lines:
        heights = [log10(rate.bytes_per_s) for rate in rates]
        figure.draw(figure.signal(sizes, heights, marker=marker).lines())
    for _, knee, _ in lines:
        if knee is not None and sizes[0] <= log2(knee.io_size_bytes) <= sizes[-1]:
            spot = [log2(knee.io_size_bytes)], [log10(knee.bytes_per_s)]
            figure.draw(figure.signal(*spot, marker="◆"))
    figure.ruler("x", "lower").lim(sizes[0], sizes[-1]).ticks(
        [log2(row.io_size_bytes) for row in sheet.rows], [_size(row) for row in sheet.rows]
    )
    ticks = mb_ticks([rate.bytes_per_s / 1e6 for *_, rates in lines for rate in rates])
    figure.ruler("y", "left").ticks([log10(mb * 1e6) for mb in ticks], [number(t) for t in ticks])
    drawn = figure.build().string(colorless=True)
    return "\n".join(f"  {line}".rstrip() for line in drawn.rstrip("\n").split("\n"))


def _size(row: SheetRow) -> str:
    size = row.io_size_bytes / KIB
    return f"{size:,.0f}"


def mb_ticks(values: list[float]) -> list[float]:
    """Between four and nine round numbers over the range of the values, in MB/s."""
    low, high = min(values), max(values)
    decades = range(int(log10(low)) - 2, int(log10(high)) + 2)
    for steps in ((1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0), (1.0, 2.0, 3.0, 5.0), (1.0, 2.0, 5.0)):
        ticks = [s * 10.0**d for d in decades for s in steps if low <= s * 10.0**d <= high]
        if len(ticks) <= 9:
            return ticks or [low]
    return [10.0**d for d in decades if low <= 10.0**d <= high] or [low]


def _ceilings(sheet: LimitSheet, ceilings: list[Ceiling]) -> RenderableType:
    """Name, number and number of the source; what a reader must know stands below the number."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(ratio=1)
    table.add_column(justify="right", no_wrap=True)
    for ceiling in ceilings:
        value = words.ceiling_value(ceiling)
        remark = _remark(ceiling)
        said = Text(value) if not remark else Text.assemble(value, ("; " + remark, "dim"))
        table.add_row(Text(_name(ceiling)), said, Text(_reference(sheet, ceiling), style="dim"))
    return _indented(table)


def _name(ceiling: Ceiling) -> str:
    if ceiling.phase is not Phase.LEGACY:
        return words.ceiling_name(ceiling)
    return words.limit_name(ceiling.family, ceiling.former_phase or Phase.FIXED)


def _remark(ceiling: Ceiling) -> str:
    origin = ceiling.origin
    if ceiling.phase is Phase.LEGACY:
        until = f" to {origin.valid_to}" if origin.valid_to else ""
        return f"documented {origin.valid_from}{until}"
    if ceiling.family in INSTANCE_FAMILIES:
        return ""
    # The layout of the volumes is a note of the sheet; here it would stand in every row.
    return ceiling.note.split("; ")[0]


def _reference(sheet: LimitSheet, ceiling: Ceiling) -> str:
    for index, origin in enumerate(sheet.origins, start=1):
        if (origin.source, origin.read_on) == (ceiling.origin.source, ceiling.origin.read_on):
            return f"[{index}]"
    return ""


def _balances(sheet: LimitSheet) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for note in sheet.balances:
        name = METRICS[note.metric].cloudwatch or note.metric.value
        style = "" if note.can_move else "dim"
        table.add_row(Text(name), Text(_MOVES[note.can_move], style=style), Text(note.reason))
    return _indented(table)


def _unreachable(item: Unreachable) -> str:
    bought, baseline, burst = (
        words.quantity(v, item.unit) if item.unit == "ops/s" else format_bytes_per_s(v, 5)
        for v in (item.bought, item.baseline, item.burst)
    )
    if item.baseline == item.burst:
        return f"The volumes give {bought}; the instance takes {burst}."
    if item.bought > item.burst:
        return f"The volumes give {bought}; the instance takes {baseline} forever, {burst} at most."
    return (
        f"The volumes give {bought}; the instance takes {baseline} forever, more only on credits."
    )


def _former_notes(former: list[Ceiling]) -> list[str]:
    """What is said of the former limits, each remark once, as sentences."""
    remarks = dict.fromkeys(part for c in former for part in c.note.split("; ") if part)
    return [f"{remark[0].upper()}{remark[1:]}." for remark in remarks]


def _sources(sheet: LimitSheet) -> RenderableType:
    table = Table.grid(padding=(0, 1, 0, 0))
    for index, origin in enumerate(sheet.origins, start=1):
        table.add_row(Text(f"[{index}]"), Text(f"{origin.source} ({origin.read_on})"))
    return _indented(table)


def _heading(title: str) -> RenderableType:
    return Padding(Text(title.upper(), style="bold"), (1, 0, 0, 0))


def _list(items: Iterable[str]) -> RenderableType:
    table = Table.grid(padding=(0, 1, 0, 0))
    for item in items:
        table.add_row("-", Text(item))
    return _indented(table)


def _indented(what: RenderableType) -> RenderableType:
    return Padding(what, (0, 0, 0, 2))
