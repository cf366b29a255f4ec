"""What holds for every report: in a terminal its width and colour, in a ticket its tables, on a page its markup."""

import re
from collections.abc import Callable
from functools import cache
from itertools import product

import pytest
from rich.cells import cell_len

import experiments
import failover_reports
import inspections
import plans
import pooled_reports
from pages import PageReader
from plimsoll.app.render import Report, render
from plimsoll.diagnosis.comparison.compare import compare
from plimsoll.model.cause import Inspection
from plimsoll.reports.chart.drawing import vega_script
from plimsoll_lab.reports.drawn import drawn, drawn_sweeps
from rehearsals import rehearsal
from unit.reports.fixture_diagnosis import CASES, pressed, quiet, unknown
from unit.reports.fixture_fleet import fleet
from unit.reports.fixture_sheet import sheet
from unit.reports.fixture_sweep import report as sweep
from unit.reports.fixture_toast import case, proof, sample

# The reports, and the width below which nothing is promised.
REPORTS: dict[str, tuple[int, Callable[[], object]]] = {
    **{
        f"diagnosis {name}": (40, lambda made=made: Report(**dict(zip(("diagnosis", "snapshot"), made(), strict=True))))
        for name, made in CASES.items()
    },
    **{f"plan {name}": (40, made) for name, made in plans.PLANS.items()},
    **{f"inspection {name}": (40, made) for name, made in inspections.INSPECTIONS.items()},
    "comparison": (60, lambda: compare(*pressed(), *quiet())),
    "comparison the other way": (60, lambda: compare(*quiet(), *pressed())),
    "comparison of nothing new": (60, lambda: compare(*pressed(), *pressed())),
    "comparison with an unknown side": (60, lambda: compare(*unknown(), *quiet())),
    "fleet": (60, fleet),
    "limits": (60, sheet),
    "sweep": (60, lambda: drawn_sweeps((sweep(), sweep()))),
    "rehearsal": (60, rehearsal),
    "toast proof": (60, lambda: proof(case(), sample=(sample(),))),
    "failovers": (60, lambda: drawn(failover_reports.report())),
    "pooled cluster": (60, lambda: drawn(pooled_reports.report())),
    "experiment": (60, lambda: drawn(experiments.experiment())),
}
WIDTHS = (40, 60, 61, 72, 76, 80, 99, 100, 120, 200)


def commands_of(report: object) -> set[str]:
    """Every line of a command, which is as long as it is."""
    found = report.causes if isinstance(report, Inspection) else ()
    commands = [c for cause in found for remedy in cause.remedies for c in remedy.commands]
    return {line.strip() for command in commands for line in command.strip().splitlines()}


def bare(text: str) -> str:
    """A text without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("name", REPORTS)
def test_no_line_is_wider_than_asked_but_a_command(name: str):
    """Every line fits, with colour and without."""
    least, made = REPORTS[name]
    report = made()
    whole = commands_of(report)
    widest = {
        (width, color): max(
            cell_len(line)
            for line in bare(render(report, "text", width=width, color=color)).splitlines()
            if line.strip() not in whole
        )
        for width, color in product(WIDTHS, (False, True))
        if width >= least
    }

    assert {} == {at: cells for at, cells in widest.items() if cells > at[0]}


@pytest.mark.parametrize("name", REPORTS)
def test_colour_adds_nothing_but_colour(name: str):
    """A pipe gets no escape sequence; with colour the text is the same."""
    report = REPORTS[name][1]()
    plain, colored = (render(report, "text", width=80, color=color) for color in (False, True))

    assert "\x1b" not in plain
    assert "\x1b" in colored
    assert plain == "\n".join(line.rstrip() for line in bare(colored).split("\n"))


@cache
def page(name: str) -> str:
    """A report as a page, without the bundled library, which is not ours to hold."""
    return render(REPORTS[name][1](), "html").replace(vega_script(), "")


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_is_well_formed(name: str):
    """Every tag is closed, ids are there once (but in equal drawings), headings start at one and skip no level."""
    found = PageReader(page(name))
    ids = [one for one in found.ids if not one.startswith("clip-")]
    steps = [b - a for a, b in zip(found.headings, found.headings[1:], strict=False)]

    assert ([], []) == (found.open, found.wrong)
    assert len(set(ids)) == len(ids)
    assert 1 == found.headings.count(1) == found.headings[0]
    assert max(steps, default=0) <= 1


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_loads_nothing(name: str):
    """No reference leaves the page, no style imports, and the page forbids itself the network."""
    text = page(name)

    assert ["data:,"] == PageReader(text).leaving
    assert "default-src 'none'" in text
    assert "@import" not in text
    assert [] == re.findall(r"url\((?!#clip-[0-9a-f]{8}-\d+\))", text)


@pytest.mark.parametrize("name", REPORTS)
def test_every_colour_of_a_page_is_defined(name: str):
    """Each CSS variable that is used has a value."""
    text = page(name)
    style = text[text.index("<style>") : text.index("</style>")]

    assert [] == [used for used in set(re.findall(r"var\((--[a-z-]+)\)", text)) if f"{used}:" not in style]


@pytest.mark.parametrize("name", REPORTS)
def test_a_row_of_a_ticket_has_the_cells_of_its_head(name: str):
    """A bar in a cell would add a column; none does, and no row is short."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", render(REPORTS[name][1](), "markdown"), flags=re.DOTALL | re.MULTILINE)
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]

    assert [] == [rows for rows in tables if len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) > 1]


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_equal_reports_have_equal_forms(name: str, form: str):
    """Rendering again gives the same text: no clock, no dice, no counters."""
    made = REPORTS[name][1]

    assert render(made(), form) == render(made(), form)
