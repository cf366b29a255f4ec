"""What holds for every report in a terminal: its width, and that colour adds nothing but colour."""

import re
from collections.abc import Callable
from itertools import product

import pytest
from rich.cells import cell_len

import experiments
import failover_reports
import inspections
import plans
import pooled_reports
from plimsoll.app.render import Report, render
from plimsoll.diagnosis.comparison.compare import compare
from plimsoll.model.cause import Inspection
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
