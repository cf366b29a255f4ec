"""What a report says: the verdict's sentence, what is shown and in which order."""

import msgspec

from plimsoll.model.diagnosis import Finding, Missing
from plimsoll.reports.diagnosis.outline import outline
from unit.reports.fixture_diagnosis import pressed, quiet, unknown
from unit.reports.fixture_parts import LEGACY_BURST, interval


def changed(diagnosis, **fields):
    """The diagnosis with other fields."""
    return msgspec.structs.replace(diagnosis, **fields)


def test_the_evidence_is_that_of_the_longest_interval_at_the_binding_ceiling():
    """A longer interval at another ceiling does not speak for the verdict."""
    diagnosis, _ = pressed()
    longer = interval(0, 10**6, LEGACY_BURST, level=4e8)
    summary = outline(changed(diagnosis, intervals=(longer, *diagnosis.intervals)))

    assert "2021-03-08 09:48 – 19:00" == summary.shown.when
    assert 5 == len(summary.evidence) - len(("context", "finer samples"))


def test_the_worst_finding_comes_first_and_gives_the_moves():
    """Findings are sorted by severity; a severity we do not know comes last."""
    findings = tuple(
        Finding(code=s, severity=s, title=f"{s}.", moves=(f"do {s}",)) for s in ("note", "odd", "critical", "warning")
    )
    summary = outline(changed(pressed()[0], findings=findings))

    assert ["Critical.", "Warning.", "Note.", "Odd."] == [f.title for f in summary.findings]
    assert ("Do critical.",) == summary.moves


def test_equal_gaps_are_reported_once():
    """Metrics that hide the same and are mended the same way share a line."""
    gaps = tuple(Missing(name=n, hides="x", remedy="Do y.") for n in ("a", "b", "c"))
    summary = outline(changed(unknown()[0], missing=gaps))

    assert [("a, b and c", "Without them we do not know x. Do y.")] == [(f.name, f.value) for f in summary.missing]


def test_samples_of_the_step_of_the_window_are_not_remarked():
    """An interval seen in the window's own samples, or of no known step, says nothing of it."""
    diagnosis, _ = pressed()
    for step_s in (0, diagnosis.step_s, 300):
        pegged = tuple(changed(i, step_s=step_s, context="") for i in diagnosis.intervals)
        summary = outline(changed(diagnosis, intervals=pegged))

        assert {""} == {row.remark for row in summary.intervals}
        assert 5 == len(summary.evidence)


def test_serverless_says_its_largest_capacity():
    """Aurora Serverless has no class that says how large it may grow."""
    diagnosis, _ = quiet()
    instance = changed(diagnosis.instance, capacity_acu_max=16.5)
    facts = {f.name: f.value for f in outline(changed(diagnosis, instance=instance)).identity}

    assert "at most 16.5 ACU" == facts["Capacity"]
