"""A gate of a smaller scale enforces a part of every limit, and its record stands for the whole."""

import numpy as np
import pytest
from msgspec.structs import replace

from plimsoll.catalog.load import catalog
from plimsoll.errors import UsageError
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll_lab.gate.config import GateSetup, check_setup, enforced_stages_of, part_of, stages_of
from plimsoll_lab.gate.control import GateStatus
from plimsoll_lab.gate.record import snapshot_of, truth_of
from plimsoll_lab.gate.scale import whole_lines, whole_status
from unit.gate.gate_lines import held, lines

SCALED = GateSetup(
    instance=Instance(
        db_class="db.r5.2xlarge",
        engine="postgres",
        storage=Storage(kind="io1", size_gib=3000, provisioned_ops_per_s=20_000),
    ),
    clock=60.0,
    scale=25.0,
)


def test_every_number_of_every_limit_is_divided():
    """
    Baseline, burst and capacity of each stage are a 25th; what a request costs stays. Dividing by N and
    by 1/N gives the same stage.
    """
    whole, part = (of(SCALED, catalog()) for of in (stages_of, enforced_stages_of))
    stage = stages_of(SCALED, catalog())[0]

    assert len(whole) == len(part) == 4
    for one, other in zip(whole, part, strict=True):
        assert [one.baseline, one.burst, one.capacity] == pytest.approx(
            [25 * other.baseline, 25 * other.burst, 25 * other.capacity]
        )
        assert (one.unit_bytes, one.stripes) == (other.unit_bytes, other.stripes)
    # Credits and rates shrink together, so time to empty does not depend on the scale.
    empty_s = [s.time_to_empty_s(s.capacity, s.burst) for s in (whole[0], part[0])]
    assert empty_s[0] == pytest.approx(empty_s[1])
    assert part_of(part_of(stage, 8), 1 / 8) == stage


def test_the_record_of_a_part_stands_for_the_whole():
    """Rates and the queue are multiplied; latencies, binding and shares of late operations stay."""
    part = lines(10, latency_s=0.02, binding=held(0.9), late_ops=2.0, late_s_sum=0.01)
    whole = whole_lines(part, 25)
    one, other = (
        snapshot_of(given, setup).series for given, setup in ((part, replace(SCALED, scale=1.0)), (whole, SCALED))
    )

    for metric, ratio in (
        (Metric.READ_BYTES_PER_S, 25),
        (Metric.WRITE_OPS_PER_S, 25),
        (Metric.QUEUE_DEPTH, 25),
        (Metric.READ_LATENCY_S, 1),
        (Metric.WRITE_LATENCY_S, 1),
    ):
        assert np.allclose(ratio * one[metric].value, other[metric].value)
    assert truth_of(part).late_ratio == pytest.approx(truth_of(whole).late_ratio)
    assert truth_of(part).late_wait_ratio == pytest.approx(truth_of(whole).late_wait_ratio)
    assert truth_of(part).bound_s() == truth_of(whole).bound_s()


def test_the_note_says_the_scale():
    """Whoever reads the snapshot knows that rates were multiplied."""
    note = snapshot_of(whole_lines(lines(3), 25), SCALED).note

    assert "Scale 1:25: one of 25 equal parts ran under limits divided by 25." in note
    assert "Scale" not in snapshot_of(lines(3), replace(SCALED, scale=1.0)).note


def test_the_present_state_is_that_of_the_whole():
    """Rates, queue and limits of a status are multiplied; credits are a share and stay."""
    status = GateStatus(
        balance={"instance_ebs_throughput": 0.25},
        read_bytes_per_s=1e6,
        write_bytes_per_s=2e6,
        read_ops_per_s=10,
        write_ops_per_s=20,
        queue_depth=2,
        late_ratio=0.0,
        late_s_max=0.0,
        binding=None,
        phase=None,
        chain=enforced_stages_of(SCALED, catalog()),
        clock=60.0,
    )
    whole = whole_status(status, 25)

    assert (whole.bytes_per_s, whole.ops_per_s, whole.queue_depth) == (75e6, 750, 50)
    assert whole.balance == status.balance
    assert [s.baseline for s in whole.chain] == pytest.approx([s.baseline for s in stages_of(SCALED, catalog())])
    assert whole.empty_in_s("instance_ebs_throughput") == pytest.approx(status.empty_in_s("instance_ebs_throughput"))


@pytest.mark.parametrize("scale", [0.5, 0, -1, 1001, float("nan")])
def test_scales_that_are_no_part_are_refused(scale: float):
    """Only 1 to 1000 parts are possible."""
    with pytest.raises(UsageError, match="scale"):
        check_setup(replace(SCALED, scale=scale))
