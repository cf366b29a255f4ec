"""What a fleet costs, what its changes would cost, and what could be saved, with how likely that is."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from plimsoll.model.fleet import FleetReport, FleetVerdict
from plimsoll.model.fleet_answer import FleetTotals
from plimsoll.reports.document.parts import Cell, Column, Paragraph, Part, Section, facts_of
from plimsoll.reports.fleet.words import NAME, UNKNOWN, Rows, name_cells, usd, usd_more
from plimsoll.reports.render import words
from plimsoll.units import in_cases

_PAID = (*NAME, Column(title="What", least=30))
_LEGACY = (*NAME, Column(title="Change", least=30))
_CHEAPER = (
    *NAME,
    Column(title="Cheaper setup", least=24),
    Column(title="$/day", is_number=True, legend="$/day: more than now, on demand."),
    Column(
        title="Enough",
        is_number=True,
        legend="Enough: in how many of the cases that we consider possible the cheaper setup is enough.",
    ),
)

_LIKELY = "Likely: the sum of each saving times the chance that its cheaper setup is enough."


def money_sections(report: FleetReport, rows: Rows) -> Iterator[Part]:
    """Yield what is paid for nothing, what could be freed or cost less, and the sums."""
    unreachable = [row for row in report.rows if row.unreachable]
    if unreachable:
        yield rows.section("Paid for and out of reach", unreachable, _PAID, _paid_cells)
    legacy = [row for row in report.rows if row.legacy]
    if legacy:
        yield rows.section("A stop and start may raise the limit", legacy, _LEGACY, _legacy_cells)
    cheaper = _cheaper(report.rows)
    if cheaper:
        yield rows.section("Could cost less", cheaper, _CHEAPER, _cheaper_cells)
    if report.has_plan:
        parts: list[Part] = [facts_of(tuple(_spend(report.totals)))]
        if report.totals.cheaper_count:
            parts.append(Paragraph(text=_LIKELY, weight="quiet"))
        yield Section(title="Spend", parts=tuple(parts))


def _cheaper(rows: Sequence[FleetVerdict]) -> list[FleetVerdict]:
    return sorted(
        (row for row in rows if row.cheaper), key=lambda row: (row.cheaper_usd_per_day_more or Decimal(0), row.sort_key)
    )


def _spend(of: FleetTotals) -> Iterator[tuple[str, str]]:
    missing = of.instance_count - of.priced_count
    if of.usd_per_day is None:
        yield "now", f"{UNKNOWN}: no instance has a price"
    else:
        more = f"; {missing:,} without a price" if missing else ""
        yield (
            "now",
            f"${usd(of.usd_per_day)} per day on demand, for {words.counted(of.priced_count, 'instance')}{more}",
        )
    if of.change_count:
        yield "recommended changes", _change_cost(of)
    if not of.cheaper_count:
        yield "possible saving", "none found"
        return
    likely = UNKNOWN if of.saving_usd_per_day_likely is None else usd(of.saving_usd_per_day_likely)
    classes = "1 cheaper setup" if of.cheaper_count == 1 else f"{of.cheaper_count:,} cheaper setups"
    most = usd(of.saving_usd_per_day_most)
    yield "possible saving", f"likely ${likely} per day, at most ${most}, with {classes}"


def _change_cost(of: FleetTotals) -> str:
    priced = of.change_count - of.change_unpriced_count
    if of.change_usd_per_day_more is None:
        return f"cost unknown: no price for {words.counted(of.change_count, 'instance')} at a limit"
    word = "less" if of.change_usd_per_day_more < 0 else "more"
    text = f"${usd(abs(of.change_usd_per_day_more))} {word} per day for {words.counted(priced, 'instance')} at a limit"
    missing = f"; {of.change_unpriced_count:,} without a price" if of.change_unpriced_count else ""
    return text + missing


def _paid_cells(row: FleetVerdict) -> tuple[str | Cell, ...]:
    return (*name_cells(row), row.unreachable or "")


def _legacy_cells(row: FleetVerdict) -> tuple[str | Cell, ...]:
    return (*name_cells(row), row.legacy or "")


def _cheaper_cells(row: FleetVerdict) -> tuple[str | Cell, ...]:
    chance = UNKNOWN if row.cheaper_chance is None else in_cases(row.cheaper_chance)
    return (*name_cells(row), row.cheaper or "", usd_more(row.cheaper_usd_per_day_more), chance)
