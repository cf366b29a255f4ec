"""Reports in one screen, as people see them: every example, every made-up case, every verdict."""

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from rich.cells import cell_len

import inspections
import plans
import situations
from golden import test_comparisons
from golden.test_examples import EXAMPLES, of
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.render import BriefKind, Report, render_brief
from plimsoll.model.ceiling import Family
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.diagnosis.brief import diagnosis_brief
from plimsoll.reports.render.brief import LINES_MAX, brief_text
from unit.reports.diagnosis import test_waiting
from unit.reports.fixture_diagnosis import CASES
from unit.reports.fixture_parts import DAY


def lasting() -> Diagnosis:
    """A limit that was reached when the data ended."""
    found, _ = CASES["pressed"]()
    return replace(found, window_s=(found.window_s[0], DAY[1]))


def judged(verdict: Verdict) -> Diagnosis:
    """A diagnosis without an interval, of which the CPU has the heaviest verdict."""
    found, _ = CASES["quiet"]()
    resources = tuple(
        replace(r, verdict=verdict, peak=0.93, minutes_above_80=75.0) if r.family is Family.CPU else r
        for r in found.resources
    )
    return replace(found, verdict=verdict, resources=resources)


DIAGNOSES: dict[str, Callable[[], Diagnosis]] = {
    **{name: lambda name=name: of(name) for name in EXAMPLES},
    **{name: lambda case=case: case()[0] for name, case in CASES.items()},
    "waiting": lambda: test_waiting.FOUND,
    "calm": lambda: test_waiting.CALM,
    "lasting": lasting,
    "near": lambda: judged(Verdict.NEAR),
    "cpu": lambda: judged(Verdict.BINDS),
}
OTHERS: dict[str, Callable[[], BriefKind]] = {
    "plan-claims": plans.claims,
    "plan-quiet": plans.quiet,
    "plan-nothing": plans.nothing,
    "inspect-pooled": inspections.pooled,
    "inspect-quiet": inspections.quiet,
    "inspect-blind": inspections.blind,
    "inspect-one": inspections.inspection,
    **{f"compare-{n}": lambda n=n: test_comparisons.of(n) for n in test_comparisons.CASES},
}
WIDTHS = (40, 60, 80, 120)


def text_of(name: str, width: int = 80) -> str:
    """The brief report of a case, without colour."""
    if name in DIAGNOSES:
        return brief_text(diagnosis_brief(DIAGNOSES[name]()), width=width, color=False)
    return render_brief(OTHERS[name](), width=width)


def fits(text: str, width: int) -> bool:
    """Whether a text is a brief report: few lines, none too wide."""
    lines = text.splitlines()
    return len(lines) <= LINES_MAX and all(cell_len(line) <= width for line in lines)


@pytest.mark.parametrize("name", [*DIAGNOSES, *OTHERS])
def test_it_reads_as_reviewed(name: str, golden: Callable[[str, str], None]):
    """At 80 columns a brief report is what was reviewed."""
    golden(f"brief/{name}.txt", text_of(name))


@pytest.mark.parametrize(("name", "width"), [*product([*DIAGNOSES, *OTHERS], WIDTHS)])
def test_it_fits_one_screen(name: str, width: int):
    """At most twelve lines, none wider than asked."""
    assert fits(text_of(name, width), width), text_of(name, width)


@settings(max_examples=30)
@given(situations.windows())
def test_any_window_fits_one_screen(window: situations.Window):
    """Whatever was measured, of whichever class, the brief report keeps to twelve lines of 80."""
    report: Snapshot = window.snapshot
    found = Report(diagnosis=diagnose_snapshot(report), snapshot=report)
    text = render_brief(found, width=80)

    assert fits(text, 80), text
    assert text.splitlines()[0][0] in "▲◆●○"
