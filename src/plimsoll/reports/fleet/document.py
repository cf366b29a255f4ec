"""A fleet as a document: who is at a limit, who will be, what is paid for nothing, and what could cost less."""

from collections.abc import Iterator, Sequence

from plimsoll.model.fleet import FleetRank, FleetReport, FleetVerdict
from plimsoll.reports.document.parts import Cell, Column, Document, Part, Section, Tone, facts_of
from plimsoll.reports.fleet.changes import change_sections
from plimsoll.reports.fleet.groups import group_sections
from plimsoll.reports.fleet.money import money_sections
from plimsoll.reports.fleet.words import (
    MORE_IN_TEXT,
    NAME,
    NOTHING,
    ROWS_MOST,
    Rows,
    limit_text,
    name_cells,
    store_name,
    usd_more,
)
from plimsoll.reports.render import words
from plimsoll.units import format_clock, format_duration, format_ratio

_BOUND = (
    *NAME,
    Column(title="Limit", least=16),
    Column(title="At it", is_number=True, leaves=4),
    Column(title="Share", is_number=True, leaves=2, legend="Share: of the time measured."),
    Column(title="Now", leaves=5),
)
_CHANGE = (
    Column(title="Recommended change", least=14),
    Column(title="$/day", is_number=True, legend="$/day: more than now, on demand."),
)
_WAIT = (*NAME, Column(title="For", is_number=True))
_NEAR = (*NAME, Column(title="Nearest limit"), Column(title="Peak", is_number=True, legend="Peak: of that limit."))
_EMPTY = (
    *NAME,
    Column(title="What"),
    Column(title="Empty in", is_number=True, legend="Empty in: at the present rate."),
)
_UNKNOWN = (*NAME, Column(title="Reason", least=24), Column(title="Remedy", least=24, leaves=1))


def fleet_document(report: FleetReport, *, lists_all: bool = False, more: str = MORE_IN_TEXT) -> Document:
    """
    Return the document of a fleet.

    Args:
        report: verdicts, ranked.
        lists_all: whether every table has all its rows.
        more: where further rows are, if it has not: a clause.
    """
    rows = Rows(None if lists_all else ROWS_MOST, more)
    return Document(
        kind="fleet",
        headline=headline(report),
        tone=_tone(report.rows),
        simulated=("",) if any(row.is_simulated for row in report.rows) else (),
        parts=tuple(_parts(report, rows)),
        is_wide=True,
    )


def headline(report: FleetReport) -> str:
    """Return the answer in one sentence."""
    of = report.totals
    bound = of.now_count + of.earlier_count
    text = f"{bound:,} of {words.counted(of.instance_count, 'instance')} reached a limit, {of.now_count:,} of them at the end"
    if of.near_count:
        text += f"; {of.near_count:,} {'is' if of.near_count == 1 else 'are'} near one"
    if of.unknown_count:
        text += f"; {of.unknown_count:,} could not be judged"
    return text


def _tone(rows: Sequence[FleetVerdict]) -> Tone:
    ranks = {row.rank for row in rows}
    if ranks & {FleetRank.NOW, FleetRank.BOUND}:
        return Tone.BAD
    if ranks & {FleetRank.WAITING, FleetRank.NEAR}:
        return Tone.NEAR
    return Tone.UNKNOWN if FleetRank.UNKNOWN in ranks or not rows else Tone.GOOD


def _parts(report: FleetReport, rows: Rows) -> Iterator[Part]:
    yield from _urgent(report, rows)
    yield from change_sections(report, rows)
    yield from money_sections(report, rows)
    yield from group_sections(report, rows)
    yield Section(title="How it was measured", parts=(facts_of(_measured(report)),))


def _urgent(report: FleetReport, rows: Rows) -> Iterator[Part]:
    bound = [row for row in report.rows if row.rank <= FleetRank.BOUND]
    if bound:
        columns = (*_BOUND, *_CHANGE) if report.has_plan else _BOUND
        cells = _changed_cells if report.has_plan else _bound_cells
        yield rows.section("At a limit", bound, columns, cells)
    waiting = [row for row in report.rows if row.rank is FleetRank.WAITING]
    if waiting:
        title = "Requests waited, and no limit explains it"
        yield rows.section(title, waiting, _WAIT, _wait_cells)
    near = [row for row in report.rows if row.rank is FleetRank.NEAR]
    if near:
        yield rows.section("Near a limit", near, _NEAR, _near_cells)
    emptying = sorted(
        (row for row in report.rows if row.emptying and row.empty_in_s is not None),
        key=lambda row: (row.empty_in_s or 0.0, row.sort_key),
    )
    if emptying:
        yield rows.section("Will be empty", emptying, _EMPTY, _empty_cells)
    unknown = [row for row in report.rows if row.rank is FleetRank.UNKNOWN]
    if unknown:
        yield rows.section("Could not be judged", unknown, _UNKNOWN, _unknown_cells)


def _bound_cells(row: FleetVerdict) -> tuple[str | Cell, ...]:
    return (
        *name_cells(row),
        limit_text(row),
        format_duration(row.at_ceiling_s or 0.0),
        format_ratio(row.at_ceiling_ratio or 0.0),
        Cell("YES", Tone.BAD) if row.is_now else "no",
    )


def _changed_cells(row: FleetVerdict) -> tuple[str | Cell, ...]:
    change = row.option or (f"no plan: {row.plan_note}" if row.plan_note else NOTHING)
    more = usd_more(row.option_usd_per_day_more) if row.option else NOTHING
    return (*_bound_cells(row), change, more)


def _wait_cells(row: FleetVerdict) -> tuple[str | Cell, ...]:
    return (*name_cells(row), format_duration(row.waiting_s or 0.0))


def _near_cells(row: FleetVerdict) -> tuple[str | Cell, ...]:
    peak = NOTHING if row.nearest_ratio is None else format_ratio(row.nearest_ratio)
    return (*name_cells(row), row.nearest or NOTHING, peak)


def _empty_cells(row: FleetVerdict) -> tuple[str | Cell, ...]:
    left_s = row.empty_in_s or 0.0
    text = format_duration(left_s) if left_s else Cell("empty now", Tone.BAD)
    return (*name_cells(row), store_name(row.emptying), text)


def _unknown_cells(row: FleetVerdict) -> tuple[str | Cell, ...]:
    reason = row.reason or "the metrics do not show it"
    return (*name_cells(row), f"missing: {reason}" if _is_gap(row) else reason, row.remedy or "")


def _is_gap(row: FleetVerdict) -> bool:
    return row.verdict == "unknown" and row.reason is not None


def _measured(report: FleetReport) -> tuple[tuple[str, str], ...]:
    (start_s, end_s), of = report.window_s, report.totals
    return (
        ("lake", report.lake),
        ("window", f"{format_clock(start_s)} to {format_clock(end_s)} UTC"),
        ("instances", f"{of.instance_count:,}, {of.slack_count:,} near no limit"),
    )
