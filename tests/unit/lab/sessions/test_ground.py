"""The diagnosis of simulated records, compared with what the law throttled in them."""

from calendar import timegm

import msgspec
import pytest

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.catalog.load import catalog
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import Diagnosis
from plimsoll_lab.gate.config import GateSetup, stages_of
from plimsoll_lab.gate.record import Bound, RecordLine, snapshot_of, truth_of
from plimsoll_lab.model.lab import GroundTruth
from plimsoll_lab.sessions.ground import compare_with_truth
from unit.lab.fixture_record import record, setup

IN_2019 = timegm((2019, 6, 1, 0, 0, 0))
SMALL, LARGE = 8192, 131_072
THROUGHPUT, IOPS = Family.INSTANCE_EBS_THROUGHPUT.value, Family.INSTANCE_EBS_IOPS.value
VOLUME_THROUGHPUT, VOLUME_IOPS = Family.VOLUME_THROUGHPUT.value, Family.VOLUME_IOPS.value


def compared(found: Diagnosis, lines: list[RecordLine], of: GateSetup) -> GroundTruth:
    return compare_with_truth(found, truth_of(lines), stages_of(of, catalog()), clock=of.clock)


def ground_of(of: GateSetup, **load: float) -> GroundTruth:
    lines = record(of, **load)
    return compared(diagnose_snapshot(snapshot_of(lines, of)), lines, of)


@pytest.mark.parametrize(
    ("of", "size_bytes", "name", "phase", "limit"),
    [
        (setup(balance=0.2), LARGE, THROUGHPUT, Phase.BASELINE, 86.875e6),
        (setup("db.m4.large", storage="gp3", size_gib=400), LARGE, THROUGHPUT, Phase.FIXED, 56.25e6),
        (setup("db.t3.medium", storage="gp3", size_gib=400, balance=0), SMALL, IOPS, Phase.BASELINE, 2000),
        (setup("db.m4.large", size_gib=100, balance=0.05), SMALL, VOLUME_IOPS, Phase.BASELINE, 300),
        (setup("db.m4.4xlarge", size_gib=100), LARGE, VOLUME_THROUGHPUT, Phase.FIXED, 128 * 2**20),
        (setup("db.m4.xlarge", storage="gp3", size_gib=100), SMALL, VOLUME_IOPS, Phase.FIXED, 3000),
        (
            setup("db.r5.2xlarge", storage="gp3", size_gib=400, balance=0, launched_s=IN_2019),
            LARGE,
            THROUGHPUT,
            Phase.BASELINE,
            212.5e6,
        ),
        (setup("db.m4.4xlarge", size_gib=400, balance=0), SMALL, VOLUME_IOPS, Phase.BASELINE, 1200),
    ],
)
def test_a_limit_that_acted_for_long_is_found_at_its_level(of, size_bytes, name, phase, limit):
    """Baselines, limits without credits, legacy ones and those of four volumes together."""
    ground = ground_of(of, size_bytes=size_bytes, seconds=30)
    first = ground.held[0]

    assert ground.is_right
    assert (name, phase, limit) == (first.name, first.phase, first.limit)
    assert first.is_found
    assert 0 == pytest.approx(first.level_error_ratio, abs=0.01)
    assert limit == pytest.approx(first.delivered, rel=0.01)


def test_a_limit_that_acted_too_briefly_is_listed_without_penalty():
    """Six emulated minutes of burst make no plateau; not finding it is right."""
    ground = ground_of(setup(balance=0.2), seconds=30)
    burst = ground.held[1]

    assert Phase.BURST == burst.phase
    assert not burst.is_long_enough
    assert not burst.is_found
    assert None is burst.level_error_ratio
    assert ground.is_right


def test_a_baseline_that_was_found_is_no_burst_that_was_found():
    """Both are of one family; each needs its own claim."""
    of = setup(balance=1.0)
    lines = record(of, seconds=50)
    whole = diagnose_snapshot(snapshot_of(lines, of))
    only = tuple(t for t in whole.time_at if t.phase is Phase.BASELINE)
    found = msgspec.structs.replace(whole, time_at=only)
    ground = compared(found, lines, of)

    assert 1 == len(only)
    assert [(Phase.BURST, False), (Phase.BASELINE, True)] == [(held.phase, held.is_found) for held in ground.held]
    assert not ground.is_right


def test_a_step_of_both_phases_is_counted_to_neither():
    """Credits that end within a second leave a second that is faster than the baseline."""
    baseline = ground_of(setup(balance=0.213), seconds=30).held[0]

    assert Phase.BASELINE == baseline.phase
    assert 86.875e6 == pytest.approx(baseline.delivered, rel=1e-6)


def test_a_limit_that_was_barely_touched_is_not_listed():
    """A queue that forms and dissolves within part of an emulated minute is no limit."""
    of = setup("db.m4.large", storage="gp3", size_gib=400)
    quiet = record(of, demand_ops_per_s=50)
    touched = Bound(0.4, Phase.FIXED)
    lines = [*quiet[:-1], msgspec.structs.replace(quiet[-1], binding={THROUGHPUT: touched})]
    ground = compared(diagnose_snapshot(snapshot_of(lines, of)), lines, of)

    assert {(THROUGHPUT, Phase.FIXED): 0.4} == truth_of(lines).bound_s()
    assert () == ground.held


def test_nothing_held_and_nothing_named_is_right():
    """A large class with little to do."""
    of = setup("db.r5.12xlarge", storage="io1", size_gib=400, iops=20_000)
    ground = ground_of(of, size_bytes=SMALL, demand_ops_per_s=1500)

    assert () == ground.held
    assert ground.is_right


def test_a_limit_that_was_missed_is_an_error_of_the_diagnosis():
    """A limit that acted for long must be named."""
    of = setup(balance=0.0)
    lines = record(of, seconds=30)
    diagnosis = msgspec.structs.replace(diagnose_snapshot(snapshot_of(lines, of)), time_at=())
    ground = compared(diagnosis, lines, of)

    assert ground.held[0].is_long_enough
    assert not ground.held[0].is_found
    assert not ground.is_right


def test_a_limit_that_throttled_nothing_is_a_wrong_claim():
    """Naming a limit that did not act is as wrong as missing one."""
    of = setup("db.m4.large", storage="gp3", size_gib=400)
    diagnosis = diagnose_snapshot(snapshot_of(record(of), of))
    quiet = record(of, demand_ops_per_s=50)
    ground = compared(diagnosis, quiet, of)
    claim = ground.wrong[0]

    assert not ground.is_right
    assert (THROUGHPUT, Dimension.THROUGHPUT) == (claim.name, claim.dimension)
    assert 56.25e6 == pytest.approx(claim.level, rel=0.01)


def test_a_limit_found_without_a_name_counts_by_its_level():
    """Where nothing is documented, the level is all there is to find."""
    of = setup("db.m4.large", storage="gp3", size_gib=400)
    lines = record(of)
    unnamed = msgspec.structs.replace(
        snapshot_of(lines, of),
        instance=msgspec.structs.replace(of.instance, db_class=None, storage=type(of.instance.storage)()),
    )
    ground = compared(diagnose_snapshot(unnamed), lines, of)

    assert ground.held[0].is_found
    assert ground.is_right


def test_a_machine_that_is_too_slow_makes_the_run_void():
    """The truth says so, and so does the comparison."""
    ground = ground_of(setup("db.m4.large", storage="gp3", size_gib=400), late_ratio=0.2)

    assert ground.is_void
    assert "void" in ground.kept_up
