"""The experiment's configurations, what they enforce, and what was published about them."""

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.errors import UsageError
from plimsoll.model.ceiling import Phase
from plimsoll.units import KIB
from plimsoll_lab.fit.fit import fit_sweep
from plimsoll_lab.gate.config import GateSetup, stages_of
from plimsoll_lab.sweep.cases import CASES
from plimsoll_lab.sweep.experiment import LAB_SIZES_BYTES, cases_named, length_s, phases_of, published_of, truths_of
from plimsoll_lab.sweep.plan import SweepPlan
from simulated_sweeps import sweep

SIZES_KIB = [size / KIB for size in LAB_SIZES_BYTES]


def simulated(name: str):
    """A configuration with its chain, and the fit of what that chain delivers."""
    (case,) = cases_named([name])
    chain = stages_of(GateSetup(instance=case.instance), catalog())
    return case, chain, fit_sweep(sweep(chain, phases=phases_of(chain), sizes_kib=SIZES_KIB))


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_what_is_enforced_is_what_a_perfect_run_finds(name):
    """For every configuration, in each of its phases, every limit within half a percent."""
    _, chain, fit = simulated(name)

    truths = truths_of(chain, fit)

    assert len(truths) >= 3 * len(phases_of(chain))
    assert [] == [t for t in truths if t.found is None or abs(t.difference_ratio) > 0.005]


def test_the_published_plateaus_are_operations_of_256_kib():
    """Every published gp2 baseline is that within six percent; none is above it."""
    for name in ("m4.4xlarge-gp2-100", "m4.large-gp2-30", "m4.large-gp2-40", "m4.large-gp2-50"):
        case, _, fit = simulated(name)
        (row,) = [p for p in published_of(case, fit) if p.name == "throughput" and p.phase == Phase.BASELINE]
        assert 0.94 < row.said / row.found < 1


def test_every_published_number_has_one_that_was_found():
    """And has a sentence of its own."""
    for case in CASES:
        _, _, fit = simulated(case.name)
        for row in published_of(case, fit):
            assert abs(row.found / row.said - 1) < 0.06, (case.name, row)
            assert row.remark.endswith(".")


def test_configurations_without_credits_have_one_phase():
    """io1 does not burst, and neither does db.m4.4xlarge."""
    assert (Phase.FIXED,) == phases_of(simulated("m4.4xlarge-io1")[1])
    assert (Phase.BASELINE, Phase.BURST) == phases_of(simulated("m7g.large-gp3-100")[1])


def test_an_unknown_configuration_names_the_known():
    """One sentence."""
    with pytest.raises(UsageError) as raised:
        cases_named(["m4.large"])

    assert "m4.large-gp2-30" in raised.value.hint
    assert CASES == cases_named([])


def test_the_length_is_that_of_every_point_in_every_phase():
    """A burstable configuration has two phases and takes twice the points of a plan."""
    plan = SweepPlan(sizes_bytes=(8192, 65536), for_each_s=4.0)
    once = 2 * 2 * 4.0 + 2 * 1 * 1.0  # patterns × sizes × seconds, and the smallest size alone

    assert once == length_s(cases_named(["m4.4xlarge-io1"]), plan, catalog())
    assert 2 * once == length_s(cases_named(["m7g.large-gp3-100"]), plan, catalog())
