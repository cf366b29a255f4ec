import json
import sys
from pathlib import Path

import numpy as np
import pytest

from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.metric import METRICS, Metric
from programs import ran
from rival import machines
from rival.export import write
from rival.generate import INNOCENT_SHARE, PARTIAL, PRESSED, incident, kind_of
from rival.innocent import INNOCENT

RATES = {
    "throughput": (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S),
    "iops": (Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S),
}


def served(made, dimension):
    reads, writes = (made.snapshot.series[metric] for metric in RATES[dimension])
    return reads.time_s, reads.value + writes.value


@pytest.mark.parametrize("seed", [3, 11])
def test_equal_seeds_give_equal_incidents(seed):
    """The same seed gives the same snapshot and the same truth."""
    first, again = incident(seed), incident(seed)

    assert first.snapshot == again.snapshot
    assert first.intervals == again.intervals
    np.testing.assert_array_equal(first.throttled, again.throttled)


def test_different_seeds_give_different_incidents():
    """Another seed of the same kind is another incident."""
    assert incident(1, "quiet").snapshot != incident(2, "quiet").snapshot


@pytest.mark.parametrize("kind", [*sorted(INNOCENT), "microbursts"])
def test_the_innocent_were_never_throttled(kind):
    """A kind without a ceiling has no second in which a bound did; bursts of seconds throttle parts of minutes only."""
    made = incident(5, kind)

    assert made.intervals == ()
    assert (np.nanmax(made.throttled) > 0) == (kind == "microbursts")
    assert np.nanmax(made.throttled) < 0.8


@pytest.mark.parametrize("kind", sorted(PRESSED))
def test_truth_agrees_with_what_was_measured(kind):
    """In every true interval the samples are throttled, and the served rate is at the level."""
    made = incident(7, kind)

    assert made.intervals
    for interval in made.intervals:
        time_s, value = served(made, interval.dimension)
        inside = (time_s >= interval.start_s) & (time_s < interval.end_s)
        grid = (made.time_s >= interval.start_s) & (made.time_s < interval.end_s)
        assert interval.end_s - interval.start_s >= 600
        assert np.nanmin(made.throttled[grid]) >= 0.8
        # The root volume's I/O and measurement errors may separate them by about a per cent.
        assert np.median(value[inside]) == pytest.approx(interval.level, rel=0.02)


@pytest.mark.parametrize("kind", sorted(PRESSED))
def test_named_levels_are_documented_and_unknown_ones_are_not(kind):
    """A family is named if and only if a document names the level for this class and store."""
    made = incident(9, kind)
    instance = made.snapshot.instance
    storage = instance.storage
    throughput = storage.provisioned_bytes_per_s
    disk = machines.Disk(
        storage.kind,
        int(storage.size_gib),
        instance.engine,
        None if storage.provisioned_ops_per_s is None else int(storage.provisioned_ops_per_s),
        None if throughput is None else round(throughput / machines.MIB),
    )
    known = machines.documented(instance.db_class, disk)

    for interval in made.intervals:
        nearest = min(abs(interval.level / value - 1) for value in known[interval.dimension])
        assert Family(interval.family)
        assert Phase(interval.phase)
        assert (nearest > 0.02) == (interval.family == "unknown")


@pytest.mark.parametrize("seed", range(0, 24, 3))
def test_samples_lie_on_the_grid_and_missing_ones_are_nan(seed):
    """Rates lie on the incident's grid, and truth is NaN exactly where they are missing."""
    made = incident(seed)
    measured = made.snapshot.series[Metric.READ_BYTES_PER_S].time_s

    assert made.snapshot.is_simulated
    np.testing.assert_array_equal(np.diff(made.time_s), made.step_s)
    np.testing.assert_array_equal(made.time_s[~np.isnan(made.throttled)], measured)


def test_balances_are_whole_per_cents_and_only_where_credits_exist():
    """A class without credits has no balance metric; the others show per cents."""
    fixed = incident(4, "instance_throughput_fixed").snapshot.series
    falling = incident(4, "limiter_near_a_limit").snapshot.series[Metric.BYTE_BALANCE_RATIO]

    assert Metric.BYTE_BALANCE_RATIO not in fixed
    assert Metric.IO_BALANCE_RATIO not in fixed
    np.testing.assert_allclose(falling.value * 1000, np.round(falling.value * 1000), atol=1e-6)


def test_at_least_two_fifths_have_no_ceiling_and_every_kind_occurs():
    """Of many seeds at least 40 % are of an innocent kind, and none of the kinds is forgotten."""
    kinds = [kind_of(seed) for seed in range(3000)]
    innocent = sum(kind in INNOCENT for kind in kinds) / len(kinds)

    assert INNOCENT_SHARE >= 0.4
    assert innocent >= 0.4
    assert set(kinds) == set(INNOCENT) | set(PRESSED) | set(PARTIAL)


def test_export_holds_the_snapshot_newest_first(tmp_path):
    """The folder has the snapshot's content, in CloudWatch's names, units and order."""
    made = incident(2, "gp3_iops")
    write(made, tmp_path)
    results = json.loads((tmp_path / "get-metric-data.json").read_text())["MetricDataResults"]
    described = json.loads((tmp_path / "describe-db-instances.json").read_text())
    truth = json.loads((tmp_path / "truth.json").read_text())

    labels = {result["Label"] for result in results}
    assert labels == {METRICS[metric].cloudwatch for metric in made.snapshot.series}
    for result in results:
        assert result["Timestamps"] == sorted(result["Timestamps"], reverse=True)
        assert len(result["Timestamps"]) == len(result["Values"])
    assert described["DBInstances"][0]["DBInstanceClass"] == made.snapshot.instance.db_class
    assert len(truth["throttled"]) == made.time_s.size
    assert len(truth["intervals"]) == len(made.intervals)


def test_the_command_writes_one_folder_per_seed(tmp_path):
    """`python -m rival.generate` writes the requested number of folders."""
    bench = Path(machines.__file__).parents[1]
    done = ran([sys.executable, "-m", "rival.generate", "--count", "2", "--out", str(tmp_path)], cwd=bench)

    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.iterdir())) == 2
