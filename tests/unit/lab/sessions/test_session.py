"""The state of a run of the lab at a moment, and what is refused before it begins."""

from pathlib import Path

import msgspec
import pytest

from plimsoll.catalog.load import catalog
from plimsoll.errors import UsageError
from plimsoll.model.ceiling import Family, Phase
from plimsoll.units import MIB
from plimsoll_lab.gate.config import GateSetup, stages_of
from plimsoll_lab.gate.control import GateStatus
from plimsoll_lab.load.workload import Workload
from plimsoll_lab.model.lab import LabProgress, StageNow
from plimsoll_lab.sessions.postgres import sized_setup
from plimsoll_lab.sessions.session import check_memory, progress_of
from unit.lab.fixture_record import setup


def status(of: GateSetup, *, bytes_per_s: float, left: float, binding: str | None = None) -> GateStatus:
    chain = stages_of(of, catalog())
    return GateStatus(
        balance={stage.name: left for stage in chain if stage.capacity},
        read_bytes_per_s=bytes_per_s,
        write_bytes_per_s=0.0,
        read_ops_per_s=bytes_per_s / 131_072,
        write_ops_per_s=0.0,
        queue_depth=15.0,
        late_ratio=0.0,
        late_s_max=0.0,
        binding=binding,
        phase=None,
        chain=chain,
        clock=of.clock,
    )


def progress(now: GateStatus, *before: GateStatus) -> LabProgress:
    return progress_of(now, recent=[*before, now], elapsed_s=10, duration_s=120, transactions_per_s=None)


def stage(of: LabProgress, family: Family) -> StageNow:
    return next(s for s in of.stages if s.name == family.value)


def test_while_credits_last_the_ceiling_is_the_burst():
    """Without credits it is the baseline, of all volumes together."""
    of = setup()
    full = progress(status(of, bytes_per_s=300e6, left=0.5))
    empty = progress(status(of, bytes_per_s=80e6, left=0.0))
    seen = [
        (stage(p, family).phase, stage(p, family).ceiling)
        for p in (full, empty)
        for family in (Family.INSTANCE_EBS_THROUGHPUT, Family.VOLUME_IOPS)
    ]

    assert [(Phase.BURST, 347.5e6), (Phase.BURST, 12_000), (Phase.BASELINE, 86.875e6), (Phase.BASELINE, 3000)] == seen


def test_a_limit_without_credits_has_no_balance():
    """Its only number is its ceiling."""
    of = setup("db.m4.large", storage="gp3", size_gib=400)
    seen = stage(progress(status(of, bytes_per_s=50e6, left=1.0)), Family.INSTANCE_EBS_THROUGHPUT)

    assert (Phase.FIXED, 56.25e6, None, None) == (seen.phase, seen.ceiling, seen.balance_ratio, seen.empty_in_s)


def test_exhaustion_is_predicted_by_the_law_on_the_credit_clock():
    """
    Half of (347.5 − 86.875) MB/s × 1,800 s, divided by 60, lasts 15 s at the burst rate, and below the
    baseline for ever; ten seconds at clock 60 are ten minutes, and one stage at most holds requests.
    """
    seen = progress(status(setup(), bytes_per_s=347.5e6, left=0.5))
    name = Family.INSTANCE_EBS_THROUGHPUT.value
    held = progress(status(setup(), bytes_per_s=347.5e6, left=0.5, binding=name))
    calm = progress(status(setup(), bytes_per_s=50e6, left=0.5))

    assert 15 == pytest.approx(stage(seen, Family.INSTANCE_EBS_THROUGHPUT).empty_in_s, rel=1e-6)
    assert 600 == progress(status(setup(), bytes_per_s=1e6, left=1.0)).emulated_s
    assert [name] == [s.name for s in held.stages if s.is_holding]
    assert None is stage(calm, Family.INSTANCE_EBS_THROUGHPUT).empty_in_s


def test_the_forecast_is_at_the_mean_rate_of_the_last_seconds():
    """One quiet second does not make it jump; the served rate shown is that of the last second."""
    of = setup()
    busy, quiet = (status(of, bytes_per_s=rate, left=0.5) for rate in (347.5e6, 0.0))
    seen = stage(progress(quiet, busy), Family.INSTANCE_EBS_THROUGHPUT)

    assert 0 == seen.served
    assert 15 < seen.empty_in_s < 60


def test_a_bucket_that_is_spent_as_it_fills_is_empty():
    """The gate's own phase takes precedence, and a few credits count as none."""
    of, name = setup(), Family.INSTANCE_EBS_THROUGHPUT.value
    few = status(of, bytes_per_s=87e6, left=0.0005)
    changed = msgspec.structs.replace(status(of, bytes_per_s=87e6, left=0.003, binding=name), phase=Phase.BASELINE)
    for seen in (progress(few), progress(changed)):
        at = stage(seen, Family.INSTANCE_EBS_THROUGHPUT)

        assert (Phase.BASELINE, 86.875e6, None) == (at.phase, at.ceiling, at.empty_in_s)


def test_a_memory_in_which_no_server_could_run_is_refused():
    """The hint says how much is enough."""
    check_memory(64 * MIB)
    with pytest.raises(UsageError) as raised:
        check_memory(64 * MIB - 1)

    assert "--memory 64MiB" in raised.value.hint


@pytest.mark.parametrize(
    ("workload", "in_flight"),
    [
        (Workload(name="scan", clients=16), 64),
        (Workload(name="scan", clients=1), 16),
        (Workload(name="mine.sql", script=Path("mine.sql"), clients=40), 160),
        (Workload(name="tpcb", clients=64), 16),
    ],
)
def test_readers_in_order_have_room_to_read_ahead(workload, in_flight):
    """Four requests in flight for each, and never fewer than a gate has anyway."""
    behind_it = sized_setup(setup(), workload, cache_bytes=96 * MIB)

    assert (in_flight, 96 * MIB) == (behind_it.max_background, behind_it.memory_bytes)
