"""A gate's record is moved to another moment, and its clock still leads to real time."""

from plimsoll.model.metric import Metric
from plimsoll_lab.experiments.timeline import moved
from plimsoll_lab.gate.record import snapshot_of
from unit.gate.gate_lines import START_S, lines
from unit.gate.test_scale import SCALED

THERE_S = 1_600_000_020


def test_samples_begin_at_the_moment_and_the_clock_leads_back_to_real_time():
    """A minute apart, with the values that they had; an emulated minute later is a real second later."""
    before = snapshot_of(lines(4), SCALED)
    after, _ = moved(before, THERE_S)
    series = after.series[Metric.READ_BYTES_PER_S]
    _, clock = moved(snapshot_of(lines(4), SCALED), THERE_S)

    assert [THERE_S + 60 * n for n in range(4)] == series.time_s.tolist()
    assert before.series[Metric.READ_BYTES_PER_S].value.tolist() == series.value.tolist()
    assert START_S == clock.real_of(THERE_S)
    assert START_S + 1 == clock.real_of(THERE_S + 60)
