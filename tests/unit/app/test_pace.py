"""From a snapshot to what the law is told, and from an instance to its chain."""

import numpy as np
import pytest

from builders import START_S, snapshot, timed
from contract.tree import ROOT
from plimsoll.app.options import InstanceOptions, PaceTarget
from plimsoll.app.pace import ceilings_to_pace, open_pace, pace_report, slow_truth_of
from plimsoll.errors import UsageError
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric

CLAIMS = str(ROOT / "examples/claims-pipeline")
FLAT = {
    Metric.READ_BYTES_PER_S: [1e6, 2e6, 3e6],
    Metric.WRITE_BYTES_PER_S: [10e6, 20e6, np.nan],
    Metric.READ_OPS_PER_S: [100.0, 200.0, 300.0],
    Metric.WRITE_OPS_PER_S: [10.0, 20.0, 30.0],
    Metric.BYTE_BALANCE_RATIO: [0.9, 0.8, 0.7],
}


def test_reads_and_writes_are_added_where_both_were_measured():
    """The newest balance counts from the middle of its minute; one every five minutes is read too."""
    every = timed(Metric.IO_BALANCE_RATIO, [START_S], [0.5], step_s=300)
    found = slow_truth_of(snapshot(FLAT, every), complete_s=float("inf"))

    assert [11e6, 22e6] == [one.bytes_per_s for one in found.rates[:2]]
    assert np.isnan(found.rates[2].bytes_per_s)
    assert [110, 220, 330] == [one.ops_per_s for one in found.rates]
    assert START_S + 180 == found.end_s
    assert {"instance_ebs_throughput": (0.7, START_S + 150), "instance_ebs_iops": (0.5, START_S + 150)} == {
        name: (one.ratio, one.time_s) for name, one in found.balances.items()
    }


def test_what_may_be_incomplete_is_left_out():
    """A sample that ended less than a minute ago may still grow."""
    found = slow_truth_of(snapshot(FLAT), complete_s=START_S + 179)

    assert START_S + 120 == found.end_s
    assert [0.8] == [one.ratio for one in found.balances.values()]


def test_without_rates_there_is_no_sample():
    found = slow_truth_of(snapshot({Metric.CPU_RATIO: [0.5]}), complete_s=float("inf"))

    assert ((), None, {}) == (found.rates, found.end_s, found.balances)


@pytest.mark.parametrize(("launched", "baseline"), [("2019-06-01", 212.5e6), ("2024-06-01", 287.5e6)])
def test_an_old_instance_has_its_legacy_limits(launched, baseline):
    """A db.r5.2xlarge launched before December 2019 may still have 212.5 MB/s."""
    target = PaceTarget(target=str(ROOT / "examples/search-service"), instance=InstanceOptions(launched=launched))
    found = pace_report(target, PaceTerms()).allowance

    assert baseline == found.ceilings[0].baseline_per_s
    assert (launched < "2020") is any("legacy limits" in note for note in found.notes)


def test_aurora_has_no_chain_to_pace_by():
    aurora = Instance(db_class="db.r6g.large", engine="aurora-postgresql", storage=Storage(kind="aurora"))

    assert ((), ()) == ceilings_to_pace(aurora)


def test_a_target_without_limits_is_one_sentence(tmp_path):
    file = tmp_path / "metrics.csv"
    file.write_text(
        "time,read_bytes_per_s,write_bytes_per_s\n2026-11-20T08:00:00Z,1000000,2000000\n"
        "2026-11-20T08:01:00Z,1000000,2000000\n"
    )
    with pytest.raises(UsageError, match="no storage limit of this target is known"):
        pace_report(PaceTarget(target=str(file)), PaceTerms())


def test_a_recorded_file_is_soon_too_old_to_pace_by():
    """Half of the baseline, from the first moment; the program that waits still gets on."""
    with open_pace(CLAIMS) as pace:
        assert "baseline_share" == pace.allowance().basis
        pace.wait(1000)
        assert 1000 == pace.sent_bytes


def test_standard_input_is_the_batch():
    with pytest.raises(UsageError, match="standard input has the batch"):
        open_pace("-")
