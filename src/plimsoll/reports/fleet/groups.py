"""Groups of a fleet by class, team and the like, and the hours behind each limit."""

from collections.abc import Iterator

from plimsoll.model.fleet import FleetReport
from plimsoll.model.fleet_answer import FleetGroup, FleetGrouping, FleetTotals, LimitTime
from plimsoll.reports.document.parts import Cell, Column, Paragraph, Part, Picture, Section
from plimsoll.reports.fleet.chart import hours_spec
from plimsoll.reports.fleet.words import NOTHING, UNKNOWN, Rows, family_name, usd
from plimsoll.units import format_ratio

_TAG = "tag:"
_COUNTS = (
    Column(title="Group", least=16),
    Column(title="Instances", is_number=True),
    Column(title="Now", is_number=True, legend="Now, Earlier: at a limit at the end of the window, or only before it."),
    Column(title="Earlier", is_number=True),
    Column(title="Near", is_number=True, leaves=4),
    Column(title="Not judged", is_number=True, leaves=3),
    Column(title="Hours", is_number=True, legend="Hours: at a limit."),
)
_MONEY = (
    Column(title="$/day", is_number=True, leaves=2),
    Column(title="Saving", is_number=True, leaves=1, legend="Saving: $/day with cheaper setups, likely and at most."),
)
_HOURS = (
    Column(title="Limit"),
    Column(title="Instances", is_number=True),
    Column(title="Hours", is_number=True, legend="Hours: at the limit that bound longest."),
    Column(title="Share", is_number=True, legend="Share: of the hours of all instances."),
)


def group_sections(report: FleetReport, rows: Rows) -> Iterator[Part]:
    """Yield a section for each grouping, and the hours at each limit with their chart."""
    for grouping in report.groupings:
        title = grouping.by
        if title.startswith(_TAG):
            title = f"tag {title.removeprefix(_TAG)}"
        yield Section(title=f"By {title}", parts=tuple(_grouping(grouping, report, rows)))
    if report.limit_times:
        times = report.limit_times
        chart = Picture(
            characters=None,
            spec=lambda width: hours_spec(times, width=width),
            caption="Hours at each limit, over all instances.",
        )
        table = rows.parts(times, _HOURS, _hour_cells)
        yield Section(title="Hours at a limit, by limit", parts=(*table, chart))


def _grouping(grouping: FleetGrouping, report: FleetReport, rows: Rows) -> Iterator[Part]:
    none = "(no tag)" if grouping.by.startswith(_TAG) else f"({UNKNOWN})"

    def cells(group: FleetGroup) -> tuple[str | Cell, ...]:
        name = none if group.name is None else group.name or "(empty)"
        return (name, *_counts(group.totals), *(_money(group.totals) if report.has_plan else ()))

    if grouping.tag_keys:
        text = f"No instance has this tag. Tags that instances have: {', '.join(grouping.tag_keys)}."
        yield Paragraph(text=text, weight="quiet")
    columns = (*_COUNTS, *_MONEY) if report.has_plan else _COUNTS
    yield from rows.parts(grouping.groups, columns, cells)


def _counts(of: FleetTotals) -> tuple[str, ...]:
    counts = (of.instance_count, of.now_count, of.earlier_count, of.near_count, of.unknown_count)
    return (*(f"{count:,}" for count in counts), f"{of.at_ceiling_s / 3600:,.1f}")


def _money(of: FleetTotals) -> tuple[str | Cell, ...]:
    missing = of.instance_count - of.priced_count
    note = f"{missing:,} without a price" if missing and of.priced_count else ""
    if of.saving_usd_per_day_most is None:
        saving = NOTHING if of.priced_count else UNKNOWN
    else:
        ends = usd(of.saving_usd_per_day_likely), usd(of.saving_usd_per_day_most)
        saving = " – ".join(dict.fromkeys(ends))
    return Cell(usd(of.usd_per_day), note=note), saving


def _hour_cells(time: LimitTime) -> tuple[str | Cell, ...]:
    return (
        family_name(time.family),
        f"{time.instance_count:,}",
        f"{time.at_ceiling_s / 3600:,.1f}",
        format_ratio(time.measured_ratio),
    )
