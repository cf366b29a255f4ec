"""The ceiling curve of an instance by I/O size, drawn in characters."""

from math import log2, log10

from plimsoll.model.sheet import LimitSheet, SheetRow
from plimsoll.units import KIB, number

# Rows of the plot; the table above it stays on the same screen.
_CURVE_ROWS = 18


def has_burst(sheet: LimitSheet) -> bool:
    """Return whether the chain serves more while credits last, at any size of the table."""
    return any(row.burst != row.baseline for row in sheet.rows)


def curve_text(sheet: LimitSheet, *, width: int) -> str:
    """
    Return the curve in characters, at most `width` columns, both axes logarithmic.

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
    """Return between four and nine round numbers over the range of the values, in MB/s."""
    low, high = min(values), max(values)
    decades = range(int(log10(low)) - 2, int(log10(high)) + 2)
    for steps in ((1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0), (1.0, 2.0, 3.0, 5.0), (1.0, 2.0, 5.0)):
        ticks = [s * 10.0**d for d in decades for s in steps if low <= s * 10.0**d <= high]
        if len(ticks) <= 9:
            return ticks or [low]
    return [10.0**d for d in decades if low <= 10.0**d <= high] or [low]
