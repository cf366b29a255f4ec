"""What is printed of a diagnosis."""

import re
from os import terminal_size

import msgspec
import pytest

from plimsoll.app.render import Report, render
from plimsoll.model.diagnosis import Finding, Missing, Verdict
from plimsoll.reports.diagnosis.document import missing_facts, moves_of
from unit.reports.fixture_diagnosis import CASES, pressed, quiet, text_of, unknown
from unit.reports.fixture_parts import LEGACY_BURST, interval


def changed(diagnosis, **fields):
    """The diagnosis with other fields."""
    return msgspec.structs.replace(diagnosis, **fields)


def of_instance(found, **fields):
    """The text of a diagnosis of an instance with other fields."""
    diagnosis, shot = found
    return text_of(changed(diagnosis, instance=changed(diagnosis.instance, **fields)), shot, width=200)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("form", "ending"), [("text", "txt"), ("markdown", "md")])
def test_golden(case, form, ending, golden):
    """The report reads as it was last reviewed."""
    diagnosis, shot = CASES[case]()
    golden(f"reports/{case}.{ending}", render(Report(diagnosis=diagnosis, snapshot=shot), form, width=80))


def test_a_fact_that_looks_like_a_part_of_the_name_is_reported():
    """An engine or storage that only appears in the instance's name is not taken as given."""
    shown = of_instance(pressed(), identifier="postgres 11.9-us-east-1")

    assert "postgres 11.9 · io1" in shown
    assert " · us-east-1 · " in shown


def test_serverless_says_its_largest_capacity():
    """Aurora Serverless has no class that says how large it may grow."""
    assert " · capacity at most 16.5 ACU · " in of_instance(quiet(), capacity_acu_max=16.5)


def test_simulated_data_without_a_note_ends_there():
    """Without a note on how it was made, there is no separator."""
    diagnosis, shot = pressed()

    assert "SIMULATED DATA" in text_of(changed(diagnosis, note=""), shot).splitlines()


@pytest.mark.parametrize("verdict", Verdict)
def test_verdicts_are_words_and_signs(verdict):
    """Without colour each verdict is still distinguished by its word and its sign."""
    diagnosis, shot = quiet()
    resource = changed(diagnosis.resources[0], verdict=verdict)
    shown = text_of(changed(diagnosis, resources=(resource,)), shot)

    assert re.search(rf"[▲◆●○] {verdict.value}\b", shown, re.IGNORECASE)


def test_numbers_stay_with_their_units():
    """No line of a paragraph ends with a number whose unit begins the next one."""
    parted = re.compile(r"[0-9]\n\s*(?:MB/s|IOPS|ms|min|%|MiB/s|GiB)\b")

    assert [] == [w for w in range(60, 121) if parted.search(text_of(*pressed(), width=w))]


def test_nothing_measured_draws_nothing():
    """Without samples of storage there is no timeline, and no failure."""
    diagnosis, shot = unknown()

    assert "TIMELINE" not in text_of(diagnosis, changed(shot, series={}))


@pytest.mark.parametrize(("columns", "width"), [(80, 80), (400, 120)])
def test_the_width_is_that_of_the_terminal(columns, width, monkeypatch):
    """Without a width the terminal's is taken, and never more than 120."""
    size = terminal_size((columns, 24))
    monkeypatch.setattr("plimsoll.reports.render.terminal.get_terminal_size", lambda _=None: size)

    assert text_of(*pressed(), width=width) == text_of(*pressed(), width=None)


def test_the_evidence_is_that_of_the_longest_interval_at_the_binding_ceiling():
    """A longer interval at another ceiling does not speak for the verdict; a page says which one it is."""
    diagnosis, shot = pressed()
    longer = interval(0, 10**6, LEGACY_BURST, level=4e8)
    report = Report(diagnosis=changed(diagnosis, intervals=(longer, *diagnosis.intervals)), snapshot=shot)

    assert "Seen 2021-03-08 09:48 – 19:00 UTC" in render(report, "html").replace("\u00a0", " ")


def test_the_worst_finding_comes_first_and_gives_the_moves():
    """Findings are sorted by severity; a severity we do not know comes last."""
    diagnosis, shot = pressed()
    findings = tuple(
        Finding(code=s, severity=s, title=f"it is {s}", moves=(f"do {s}",))
        for s in ("note", "odd", "critical", "warning")
    )
    found = changed(diagnosis, findings=findings)
    shown = text_of(found, shot)

    assert ["critical", "warning", "note", "odd"] == re.findall(r"It is (\w+)", shown)
    assert ("Do critical.",) == moves_of(found)


def test_equal_gaps_are_reported_once():
    """Metrics that hide the same and have the same remedy share a line."""
    gaps = tuple(Missing(name=n, hides="x", remedy="Do y.") for n in ("a", "b", "c"))

    assert [("a, b and c", "Without them we do not know x. Do y.")] == [(f.name, f.value) for f in missing_facts(gaps)]


@pytest.mark.parametrize("step_s", [0, 60, 300])
def test_samples_of_the_step_of_the_window_are_not_remarked(step_s):
    """An interval seen in the window's own samples, or of no known step, says nothing of it."""
    diagnosis, shot = pressed()
    pegged = tuple(changed(i, step_s=step_s, context="") for i in diagnosis.intervals)
    shown = text_of(changed(diagnosis, intervals=pegged), shot)

    assert "seen in samples" not in shown.lower()
    assert "¹" not in shown
