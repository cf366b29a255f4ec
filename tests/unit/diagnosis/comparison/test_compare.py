"""Two windows side by side: what differs, what is not known, and what is not like with like."""

import numpy as np
import pytest
from msgspec.structs import replace

import builders
from builders import START_S
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.comparison.compare import compare
from plimsoll.diagnosis.comparison.measures import weighted_quantile
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.comparison import Comparison, LimitsOutcome, MeasuredQuantity, Quantity, WindowStatistic
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Annotation, EventKind, Gap, Snapshot
from plimsoll.units import KIB, format_clock

DAY_S, HOUR_S = 86_400, 3600
GP2 = Storage(kind="gp2", size_gib=1200.0)
GP3 = Storage(kind="gp3", size_gib=1200.0)
T3 = Instance(identifier="claims", db_class="db.t3.xlarge", engine="postgres", storage=GP2)
M6G = replace(T3, db_class="db.m6g.xlarge")
BASELINE = 86.875e6


def calm(hours=24, *, start_s=START_S, instance=T3, rate=20e6, latency_s=0.001, step_s=60):
    """A snapshot of steady light work, to which nothing is a limit."""
    rng = np.random.default_rng(7)
    served = rate * builders.wander(rng, hours * HOUR_S // step_s, 0.2)
    return builders.snapshot(
        builders.storage(served, latency_s=latency_s), instance=instance, start_s=start_s, step_s=step_s
    )


def pressed(hours=24, *, start_s=START_S, instance=T3, busy_share=1.0):
    """A snapshot whose middle third asks for more than its baseline, or a part of that third."""
    rng = np.random.default_rng(8)
    demand = builders.working_day(rng, 0.3 * BASELINE, 3 * BASELINE, hours=hours)
    third = demand.size // 3
    demand[third + int(third * busy_share) : 2 * third] = 0.3 * BASELINE
    served = builders.held_at(demand, BASELINE, rng=rng, waiting=20)
    served[Metric.BYTE_BALANCE_RATIO] = np.where(demand > BASELINE, 0.0, 0.5)
    return builders.snapshot(served, instance=instance, start_s=start_s)


def compared(before: Snapshot, after: Snapshot) -> Comparison:
    """The comparison of two snapshots against the catalog."""
    facts = catalog()
    return compare(diagnose(before, facts), before, diagnose(after, facts), after)


def number(comparison: Comparison, subject: MeasuredQuantity, statistic: WindowStatistic) -> Quantity:
    """One quantity of a comparison."""
    return next(q for q in comparison.quantities if (q.subject, q.statistic) == (subject, statistic))


def gap(metric: str) -> Gap:
    """What is missing without a reported reason."""
    return Gap(metric=metric, reason="not measured", remedy="")


def kinds(comparison: Comparison) -> list[str]:
    """What the caveats are about."""
    return [caveat.kind for caveat in comparison.caveats]


LATER_S = START_S + 7 * DAY_S


def test_a_ceiling_that_is_gone_is_better():
    """From binding to slack is better, and the time at the ceiling is reported on both sides."""
    found = compared(pressed(), calm(start_s=LATER_S, instance=replace(M6G, storage=GP3)))
    (at,) = [t for t in found.time_at if t.phase is Phase.BASELINE]

    assert LimitsOutcome.BETTER is found.outcome
    assert (Verdict.BINDS, Verdict.SLACK) == (found.before.diagnosis.verdict, found.after.diagnosis.verdict)
    assert at.before_s == pytest.approx(8 * HOUR_S, rel=0.1)
    assert (0.0, BASELINE, None) == (at.after_s, at.level_before, at.level_after)
    assert 0.0 == found.after.at_ceiling_s
    # Engine, size and name do not differ and are not named.
    assert [("db_class", "db.t3.xlarge", "db.m6g.xlarge"), ("storage.kind", "gp2", "gp3")] == [
        (b.name, b.before, b.after) for b in found.bought
    ]


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        # From slack to binding.
        (calm(), pressed(start_s=LATER_S), LimitsOutcome.WORSE),
        # Half the time at a ceiling is better than all of it, and the other way round worse.
        (pressed(), pressed(start_s=LATER_S, busy_share=0.5), LimitsOutcome.BETTER),
        (pressed(start_s=LATER_S, busy_share=0.5), pressed(), LimitsOutcome.WORSE),
        # Shares of the time within two percent of the window are the same.
        (pressed(), pressed(start_s=LATER_S, busy_share=0.97), LimitsOutcome.SAME),
    ],
    ids=["new", "half", "twice", "some minutes"],
)
def test_the_share_of_time_at_ceilings_decides(before, after, outcome):
    """Some minutes more or less are no difference."""
    found = compared(before, after)

    assert found.before.at_ceiling_s != found.after.at_ceiling_s
    assert outcome is found.outcome


def test_some_minutes_of_a_short_window_are_no_difference():
    """The ends of an interval are known to a minute, so 10 minutes of 25 are no better than 11."""

    def short(minutes: int, start_s: int) -> Snapshot:
        rng = np.random.default_rng(8)
        demand = np.full(25, 0.3 * BASELINE) * builders.wander(rng, 25, 0.1)
        demand[8 : 8 + minutes] = 3 * BASELINE
        served = builders.held_at(demand, BASELINE, rng=rng, waiting=20)
        served[Metric.BYTE_BALANCE_RATIO] = np.zeros(25)
        return builders.snapshot(served, instance=T3, start_s=start_s)

    eleven, ten, eight = short(11, START_S), short(10, LATER_S), short(8, LATER_S)

    assert LimitsOutcome.SAME is compared(eleven, ten).outcome
    assert LimitsOutcome.BETTER is compared(eleven, eight).outcome


def test_what_was_not_judged_makes_the_outcome_unknown():
    """Without storage metrics on one side nothing is reported about better or worse, and no time is zero."""
    blind = builders.snapshot({Metric.CPU_RATIO: np.full(60, 0.3)}, instance=T3)
    found = compared(pressed(), blind)

    assert LimitsOutcome.UNKNOWN is found.outcome
    assert found.after.at_ceiling_s is None
    assert found.after.at_ceiling_share is None
    assert {None} == {at.after_s for at in found.time_at}


def test_what_can_be_sustained_forever_is_compared_across_storage_types():
    """The baseline of a gp2 volume is next to the fixed number of gp3; its burst has no partner."""
    found = compared(calm(), calm(start_s=LATER_S, instance=replace(T3, storage=GP3)))
    rows = {c.phase: c for c in found.ceilings if c.family is Family.VOLUME_IOPS}
    held, burst = rows[Phase.BASELINE], rows[Phase.BURST]

    assert (3600.0, 12_000.0) == (held.before.value, held.after.value)
    assert burst.after is None
    assert Phase.FIXED not in rows


def test_a_legacy_limit_is_listed_where_it_was_reached():
    """Legacy numbers of a class are many; only one that a side was at is compared."""
    old = Instance(
        identifier="old", db_class="db.r5.2xlarge", engine="postgres",
        storage=Storage(kind="gp3", size_gib=3000.0), launched_s=START_S - 600 * DAY_S,
    )  # fmt: skip
    rng = np.random.default_rng(9)
    demand = builders.working_day(rng, 60e6, 500e6, hours=24)
    empty = {Metric.BYTE_BALANCE_RATIO: np.where(demand > 212.5e6, 0.0, 0.6)}
    held = builders.snapshot(builders.held_at(demand, 212.5e6, rng=rng), empty, instance=old)
    after = calm(start_s=LATER_S, instance=old)
    legacy = [c for c in compared(held, after).ceilings if c.phase is Phase.LEGACY]

    assert [] == [c for c in compared(after, after).ceilings if c.phase is Phase.LEGACY]
    assert [212.5e6] == [c.before.value for c in legacy if c.before]


def test_means_of_latency_count_operations():
    """A minute with nine times the reads counts nine times; a minute without reads does not count."""
    reads = np.array([900.0, 100.0, 0.0, 0.0])
    values = {
        Metric.READ_BYTES_PER_S: reads * 16 * KIB,
        Metric.WRITE_BYTES_PER_S: np.ones(4),
        Metric.READ_OPS_PER_S: reads,
        Metric.WRITE_OPS_PER_S: np.ones(4),
        Metric.READ_LATENCY_S: np.array([0.010, 0.001, 0.0, 0.0]),
    }
    shot = builders.snapshot(values)
    found = compared(shot, shot)

    assert number(found, MeasuredQuantity.READ_LATENCY, WindowStatistic.MEAN).before == pytest.approx(0.0091)
    assert 0.001 == number(found, MeasuredQuantity.READ_LATENCY, WindowStatistic.MEDIAN).before


def test_the_mean_of_a_latency_is_unknown_without_operations():
    """What a latency is weighted by is named where it is missing; its median does not need it."""
    after = calm(start_s=LATER_S)
    series = {m: s for m, s in after.series.items() if m is not Metric.READ_OPS_PER_S}
    found = compared(calm(), replace(after, series=series))
    mean = number(found, MeasuredQuantity.READ_LATENCY, WindowStatistic.MEAN)

    assert mean.before is not None
    assert (None, (gap("ReadIOPS"),)) == (mean.after, mean.gaps_after)
    assert (None, None) == (mean.difference, mean.change_ratio)
    assert number(found, MeasuredQuantity.READ_LATENCY, WindowStatistic.MEDIAN).after is not None


def test_what_one_side_lacks_is_unknown_with_the_reason():
    """A gap that the source gave is the reason; without one it is not measured."""
    balance = builders.series(Metric.BYTE_BALANCE_RATIO, np.full(24 * 60, 0.05))
    before = builders.snapshot(*calm().series.values(), balance, instance=T3)
    result = Gap(metric="byte_balance_ratio", reason="access denied", remedy="Allow it.")
    after = replace(calm(start_s=LATER_S), gaps=(result,))
    found = compared(before, after)
    lowest = number(found, MeasuredQuantity.BYTE_BALANCE, WindowStatistic.LOWEST)

    assert (0.05, None) == (lowest.before, lowest.after)
    assert () == lowest.gaps_before
    assert (replace(result, metric="EBSByteBalance%"),) == lowest.gaps_after
    assert 1.0 == number(found, MeasuredQuantity.BYTE_BALANCE, WindowStatistic.BELOW_TENTH).before
    assert (gap("CPUUtilization"),) == number(found, MeasuredQuantity.CPU, WindowStatistic.MEAN).gaps_before


def test_a_total_is_unknown_without_one_direction():
    """Reads alone are no throughput: the other direction is never taken for nothing."""
    after = calm(start_s=LATER_S)
    series = {m: s for m, s in after.series.items() if m is not Metric.WRITE_BYTES_PER_S}
    found = compared(calm(), replace(after, series=series))
    total = number(found, MeasuredQuantity.THROUGHPUT, WindowStatistic.MEAN)

    assert (None, (gap("WriteThroughput"),)) == (total.after, total.gaps_after)
    assert number(found, MeasuredQuantity.READ_THROUGHPUT, WindowStatistic.MEAN).after is not None


def test_longer_samples_count_for_longer():
    """An hour kept as one sample weighs sixty times a minute."""
    hours = START_S + HOUR_S * np.arange(10)
    minutes = START_S + 10 * HOUR_S + 60 * np.arange(60)
    times = np.concatenate((hours, minutes))
    value = np.concatenate((np.full(10, 0.2), np.full(60, 0.9)))
    cpu = builders.timed(Metric.CPU_RATIO, times, value, step_s=60)
    shot = builders.snapshot(cpu)
    mean = number(compared(shot, shot), MeasuredQuantity.CPU, WindowStatistic.MEAN).before

    assert mean == pytest.approx((10 * 0.2 + 0.9) / 11)


def test_a_quantile_is_a_value_that_occurs():
    """Half of the weight lies at or below the median; equal weights make it the lower middle."""
    value, ones = np.array([4.0, 1.0, 3.0, 2.0]), np.ones(4)

    assert [1.0, 2.0, 4.0] == [weighted_quantile(value, ones, q) for q in (0.25, 0.5, 0.95)]
    assert 4.0 == weighted_quantile(value, np.array([9.0, 1.0, 1.0, 1.0]), 0.5)


def test_quantiles_are_those_of_their_name():
    """Of a hundred minutes that rise by one MB/s each: half lie below the median, 95 below P95, 99 below P99."""
    rising = compared(calm(), builders.snapshot(builders.storage(np.arange(1, 101) * 1e6)))
    wanted = (WindowStatistic.MEDIAN, WindowStatistic.P95, WindowStatistic.P99, WindowStatistic.PEAK)
    found = [number(rising, MeasuredQuantity.THROUGHPUT, statistic).after for statistic in wanted]

    assert [50e6, 95e6, 99e6, 100e6] == pytest.approx(found)


def test_other_hours_of_the_day_are_compared_by_those_both_cover():
    """From 0 to 18 o'clock against 12 to 24: the six hours between are compared once more."""
    first = calm(18)
    second = calm(12, start_s=LATER_S + 12 * HOUR_S, rate=40e6)
    found = compared(first, second)
    shared = found.shared_hours

    assert tuple(range(12, 18)) == shared.hours
    assert "hours" in kinds(found)
    assert any("12:00–18:00 UTC" in c.text for c in found.caveats)
    mean = next(q for q in shared.quantities if q.subject is MeasuredQuantity.THROUGHPUT)
    cut = first.series[Metric.READ_BYTES_PER_S].value[12 * 60 :]
    assert mean.before == pytest.approx(2 * cut.mean())


def test_an_hour_that_one_side_has_twice_counts_once():
    """Every shared hour of the day counts the same, however often a window went through it."""
    cpu = np.concatenate((np.full(120, 0.1), np.full(22 * 60, 0.5), np.full(60, 0.9)))
    before = builders.snapshot(*calm(25).series.values(), builders.series(Metric.CPU_RATIO, cpu), instance=T3)
    after = calm(2, start_s=LATER_S)
    shared = compared(before, after).shared_hours

    mean = next(q for q in shared.quantities if q.subject is MeasuredQuantity.CPU)
    # Midnight to one came twice, at 10 % and at 90 %; one to two o'clock once, at 10 %.
    assert (0, 1) == shared.hours
    assert mean.before == pytest.approx((0.5 + 0.1) / 2)


@pytest.mark.parametrize(
    ("hours", "after", "kind", "words"),
    [
        (24, calm(48, start_s=LATER_S), "length", ()),
        (24, calm(start_s=LATER_S, step_s=300), "step", ()),
        (24, calm(start_s=START_S + 6 * HOUR_S), "overlap", ()),
        (24, calm(start_s=START_S - 7 * DAY_S), "order", ()),
        (24, calm(start_s=LATER_S, instance=replace(T3, identifier="other")), "instances", ()),
        # Work may differ by day.
        (24, calm(start_s=START_S + 5 * DAY_S), "weekdays", ("Monday", "Saturday")),
        # A morning and an evening: nothing is compared again.
        (6, calm(6, start_s=LATER_S + 12 * HOUR_S), "hours", ("share no whole hour",)),
    ],
)
def test_what_is_not_alike_is_reported(hours, after, kind, words):
    """Length, step, overlap, order, another instance, other days and other hours each have their caveat."""
    found = compared(calm(hours), after)
    (text,) = [c.text for c in found.caveats if c.kind == kind]

    assert all(word in text for word in words)
    assert kind != "hours" or found.shared_hours is None


def test_holes_are_reported():
    """A window measured for half of its time says so, because shares are of what was measured."""
    whole = calm(start_s=LATER_S)
    kept = np.arange(24 * 60) % 120 < 60
    thin = builders.snapshot(
        *(builders.timed(m, s.time_s[kept], s.value[kept]) for m, s in whole.series.items()), instance=T3
    )
    (text,) = [c.text for c in compared(calm(), thin).caveats if c.kind == "gaps"]

    assert text.startswith("After")
    assert "12 h of" in text


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (pressed(), calm(start_s=LATER_S, rate=90e6, instance=M6G), "demand that had waited"),
        (pressed(), calm(start_s=LATER_S), "took less time, or there was less"),
        (pressed(), pressed(start_s=LATER_S), "Both windows were at a ceiling"),
        (calm(), pressed(start_s=LATER_S), "After was at a ceiling"),
    ],
)
def test_served_at_a_ceiling_is_not_demand(before, after, expected):
    """If a side was at a ceiling, the report first says what its served rate shows and does not show."""
    first = compared(before, after).caveats[0]

    assert "demand" == first.kind
    assert expected in first.text


def event(hours: float, kind: EventKind) -> Annotation:
    """Something that happened so many hours after the first window began."""
    return Annotation(time_s=int(START_S + hours * HOUR_S), text=kind.value, kind=kind)


CHANGES = tuple(event(7 * 24 + hour, EventKind.CLASS_CHANGE) for hour in (5, 6))


@pytest.mark.parametrize(
    ("events", "kind", "words"),
    [
        # The same hours a week later, measured whole, are like with like.
        ((), None, ""),
        # Storage that is still being loaded answers late; a restore of last week no longer matters.
        ((event(7 * 24 - 5, EventKind.RESTORE),), "loading", ""),
        ((event(3 * 24, EventKind.RESTORE),), None, ""),
        # A window that holds a change of class mixes two, however many events tell of it.
        (CHANGES, "change", f"changed at {format_clock(CHANGES[0].time_s)} UTC"),
    ],
    ids=["none", "restored", "long ago", "changed"],
)
def test_an_event_that_still_matters_is_reported_once(events, kind, words):
    """One shortly before the window, or in it."""
    found = compared(calm(), replace(calm(start_s=LATER_S, rate=25e6), annotations=events))

    assert ([kind] if kind else []) == kinds(found)
    assert all(words in caveat.text for caveat in found.caveats)
    assert found.shared_hours is None


def test_an_earlier_class_that_nobody_gave_is_asked_for():
    """Where the class was changed between the windows and the first one's is not known, the flag is named."""
    found = (event(30, EventKind.CLASS_CHANGE),)
    before = calm(instance=replace(T3, db_class=None))
    after = replace(calm(start_s=LATER_S), annotations=found)
    texts = [c.text for c in compared(before, after).caveats if c.kind == "change"]

    assert 1 == len(texts)
    assert "--class-a" in texts[0]


def test_time_at_two_ceilings_at_once_counts_once():
    """Intervals of throughput and of IOPS may overlap; the time at any ceiling is their union."""
    shot = pressed()
    diagnosis = diagnose(shot, catalog())
    first = diagnosis.intervals[0]
    twice = replace(diagnosis, intervals=(*diagnosis.intervals, first))

    assert (
        compare(diagnosis, shot, diagnosis, shot).before.at_ceiling_s
        == compare(twice, shot, twice, shot).before.at_ceiling_s
    )
