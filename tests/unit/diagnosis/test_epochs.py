"""What happened in the window: changes of class and storage, restores, and what only seconds show."""

import numpy as np
import pytest
from msgspec.structs import replace

import builders
from builders import HOUR, START_S
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.diagnosis.epochs import LAZY_S, epochs_of, loadings_of
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Annotation, EventKind

# db.t3.xlarge: 86.875 MB/s baseline, 347.5 burst; its gp2 volumes allow far more than the baseline.
T3 = Instance(
    identifier="orders",
    db_class="db.t3.xlarge",
    engine="postgres",
    storage=Storage(kind="gp2", size_gib=1000),
    launched_s=START_S - 86_400,
)
BASELINE = 86.875e6
# Below 400 GiB RDS for PostgreSQL has one gp3 volume of 125 MiB/s, without any credits.
GP3 = replace(T3, db_class="db.r5.24xlarge", storage=Storage(kind="gp3", size_gib=300))
VOLUME = 125 * 2**20
HOURS = 10


def event(kind, hour, text="it happened"):
    return Annotation(time_s=START_S + hour * 3600, text=text, kind=kind)


def pegged(level, *, annotations=(), instance=T3, from_hour=2, to_hour=5, seed=3):
    """Ten simulated hours, of which some are held at `level` with an empty balance."""
    rng = np.random.default_rng(seed)
    demand = 20e6 * builders.wander(rng, HOURS * HOUR, 0.3)
    demand[from_hour * HOUR : to_hour * HOUR] = 3 * level
    size = 16384 * builders.wander(rng, demand.size, 0.05)
    values = dict(builders.held_at(demand, level, rng=rng, size_bytes=size))
    balance = np.full(demand.size, 0.9)
    balance[from_hour * HOUR : to_hour * HOUR] = 0.0
    values[Metric.BYTE_BALANCE_RATIO] = balance
    return replace(builders.snapshot(values, instance=instance), annotations=tuple(annotations))


@pytest.mark.parametrize("annotations", [(), (event(EventKind.CLASS_CHANGE, 1),)])
def test_a_level_of_the_present_class_is_named(annotations):
    """Without any event, or after the change, the documented number explains the level."""
    found = diagnose(pegged(BASELINE, annotations=annotations), catalog())

    assert {Family.INSTANCE_EBS_THROUGHPUT} == {i.family for i in found.intervals}
    assert annotations or {""} == {i.context for i in found.intervals}


def test_a_level_before_the_class_was_changed_is_not_explained_by_the_present_class():
    """The event does not name the earlier class, so its limits are unknown, and that is reported."""
    found = diagnose(pegged(BASELINE, annotations=[event(EventKind.CLASS_CHANGE, 7)]), catalog())

    assert found.intervals
    assert {Family.UNKNOWN} == {i.family for i in found.intervals}
    assert any("instance class before 2021-03-08 07:00 UTC" == m.name for m in found.missing)
    assert {"before the class was changed at 2021-03-08 07:00 UTC"} == {i.context for i in found.intervals}
    assert "The event does not say" in found.findings[0].text
    assert any("--to, and give its --class" in move for move in found.findings[0].moves)
    # The peak before the change says nothing of the class there is now.
    throughput = next(r for r in found.resources if r.family == Family.INSTANCE_EBS_THROUGHPUT)
    assert throughput.peak < 0.9 * BASELINE
    assert Verdict.SLACK == throughput.verdict


def test_a_change_of_storage_takes_the_volumes_limits_only():
    """Each kind of change ends the limits of what it changed, and no others."""
    rows = (
        builders.ceiling(Family.INSTANCE_EBS_THROUGHPUT, Phase.BASELINE, BASELINE),
        builders.ceiling(Family.VOLUME_THROUGHPUT, Phase.FIXED, 250e6),
    )
    window = (START_S, START_S + 10 * 3600)
    epochs = epochs_of((event(EventKind.STORAGE_CHANGE, 6), event(EventKind.CLASS_CHANGE, 3)), rows, window)

    assert [2, 1, 0] == [len(e.ceilings) for e in reversed(epochs)]
    assert [(e.start_s, e.end_s) for e in epochs] == [
        (START_S, START_S + 3 * 3600),
        (START_S + 3 * 3600, START_S + 6 * 3600),
        (START_S + 6 * 3600, START_S + 10 * 3600),
    ]


@pytest.mark.parametrize("hour", [-5, 10, 20])
def test_a_change_outside_the_window_ends_no_epoch(hour):
    window = (START_S, START_S + 10 * 3600)

    assert 1 == len(epochs_of((event(EventKind.CLASS_CHANGE, hour),), (), window))


def test_findings_in_the_hours_after_a_restore_are_labelled():
    """The label stands in the intervals, in the finding, and in a finding of its own."""
    found = diagnose(pegged(40e6, annotations=[event(EventKind.RESTORE, 1)]), catalog())
    bound = [f for f in found.findings if f.severity == "critical"]

    assert found.intervals
    assert all("lazy loading after the restore" in i.context for i in found.intervals)
    assert all("lazy loading" in f.title for f in bound)
    assert ["StorageLazyLoading"] == [f.code for f in bound]
    assert "StorageLazyLoading" in {f.code for f in found.findings if f.severity == "note"}
    assert any("pg_prewarm" in move for move in bound[0].moves)


def test_findings_long_after_a_restore_are_not_labelled():
    """The hours after a restore end."""
    found = diagnose(pegged(40e6, annotations=[event(EventKind.RESTORE, -30)]), catalog())

    assert found.intervals
    assert {""} == {i.context for i in found.intervals}
    assert "StorageLazyLoading" not in {f.code for f in found.findings}


def test_a_large_volume_loads_for_as_long_as_reading_it_takes():
    """64 TiB at 86.875 MB/s are nine days."""
    large = replace(T3, storage=Storage(kind="gp2", size_gib=65_536))
    rows = (builders.ceiling(Family.INSTANCE_EBS_THROUGHPUT, Phase.BASELINE, BASELINE),)
    restore = (event(EventKind.RESTORE, 0),)
    small, long = (loadings_of(restore, i, rows)[0] for i in (T3, large))

    assert LAZY_S == small.end_s - small.start_s
    assert 65_536 * 2**30 / BASELINE == pytest.approx(long.end_s - long.start_s, abs=1)


def fine(level, *, share, seed=5):
    """Ten minutes of simulated seconds: each minute is at `level` for about `share` of it, else calm."""
    rng = np.random.default_rng(seed)
    count = 600
    held = np.repeat(60 * share * rng.uniform(0.5, 1.5, 10), 60)
    calm = 0.05 * level * builders.wander(rng, count, 0.3)
    demand = np.where(np.arange(count) % 60 < held, 3 * level, calm)
    size = 131_072 * builders.wander(rng, count, 0.05)
    return builders.held_at(demand, level, rng=rng, size_bytes=size)


def with_fine(*, share, level=VOLUME):
    """A calm simulated hour by averages of a minute, ten minutes of it also by seconds."""
    seconds = fine(level, share=share)
    usual = {}
    rng = np.random.default_rng(7)
    calm = builders.storage(0.05 * level * builders.wander(rng, 60, 0.3), size_bytes=131_072 * np.ones(60))
    for metric, value in calm.items():
        usual[metric] = value.copy()
        usual[metric][30:40] = seconds[metric].reshape(10, 60).mean(axis=1)
    made = builders.snapshot(usual, instance=GP3)
    times = START_S + 1800 + np.arange(600)
    return replace(
        made,
        fine={
            m: Series(metric=m, step_s=1, time_s=times, value=np.asarray(v, dtype=float)) for m, v in seconds.items()
        },
    )


def test_what_averages_hide_is_found_in_the_seconds():
    """Half of each minute at the ceiling is half of the ceiling on average."""
    made = with_fine(share=0.5)
    by_minutes = diagnose(replace(made, fine={}), catalog())
    by_seconds = diagnose(made, catalog())

    assert not by_minutes.intervals
    assert Verdict.BINDS == by_seconds.verdict
    assert {1} == {i.step_s for i in by_seconds.intervals}
    assert VOLUME == pytest.approx(by_seconds.intervals[0].level, rel=0.01)
    truth = made.fine[Metric.QUEUE_DEPTH].value
    truth = int((truth > 4 * np.median(truth[truth < np.median(truth)])).sum())
    assert truth == pytest.approx(sum(i.end_s - i.start_s for i in by_seconds.intervals), rel=0.2)
    assert "means of 60 s hide it" in by_seconds.findings[0].text.replace("1 min", "60 s")


def test_calm_seconds_accuse_nobody():
    assert not diagnose(with_fine(share=0.0), catalog()).intervals


def test_a_balance_that_must_exist_and_was_not_read_is_named():
    """A class that bursts has the metric; one that cannot burst has none, and nothing is missing."""
    rates = builders.storage(20e6 * np.ones(120))
    bursting = diagnose(builders.snapshot(rates, instance=T3), catalog())
    steady = diagnose(builders.snapshot(rates, instance=replace(T3, db_class="db.r5.24xlarge")), catalog())

    assert "EBSByteBalance%" in {m.name for m in bursting.missing}
    assert "EBSByteBalance%" not in {m.name for m in steady.missing}


def test_sessions_that_waited_for_io_are_evidence():
    """What the sessions did while throttled is next to what they did otherwise."""
    made = pegged(BASELINE)
    held = slice(2 * HOUR, 5 * HOUR)
    active, waiting = np.full(HOURS * HOUR, 2.0), np.full(HOURS * HOUR, 0.4)
    active[held], waiting[held] = 8.0, 6.5
    sessions = builders.snapshot({Metric.ACTIVE_SESSION_COUNT: active, Metric.IO_WAITING_SESSION_COUNT: waiting})
    found = diagnose(replace(made, series={**made.series, **sessions.series}), catalog())
    texts = [e.text for e in found.intervals[0].evidence if e.kind == "sessions"]

    assert 1 == len(texts)
    assert texts[0].startswith("6.5 of 8 active sessions waited for I/O")
