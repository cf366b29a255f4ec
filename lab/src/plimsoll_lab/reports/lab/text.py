"""
The text of a lab run for a terminal or a log: its progress, and the ground truth at its end.

Rule 1: the credit clock is shown with every number that depends on it.
Rule 2: what a colour says, a word says too.
"""

from collections.abc import Iterable

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.family import FAMILIES
from plimsoll.reports.render.terminal import bullets, columns_of, heading, indented, rendered, styled
from plimsoll.reports.render.words import FAMILY_NAMES, phase_name, plain, published
from plimsoll.units import format_bytes_per_s, format_duration, format_ops_per_s, format_ratio, number
from plimsoll_lab.model.lab import GroundTruth, LabProgress, StageNow, ThrottledCeiling, WrongClaim

# Below the first the words of a table would break; lines longer than the second are hard to read back.
WIDTH_MIN = 40
WIDTH_MAX = 120

# Below this a table would break its words.
_NARROW = 76

# Steps of 5 %, and eighths of them.
_BAR = 20
_EIGHTHS = " ▏▎▍▌▋▊▉█"
# Column of the names in the live display: the longest is "volume throughput".
_NAME = 17
_MINUTE_S = 60.0


def progress_lines(progress: LabProgress) -> list[str]:
    """
    Return the live display: lines for a terminal, rewritten every second.

    The first says the time, then one for each limit with its balance, and last what holds requests.
    """
    lines = [_when(progress) + _transactions(progress)]
    for stage in progress.stages:
        share = stage.served / stage.ceiling if stage.ceiling > 0 else 0.0
        level = f"{_rate(stage.served, stage):>13} {_bar(share)} of {_published(stage)}"
        lines.append(f"{_short(stage.name):<{_NAME}}{level}{_phase(stage)}")
        if stage.balance_ratio is not None:
            left = f"{format_ratio(stage.balance_ratio):>13} {_bar(stage.balance_ratio)}"
            lines.append(f"{'  credits':<{_NAME}}{left} {_forecast(stage, progress)}".rstrip())
    lines.append(f"{'now':<{_NAME}}{_holding(progress)}; queue depth {progress.queue_depth:.1f}")
    if progress.late_ratio >= _LATE_TOLD:
        lines.append(
            f"{'':<{_NAME}}{format_ratio(progress.late_ratio)} of the operations came late: this machine is slow"
        )
    return lines


# Some operations are always late by a little; from one in a hundred a reader should know.
_LATE_TOLD = 0.01


def progress_line(progress: LabProgress) -> str:
    """Return the same in one line, for a log."""
    parts = [
        _when(progress),
        f"{format_bytes_per_s(progress.bytes_per_s)}, {format_ops_per_s(progress.ops_per_s)}",
        _holding(progress),
    ]
    for stage in progress.stages:
        # Credits that are neither spent nor missed would fill the line.
        if stage.balance_ratio is not None and (stage.empty_in_s is not None or stage.is_holding):
            left = f"{_short(stage.name)} credits {format_ratio(stage.balance_ratio)}"
            parts.append(f"{left}, {_forecast(stage, progress)}")
    return "; ".join(parts)


def render_truth(truth: GroundTruth, *, width: int | None, color: bool) -> str:
    """
    Return the section GROUND TRUTH, which follows the report; text that ends with a newline.

    Args:
        truth: the diagnosis beside what the gate did.
        width: columns, at least 40; None takes the terminal's, at most 120, and 80 in a pipe.
        color: whether escape sequences for colour may be used.
    """
    width = columns_of(width, least=WIDTH_MIN, most=WIDTH_MAX)
    return "\n" + rendered([*_sections(truth, width)], width=width, color=color).lstrip("\n")


def _sections(truth: GroundTruth, width: int) -> Iterable[RenderableType]:
    yield heading("Ground truth")
    if truth.is_void:
        yield indented(styled(truth.kept_up, style="bold red"))
    yield indented(styled(_summary(truth)))
    items = [_wrong(claim) for claim in truth.wrong]
    if truth.held and width >= _NARROW:
        yield indented(_table(truth))
    else:
        items = [_row(held, truth.clock) for held in truth.held] + items
    brief = [h for h in truth.held if not h.is_found and not h.is_long_enough]
    if brief:
        items.append(
            "Less than 8 emulated minutes at a limit are too short for samples of one minute. Not "
            "finding such a limit is no error."
        )
    if not truth.is_void:
        items.append(truth.kept_up)
    if items:
        yield bullets(items)


def _summary(truth: GroundTruth) -> str:
    recorded = f"{number(round(truth.recorded_s, 1))} s"
    clock = f"credit clock {truth.clock:g}"
    emulated = format_duration(truth.recorded_s * truth.clock)
    over = f"Over {recorded} ({emulated} on {clock})"
    if not truth.held:
        return f"{over} the gate throttled no request."
    if truth.is_right:
        verdict = "The diagnosis agrees with it."
    elif truth.wrong:
        verdict = "The diagnosis names a limit that did not bind."
    else:
        verdict = "The diagnosis missed some of them."
    return f"{over} the gate throttled requests at these limits. {verdict}"


def _table(truth: GroundTruth) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("Limit", overflow="fold")
    has_clock = truth.clock != 1
    for title in ("Held", *(["Emulated"] if has_clock else []), "Delivered", "Found", "Error"):
        table.add_column(title, justify="right")
    for held in truth.held:
        emulated = [format_duration(held.held_s * truth.clock)] if has_clock else []
        cells = [_limit(held), _seconds(held.held_s), *emulated, _delivered(held), _found(held)]
        table.add_row(*map(styled, [*cells, _error(held)]))
    return table


def _row(held: ThrottledCeiling, clock: float) -> str:
    """Return the text of a row where a table does not fit."""
    emulated = f" ({format_duration(held.held_s * clock)} emulated)" if clock != 1 else ""
    delivered = f", delivering {_delivered(held)}" if held.delivered is not None else ""
    found = f"found for {_found(held)}, error {_error(held)}" if held.is_found else _found(held)
    return f"{_limit(held)}: held {_seconds(held.held_s)}{emulated}{delivered}; {found}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else format_duration(seconds)


def _limit(held: ThrottledCeiling) -> str:
    return f"{_name(held.name, held.phase)}, {_level(held.limit, held.dimension)}"


def _delivered(held: ThrottledCeiling) -> str:
    return "" if held.delivered is None else _level(held.delivered, held.dimension, digits=4)


def _error(held: ThrottledCeiling) -> str:
    return "" if held.level_error_ratio is None else _signed(held.level_error_ratio)


def _found(held: ThrottledCeiling) -> str:
    """Return the emulated time for which the diagnosis found a limit, or that it did not."""
    if held.found_s is None:
        return "not found" if held.is_long_enough else "too short"
    return format_duration(held.found_s)


def _wrong(claim: WrongClaim) -> str:
    name = _name(claim.name, claim.phase)
    level = _level(claim.level, claim.dimension, digits=4)
    return (
        f"The diagnosis names {name} at {level} for {format_duration(claim.seconds)}; the gate throttled nothing there."
    )


def _when(progress: LabProgress) -> str:
    minutes = progress.emulated_s / _MINUTE_S
    total = progress.duration_s * progress.clock / _MINUTE_S
    real = f"{progress.elapsed_s:.0f} of {progress.duration_s:.0f} s"
    return f"emulated minute {minutes:,.0f} of {total:,.0f} (clock {progress.clock:g}, {real})"


def _transactions(progress: LabProgress) -> str:
    per_s = progress.transactions_per_s
    return "" if per_s is None else f", {number(per_s, 3)} transactions/s"


def _holding(progress: LabProgress) -> str:
    stage = next((s for s in progress.stages if s.is_holding), None)
    if stage is None:
        return "no limit throttles requests"
    return f"{_family(stage.name)}{_phase(stage)} throttles requests"


def _forecast(stage: StageNow, progress: LabProgress) -> str:
    if stage.phase is Phase.BASELINE:
        return "none left"
    if stage.empty_in_s is None:
        return "full" if (stage.balance_ratio or 0.0) >= 0.995 else "not falling"
    emulated = format_duration(stage.empty_in_s * progress.clock)
    return f"empty in {format_duration(stage.empty_in_s)} ({emulated} emulated)"


def _bar(share: float) -> str:
    """Return a bar of twenty columns filled to a share 0–1, between two edges."""
    filled = round(min(max(share, 0.0), 1.0) * _BAR * 8)
    whole, part = divmod(filled, 8)
    text = "█" * whole + (_EIGHTHS[part] if part else "")
    return f"▕{text:<{_BAR}}▏"


def _family(name: str) -> str:
    try:
        return FAMILY_NAMES[Family(name)]
    except ValueError:
        return plain(name).replace("_", " ")


def _short(name: str) -> str:
    try:
        return FAMILIES[Family(name)].short_name or FAMILIES[Family(name)].name
    except ValueError:
        return plain(name).replace("_", " ")[: _NAME - 1]


def _name(name: str, phase: Phase) -> str:
    shown = phase_name(phase)
    return f"{_family(name)}, {shown}" if shown else _family(name)


def _phase(stage: StageNow) -> str:
    name = phase_name(stage.phase)
    return f" ({name})" if name else ""


def _rate(value: float, stage: StageNow) -> str:
    is_bytes = stage.dimension is Dimension.THROUGHPUT
    return format_bytes_per_s(value) if is_bytes else format_ops_per_s(value)


def _published(stage: StageNow) -> str:
    return _level(stage.ceiling, stage.dimension)


def _level(value: float, dimension: Dimension, *, digits: int = 5) -> str:
    if dimension is Dimension.IOPS:
        return format_ops_per_s(value)
    return published(value, "bytes/s") if digits == 5 else format_bytes_per_s(value, digits)


def _signed(ratio: float) -> str:
    percent = round(ratio * 100, 1)
    return f"{'+' if percent > 0 else '−' if percent < 0 else ''}{abs(percent):.1f} %"


def live(lines: list[str]) -> Text:
    """Return the live display as one renderable that is cut, not wrapped, at the terminal's edge."""
    return Text("\n".join(lines), no_wrap=True, overflow="crop")
