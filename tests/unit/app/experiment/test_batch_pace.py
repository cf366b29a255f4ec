"""The pace of an experiment's jobs: what it is told of a gate's record, in real time."""

import pytest

from plimsoll_lab.judges.batch_pace import slow_truth_of_lines
from unit.gate.gate_lines import lines


def test_the_newest_line_is_not_known_yet():
    """
    CloudWatch's newest point is incomplete; rates are of reads and writes together. Credits are those at the
    end of the minute of the newest known line.
    """
    record = lines(5, balance={"instance_ebs_throughput": 0.5, "volume_throughput": None})
    found = slow_truth_of_lines(record)

    assert 4 == len(found.rates)
    assert record[-2].t == found.end_s
    assert pytest.approx(record[0].read_bytes + record[0].write_bytes) == found.rates[0].bytes_per_s * record[0].dt
    assert {"instance_ebs_throughput": (0.5, record[-2].t)} == {
        name: (one.ratio, one.time_s) for name, one in found.balances.items()
    }


def test_nothing_is_known_of_an_empty_record():
    """Then only a share of the baseline is granted."""
    found = slow_truth_of_lines([])

    assert () == found.rates
    assert {} == dict(found.balances)
    assert found.end_s is None
