"""The incident generator: reproducible, physically consistent, and scored as defined."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import score as score_command
from incidents import build, engine, export, machine, observe, scoring, signals
from incidents.scenario import Target, size_range
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot_file.codec import encode_snapshot
from plimsoll.sources.targets import one as target

N = 720  # an hour of 5-s steps


def serve_plain(*, open_ops=0.0, clients=0.0, think=0.0, ops=1e12, burst=None, credits_start=0.0):
    """Run the engine with one IOPS ceiling, flat latency of 1 ms, 8-KiB reads and no deviations."""
    base = np.array([1e15, ops, 1e15, 1e12, 1e15, 1e12])
    top = base.copy()
    capacity = np.zeros(6)
    if burst is not None:
        top[1], capacity[1] = burst, 1e12
    start = np.zeros(6)
    start[1] = credits_start
    one = np.ones(N)
    return engine.run(
        5.0,
        open_ops * one,
        clients * one,
        think * one,
        one,
        8192 * one,
        8192 * one,
        1e-3 * one,
        engine.LAW_FLAT,
        0.0,
        50 * one,
        0.0,
        0.0,
        base,
        top,
        capacity,
        start,
        np.ones((N, 6)),
        0.0,
        np.zeros(N),
    )


def test_open_loop_demand_above_the_ceiling_is_served_at_the_ceiling():
    """Demand is twice the ceiling: the ceiling is served, 50 requests wait, Little's law gives the latency."""
    served, latency, _, stage, phase, *_ = serve_plain(open_ops=2000, ops=1000)

    assert np.all(served == 1000)
    assert set(stage.tolist()) == {1}
    assert set(phase.tolist()) == {engine.FIXED}
    assert latency[10] == pytest.approx(50 / 1000)


def test_closed_loop_clients_obey_the_interactive_response_time_law():
    """N clients that think Z seconds: X = N/(R + Z) below the ceiling, R = N/X − Z at it."""
    free, _, _, stage, *_ = serve_plain(clients=10, think=0.009, ops=5000)
    held, latency, *_ = serve_plain(clients=10, think=0.009, ops=500)

    assert np.allclose(free, 10 / (0.001 + 0.009), rtol=1e-4)
    assert set(stage.tolist()) == {-1}
    assert np.all(held == 500)
    assert np.allclose(latency, 10 / 500 - 0.009)


def test_clients_and_steady_requests_share_a_ceiling_first_come_first_served():
    """300 of 500 ops/s are open-loop: ten clients share the other 200, so R = 10/200 − Z."""
    served, latency, *_ = serve_plain(open_ops=300, clients=10, think=0.02, ops=500)

    assert np.all(served == 500)
    assert np.allclose(latency, 10 / 200 - 0.02)


def test_credits_pay_for_what_is_above_the_baseline():
    """600,000 credits at 2,000 above a baseline of 1,000 last 300 s, then the baseline binds."""
    served, _, _, _, phase, *_ = serve_plain(open_ops=9000, ops=1000, burst=3000, credits_start=600_000)

    assert np.all(served[:60] == 3000)
    assert np.all(served[61:] == 1000)
    assert set(phase[:60].tolist()) == {engine.BURST}
    assert set(phase[61:].tolist()) == {engine.BASELINE}


def test_equal_seeds_give_equal_bytes(tmp_path):
    """Snapshot, truth and exported files are functions of the seed."""
    one, two = build.generate(77), build.generate(77)
    other = build.generate(78, family=one.family)

    assert encode_snapshot(one.snapshot) == encode_snapshot(two.snapshot)
    assert one.truth.intervals == two.truth.intervals
    assert encode_snapshot(one.snapshot) != encode_snapshot(other.snapshot)
    for name, incident in (("a", one), ("b", two)):
        export.write(incident, tmp_path / name)
    files = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*.*"))
    assert len(files) == 3
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@pytest.mark.parametrize("family", build.FAMILIES)
def test_every_family_is_what_it_says(family):
    """Without a ceiling nothing is throttled; with one something is; no rate exceeds the enforced one."""
    for seed in (1, 2):
        incident = build.generate(seed, family=family)
        truth, series = incident.truth, incident.snapshot.series

        if family in build.WITHOUT_CEILING:
            assert truth.is_clear
            assert truth.intervals == ()
        else:
            assert truth.fraction.max() > 0
            assert truth.intervals or family == "micro_bursts"
        for kind, metrics in (
            ("tput", (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S)),
            ("iops", (Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S)),
        ):
            stages = [stage for stage in machine.STAGES if stage.endswith(kind)]
            limit = min(incident.machine.nominal(stage)[1] for stage in stages)
            read, write = (series[m] for m in metrics)
            _, a, b = np.intersect1d(read.time_s, write.time_s, return_indices=True)
            # 0.3 % above nominal at most, and up to 2 % of measuring noise.
            assert np.max(read.value[a] + write.value[b]) <= limit * 1.003 * 1.02


def test_true_levels_lie_within_the_deviation_of_the_enforced_number():
    """A true level is 0.985–1.003 of a nominal number, but for slow drift of up to 0.3 %."""
    count = 0
    for seed in range(40, 70):
        incident = build.generate(seed)
        for interval in incident.truth.intervals:
            stages = [s for s in machine.STAGES if machine.is_bytes(s) == (interval.dimension == "throughput")]
            ratios = [interval.level / v for s in stages for v in incident.machine.nominal(s) if v > 0]
            assert any(0.982 <= ratio <= 1.006 for ratio in ratios)
            assert interval.end_s - interval.start_s >= 600
            assert interval.is_unknown == (interval.family == "unknown")
            count += 1
    assert count > 20


def test_legacy_instances_name_the_legacy_number():
    """An instance launched before its class was raised has true intervals of phase legacy."""
    incident = build.generate(3, family="legacy_limits")

    legacy = [i for i in incident.truth.intervals if i.phase == "legacy"]
    assert legacy
    assert {i.former_phase for i in legacy} <= {"baseline", "burst", "fixed"}
    assert incident.machine.row.kind == "legacy"


def test_unknown_limits_are_far_from_every_documented_number():
    """No documented number of the dimension lies within 4 % of an undocumented limit."""
    for seed in range(5):
        built = build.generate(seed, family="unknown_limit").machine
        stage, value = built.extra
        for level in built.levels:
            if machine.is_bytes(level.stage) == machine.is_bytes(stage):
                assert abs(np.log(level.value / value)) > machine.APART_LOG


def test_sizes_at_which_a_target_binds_leave_room_to_its_rivals():
    """At every size in the range the target's rate in operations is below all others."""
    rng = np.random.default_rng(5)
    aim = Target("inst_tput")
    drawn = machine.draw_machine(rng, accepts=lambda m: size_range(m, aim)[0] < 60_000)
    low, high = size_range(drawn, aim)

    for size in (low, high) if low < high else ():
        rate = drawn.nominal("inst_tput")[0] / size
        assert rate * 1.149 <= drawn.nominal("inst_iops")[0]
        assert rate * 1.149 <= drawn.nominal("vol_iops")[0]


@pytest.mark.parametrize(
    ("shift", "lost"),
    [
        ("missing_queue", {Metric.QUEUE_DEPTH}),
        ("missing_latency", {Metric.READ_LATENCY_S, Metric.WRITE_LATENCY_S}),
        ("missing_balances", {Metric.BYTE_BALANCE_RATIO, Metric.IO_BALANCE_RATIO}),
    ],
)
def test_a_missing_metric_changes_nothing_else(shift, lost):
    """The same seed without a metric: the other series and the truth are the same."""
    seed = 11
    plain = build.generate(seed, family="burst_exhausted_throughput")
    blind = build.generate(seed, family="burst_exhausted_throughput", shift=shift)

    assert not lost & blind.snapshot.series.keys()
    assert plain.truth.intervals == blind.truth.intervals
    for metric in plain.snapshot.series.keys() & blind.snapshot.series.keys():
        assert plain.snapshot.series[metric] == blind.snapshot.series[metric]


def test_other_shifts_do_what_they_say():
    """Five minutes everywhere; no class and no storage described; more noise around the same mean."""
    five = build.generate(12, family="gp3_iops", shift="five_minute")
    blind = build.generate(12, family="gp3_iops", shift="no_catalog")
    loud = build.generate(12, family="gp3_iops", shift="noise3")
    plain = build.generate(12, family="gp3_iops")

    assert {s.step_s for s in five.snapshot.series.values()} == {300}
    assert blind.snapshot.instance.db_class is None
    assert blind.snapshot.instance.storage.kind is None
    assert {i.family for i in blind.truth.intervals} == {"unknown"}
    assert loud.lens.noise_sd == pytest.approx(3 * plain.lens.noise_sd)


KNOWN = ("start_s", "end_s", "dimension", "level", "family", "phase", "former_phase")


def oracle(snapshot_of):
    """Return a diagnosis that knows the truth, in the form the scorer reads."""

    def diagnose(incident):
        found = [
            SimpleNamespace(
                **{name: getattr(i, name) for name in KNOWN}, level_low=0.99 * i.level, level_high=1.01 * i.level
            )
            for i in snapshot_of(incident).truth.intervals
        ]
        return SimpleNamespace(intervals=found)

    return diagnose


def test_a_diagnosis_that_knows_the_truth_scores_full_marks():
    """F1, family, phase and flags are 1, errors and accusations 0."""
    diagnose = oracle(lambda incident: incident)
    incidents = [build.generate(s, family=f) for s, f in enumerate(build.FAMILIES[:24:3])]
    incidents.append(build.generate(4, family="unknown_limit"))
    incidents.append(build.generate(4, family="flat_demand"))
    totals = scoring.Totals([scoring.score(i, diagnose(i)) for i in incidents])
    figures = totals.figures()

    for name in (
        "interval precision",
        "interval recall",
        "found",
        "right family",
        "right phase",
        "unknown flagged",
        "level covered",
    ):
        assert figures[name] == 1, name
    # Runs shorter than ten minutes are minutes at a ceiling but no true interval, and an interval
    # bridges a minute or two below the ceiling.
    assert figures["minute recall"] > 0.97
    assert figures["minute precision"] > 0.99
    assert figures["falsely accused"] == 0
    assert figures["level error p95"] == 0


def test_an_accusation_of_an_innocent_series_is_counted():
    """One interval in a series without ceiling accuses it, and its minutes are too many."""
    incident = build.generate(9, family="quiet_diurnal")
    start = int(incident.truth.time_s[0])
    accusation = SimpleNamespace(
        start_s=start,
        end_s=start + 3600,
        dimension="iops",
        level=1.0,
        level_low=1.0,
        level_high=1.0,
        family="unknown",
        phase="fixed",
        former_phase=None,
    )
    result = scoring.score(incident, SimpleNamespace(intervals=[accusation]))
    cpu = SimpleNamespace(**{**vars(accusation), "family": "cpu"})

    assert result.is_falsely_accused
    assert result.minutes[1] == pytest.approx(60, abs=5)
    assert not scoring.score(incident, SimpleNamespace(intervals=[cpu])).is_falsely_accused


def test_a_wrong_family_is_judged_on_the_interval_that_overlaps_most():
    """A right level with a wrong family is found, but not right."""
    incident = build.generate(4, family="gp3_iops")
    found = oracle(lambda i: i)(incident).intervals
    for interval in found:
        interval.family = "instance_ebs_iops"
    result = scoring.score(incident, SimpleNamespace(intervals=found))

    assert all(j.found is not None and not j.is_family_right for j in result.judged)
    assert "family" in result.faults


def test_exports_are_newest_first_and_in_cloudwatch_units(tmp_path):
    """get-metric-data order is descending; balances are percentages."""
    seed = next(s for s in range(50) if export.format_of(SimpleNamespace(family="long_vacuum", seed=s)) == "json")
    incident = build.generate(seed, family="long_vacuum", shift="five_minute")
    folder = export.write(incident, tmp_path)
    results = json.loads((folder / "metrics.json").read_text())["MetricDataResults"]
    described = json.loads((folder / "instance.json").read_text())["DBInstances"][0]

    for result in results:
        assert result["Timestamps"] == sorted(result["Timestamps"], reverse=True)
        assert len(result["Timestamps"]) == len(result["Values"])
    cpu = [r for r in results if r["Label"] == "CPUUtilization"]
    if cpu:
        assert max(cpu[0]["Values"]) > 1
    assert described["DBInstanceClass"] == incident.machine.db_class


def accuse_nothing(_snapshot):
    """Return a diagnosis without intervals."""
    return SimpleNamespace(intervals=())


def test_the_command_says_which_seeds_it_uses(capsys, monkeypatch):
    """Seeds below a million are for tuning; promises broken by an empty diagnosis exit with 1."""
    monkeypatch.setattr(score_command, "diagnose_of", lambda _name: accuse_nothing)
    status = score_command.main(["--count", "4", "--seed", "1", "--only", "gp3_iops"])
    shown = capsys.readouterr().out

    assert status == 1
    assert "tuning" in shown
    assert "gp3_iops" in shown
    assert score_command.seed_kind(score_command.EVALUATION_FROM + 5) == "evaluation"


def test_a_crash_of_the_diagnosis_is_a_failing_series(monkeypatch):
    """An exception is scored as a diagnosis without intervals and shown among the faults."""

    def crash(_snapshot):
        raise ValueError("no such thing")

    _, _, result = score_command.examine(3, family="gp3_iops", shift=None, diagnose=crash)

    assert "no such thing" in result.error
    assert result.faults[0] == result.error


def test_slow_noise_has_the_asked_for_spread():
    """Stationary noise keeps its standard deviation whatever its memory."""
    rng = np.random.default_rng(3)
    values = signals.slow(rng, 500_000, 0.2, 600)

    assert np.std(values) == pytest.approx(0.2, rel=0.1)


def test_minutes_are_means_of_their_steps():
    """A minute holds twelve steps of five seconds."""
    assert observe.minute_mean(np.arange(24.0)).tolist() == [5.5, 17.5]


@pytest.mark.parametrize("form", ["json", "csv-long", "csv-wide"])
def test_exports_read_back_as_the_snapshot_they_came_from(form, tmp_path, monkeypatch):
    """Every series and the instance survive the way through files and the product's own reader."""
    monkeypatch.setattr(export, "format_of", lambda _incident: form)
    incident = build.generate(21, family="gp2_burst")
    back = target.read(export.write(incident, tmp_path))

    assert back.instance == incident.snapshot.instance
    assert back.series.keys() == incident.snapshot.series.keys()
    for metric, series in incident.snapshot.series.items():
        assert np.array_equal(back.series[metric].time_s, series.time_s)
        assert np.allclose(back.series[metric].value, series.value, rtol=1e-9)
