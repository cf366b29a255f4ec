"""What changed in a fleet since an earlier table."""

from collections.abc import Iterator

from plimsoll.model.fleet import FleetReport
from plimsoll.model.fleet_answer import FleetChange, FleetChangeKind, FleetChanges, FleetTotals
from plimsoll.reports.document.parts import Cell, Column, Paragraph, Part, Section, facts_of
from plimsoll.reports.fleet.words import NOTHING, UNKNOWN, Rows, family_name
from plimsoll.units import format_clock, format_ratio

_TITLES = {
    FleetChangeKind.REACHED: "Newly at a limit",
    FleetChangeKind.LEFT: "No longer at a limit",
    FleetChangeKind.WORSE: "Longer at a limit",
    FleetChangeKind.BETTER: "Shorter at a limit",
    FleetChangeKind.CLASS_CHANGED: "Changed class",
    FleetChangeKind.APPEARED: "New",
    FleetChangeKind.GONE: "Gone",
}
_SHARES = (Column(title="Before", is_number=True), Column(title="Now", is_number=True))
_LIMIT = (
    Column(title="Instance", least=16),
    Column(title="Class", leaves=2),
    Column(title="Limit", least=16, leaves=1),
    *_SHARES,
)
_CLASS = (Column(title="Instance", least=16), Column(title="Class", least=14), *_SHARES)
_WITHOUT_LIMIT = {FleetChangeKind.CLASS_CHANGED, FleetChangeKind.APPEARED, FleetChangeKind.GONE}
_LEGEND = "Before, Now: share of the measured time at a limit, or the verdict."
_VERDICTS = {"near": "near", "slack": "no limit", "unknown": "not judged", "error": "not judged"}


def change_sections(report: FleetReport, rows: Rows) -> Iterator[Part]:
    """Yield a section of what changed, if it was asked for."""
    changes = report.changes
    if changes is None:
        return
    parts: list[Part] = [facts_of(tuple(_facts(changes, report.totals)))]
    if changes.changes:
        parts.append(Paragraph(text=_LEGEND, weight="quiet"))
    for kind, title in _TITLES.items():
        mine = [change for change in changes.changes if change.kind is kind]
        if mine:
            has_limit = kind not in _WITHOUT_LIMIT
            columns, cells = (_LIMIT, _limit_cells) if has_limit else (_CLASS, _class_cells)
            parts.append(rows.section(title, mine, columns, cells))
    if not changes.changes:
        parts.append(Paragraph(text="No change found."))
    yield Section(title="What changed", parts=tuple(parts))


def _facts(changes: FleetChanges, now: FleetTotals) -> Iterator[tuple[str, str]]:
    before, (start_s, end_s) = changes.totals_before, changes.before_window_s
    covered = f"{format_clock(start_s)} to {format_clock(end_s)} UTC"
    yield "since", f"{changes.before}, {covered}"
    yield "instances", f"{before.instance_count:,} before, {now.instance_count:,} now"
    yield "at a limit", f"{_bound(before):,} before, {_bound(now):,} now"
    yield "time at a limit", f"{_share(before)} of the time before, {_share(now)} now"
    if changes.unjudged_count:
        yield "not compared", f"{changes.unjudged_count:,} that could not be judged before or now"
    if changes.note:
        yield "note", changes.note


def _bound(of: FleetTotals) -> int:
    return of.now_count + of.earlier_count


def _share(of: FleetTotals) -> str:
    return format_ratio(of.at_ceiling_s / of.measured_s) if of.measured_s else UNKNOWN


def _limit_cells(change: FleetChange) -> tuple[str | Cell, ...]:
    name, *others = _class_cells(change)
    return (name, others[0], family_name(change.family), *others[1:])


def _class_cells(change: FleetChange) -> tuple[str | Cell, ...]:
    old, new = change.db_class_before, change.db_class
    name = f"{old} → {new}" if change.kind is FleetChangeKind.CLASS_CHANGED else new or old
    return (
        change.instance,
        name or UNKNOWN,
        _state(change.verdict_before, change.at_ceiling_ratio_before),
        _state(change.verdict, change.at_ceiling_ratio),
    )


def _state(verdict: str | None, ratio: float | None) -> str:
    if verdict is None:
        return NOTHING
    if verdict == "binds":
        return UNKNOWN if ratio is None else format_ratio(ratio)
    return _VERDICTS.get(verdict, UNKNOWN)
