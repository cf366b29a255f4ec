"""What a report says: the verdict's sentence, what is shown and in which order."""

import msgspec

from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import Finding, Missing, Verdict
from plimsoll.model.now import intervals_at
from plimsoll.reports.diagnosis.headline import headline
from plimsoll.reports.diagnosis.outline import outline
from unit.reports.fixture_diagnosis import pressed, quiet, unknown
from unit.reports.fixture_parts import (
    CPU,
    LEGACY_BASELINE,
    LEGACY_BURST,
    VOLUME_THROUGHPUT,
    interval,
    resource,
)


def changed(diagnosis, **fields):
    """The diagnosis with other fields."""
    return msgspec.structs.replace(diagnosis, **fields)


def test_a_documented_ceiling_is_reported_with_its_phase():
    """Family, documented number, phase, time at it, window."""
    assert headline(pressed()[0]) == (
        "search-primary (db.r5.2xlarge) was up against its instance EBS throughput: 212.5 MB/s "
        "(legacy baseline) for 9 h 12 min of 24 h, until 2021-03-08 19:00 (5 h before the end)."
    )


def test_what_lasts_to_the_end_of_the_window_is_so_and_dated():
    """*Is* stands for what still binds at the end; the end has its date, for no file is read just then."""
    diagnosis, _ = pressed()
    last = max(intervals_at(diagnosis, diagnosis.binding), key=lambda i: i.end_s)
    still = changed(last, end_s=diagnosis.window_s[1])
    others = tuple(i for i in diagnosis.intervals if i != last)

    assert (
        "is up against its instance EBS throughput: 212.5 MB/s (legacy baseline) for 9 h 12 min of "
        "24 h, and still at the end (2021-03-09 00:00)."
    ) in headline(changed(diagnosis, intervals=(*others, still))).replace(
        "since 2021-03-08 09:48 and", "and"
    )


def test_another_ceiling_at_the_end_is_reported_too():
    """What bound longest is over, and something else binds now."""
    diagnosis, _ = pressed()
    burst = next(t for t in diagnosis.time_at if t != diagnosis.binding)
    end = diagnosis.window_s[1]
    open_now = interval(end - 600, end, burst.ceiling, level=burst.level)

    assert "; at the end it is at its " in headline(
        changed(diagnosis, intervals=(*diagnosis.intervals, open_now))
    )


def test_a_limit_with_one_number_has_no_phase():
    """A fixed limit is reported without brackets, a volume's with the unit it is sold in."""
    diagnosis, _ = pressed()
    at = changed(
        diagnosis.binding,
        family=Family.VOLUME_THROUGHPUT,
        phase=Phase.FIXED,
        ceiling=VOLUME_THROUGHPUT,
    )

    assert (
        "up against its volume throughput: 2,097.2 MB/s (2,000 MiB/s) for 9 h 12 min of 24 h."
        in headline(changed(diagnosis, binding=at))
    )


def test_an_unknown_limit_is_reported_with_its_level():
    """Where no documented limit agrees, the measured level is what is known."""
    diagnosis, _ = pressed()
    at = changed(diagnosis.binding, family=Family.UNKNOWN, level=185e6, ceiling=None)
    by_iops = changed(at, dimension=Dimension.IOPS, level=3000.0)

    assert "was up against a throughput limit of unknown origin: 185 MB/s for" in headline(
        changed(diagnosis, binding=at)
    )
    assert "was up against an IOPS limit of unknown origin: 3,000 IOPS for" in headline(
        changed(diagnosis, binding=by_iops)
    )


def test_a_resource_that_is_not_storage_can_bind():
    """Without a binding storage ceiling, the resources that bind are named."""
    diagnosis, _ = quiet()
    cpu = resource(Family.CPU, Verdict.BINDS, "CPU", CPU, 1.0, 1.0, 0.9, 600.0)
    diagnosis = changed(diagnosis, verdict=Verdict.BINDS, resources=(cpu,))

    assert "was up against its CPU in 24 h." in headline(diagnosis)


def test_near_names_what_was_near():
    """The resources that came within a fifth of their ceilings are named."""
    diagnosis, _ = pressed()
    diagnosis = changed(diagnosis, verdict=Verdict.NEAR, binding=None, intervals=())

    assert "reached no limit in 24 h, but came near its instance EBS IOPS." in headline(diagnosis)


def test_slack_says_how_near_the_nearest_was():
    """The resource with the least room is named with its share."""
    assert headline(quiet()[0]) == (
        "search-primary (db.r5.2xlarge) was not up against any limit in 24 h; instance EBS "
        "IOPS came nearest, at 32 % of its ceiling."
    )


def test_slack_without_ceilings_claims_no_distance():
    """Where no ceiling is known, none is reported as near or far."""
    assert headline(changed(quiet()[0], resources=())).endswith("any limit in 24 h.")


def test_unknown_names_the_gaps():
    """The first three gaps are named, the rest counted; one gap is singular."""
    diagnosis, _ = unknown()
    one = changed(diagnosis, missing=diagnosis.missing[:1])

    assert headline(diagnosis).endswith(
        ": ReadThroughput, WriteThroughput, ReadIOPS and 2 more are missing."
    )
    assert headline(one).endswith(": ReadThroughput is missing.")
    assert headline(changed(diagnosis, missing=())).endswith("a limit in 1 h.")


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
        Finding(code=s, severity=s, title=f"{s}.", moves=(f"do {s}",))
        for s in ("note", "odd", "critical", "warning")
    )
    summary = outline(changed(pressed()[0], findings=findings))

    assert ["Critical.", "Warning.", "Note.", "Odd."] == [f.title for f in summary.findings]
    assert ("Do critical.",) == summary.moves


def test_equal_gaps_are_reported_once():
    """Metrics that hide the same and are mended the same way share a line."""
    gaps = tuple(Missing(name=n, hides="x", remedy="Do y.") for n in ("a", "b", "c"))
    summary = outline(changed(unknown()[0], missing=gaps))

    assert [("a, b and c", "Without them we do not know x. Do y.")] == [
        (f.name, f.value) for f in summary.missing
    ]


def test_intervals_are_listed_in_order_of_time():
    """The twelve longest are chosen by length and shown by time."""
    summary = outline(pressed()[0])

    assert 12 == len(summary.intervals)
    assert sorted(r.start_s for r in summary.intervals) == [r.start_s for r in summary.intervals]
    assert LEGACY_BASELINE.origin.source in summary.documented.source


def test_a_ceiling_says_for_how_long_it_was_documented():
    """Legacy numbers have two dates, present ones the first, others none."""
    rows = {r.name: r.valid for r in outline(pressed()[0]).ceilings}

    assert "2018-08-04 to 2019-12-04" == rows["instance EBS throughput, legacy baseline"]
    assert "since 2019-12-04" == rows["instance EBS throughput, baseline"]
    assert "" == rows["volume IOPS"]


def test_what_changes_the_reading_comes_before_the_evidence():
    """A context, and samples finer than the window's, are reported before what supports the claim."""
    evidence = outline(pressed()[0]).evidence

    assert "Context: storage optimisation after a change of storage." == evidence[0]
    assert "Seen in samples of 1 s; the whole window has samples of 1 min." == evidence[1]


def test_an_interval_has_its_remarks_in_its_row():
    """Context and finer step are next to the interval they are about, and next to no other."""
    summary = outline(pressed()[0])
    remarks = [r.remark for r in summary.intervals if r.remark]

    assert remarks == [
        "lazy loading after a restore",
        "storage optimisation after a change of storage; seen at 1 s",
    ]


def test_samples_of_the_step_of_the_window_are_not_remarked():
    """An interval seen in the window's own samples, or of no known step, says nothing of it."""
    diagnosis, _ = pressed()
    for step_s in (0, diagnosis.step_s, 300):
        pegged = tuple(changed(i, step_s=step_s, context="") for i in diagnosis.intervals)
        summary = outline(changed(diagnosis, intervals=pegged))

        assert {""} == {row.remark for row in summary.intervals}
        assert 5 == len(summary.evidence)


def test_what_was_ordered_is_reported():
    """Pending changes stand with the identity, what the provider's API says with the measurement."""
    summary = outline(pressed()[0])
    facts = {f.name: f.value for f in (*summary.identity, *summary.measured)}

    assert "class db.r5.4xlarge" == facts["Pending"]
    assert facts["EBS limits"] == (
        "287.5 MB/s, 593.75 MB/s in bursts; 12,000 IOPS, 18,750 IOPS in bursts "
        "(ec2:DescribeInstanceTypes of r5.2xlarge, 2026-04-12)"
    )
    assert not {"Pending", "EBS limits", "Capacity"} & {
        f.name for f in outline(unknown()[0]).identity
    }


def test_serverless_says_its_largest_capacity():
    """Aurora Serverless has no class that says how large it may grow."""
    diagnosis, _ = quiet()
    instance = changed(diagnosis.instance, capacity_acu_max=16.5)
    facts = {f.name: f.value for f in outline(changed(diagnosis, instance=instance)).identity}

    assert "at most 16.5 ACU" == facts["Capacity"]
