"""The experiment under a real gate: the fit finds the limits that are enforced."""

import os

import pytest

from live.gate_machine import quick_folder
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.sweep_fit import fit_sweep
from plimsoll.lab.gate import Gate
from plimsoll.lab.gate_config import GateSetup
from plimsoll.lab.sweep_fio import sweep_path
from plimsoll.lab.sweep_lab import cases_named, phases_of, run_cases, truths_of
from plimsoll.lab.sweep_plan import Plan
from plimsoll.model.instance import Instance
from plimsoll.model.sweep import Pattern, SweepFit, Truth, UnitEvidence
from plimsoll.units import KIB, MIB
from simulated_sweeps import stage

pytestmark = pytest.mark.realtime

NAMES = ("m4.large-gp2-40", "m4.large-gp2-100")
PLAN = Plan(
    sizes_bytes=(16 * KIB, 512 * KIB),
    patterns=(Pattern.SCATTERED,),
    for_each_s=1,
    max_bytes=1 << 50,
    depth=16,
)
# What was promised of every limit found.
OFF_MAX = 0.02


def off(truths: tuple[Truth, ...]) -> list[Truth]:
    """
    Limits that were not found, or are further off than promised.
    """
    limits = [truth for truth in truths if truth.unit != "bytes"]
    return [t for t in limits if t.found is None or abs(t.difference_ratio) > OFF_MAX]


def test_postgresql_behind_a_gate_finds_what_is_enforced():
    """
    Two configurations, each at baseline and at burst.
    """
    said: list[str] = []

    measured = run_cases(
        cases_named(NAMES), PLAN, catalog(), tell=said.append, buffers_bytes=64 * MIB
    )

    for one in measured:
        fit = fit_sweep(one.sweep)
        assert phases_of(one.chain) == tuple(phase.phase for phase in fit.phases)
        assert [] == off(truths_of(one.chain, fit, PLAN.sizes_bytes)), one.sweep.points
    baseline = fit_sweep(measured[0].sweep).phases[0]
    assert UnitEvidence.PLATEAU == baseline.unit.evidence
    assert any("burst" in line for line in said)


def test_fio_behind_a_gate_finds_what_is_enforced():
    """
    By the path of the mount, with nothing known of it.
    """
    chain = (
        stage("volume_throughput", "bytes", 40e6),
        stage("volume_iops", "ops", 200, unit_bytes=256.0 * KIB),
    )
    setup = GateSetup(instance=Instance(), stages=chain, limits_name="a test")
    with quick_folder() as folder, Gate(setup, folder / "disk", folder / "mount") as gate:
        (gate.backing / "table").write_bytes(os.urandom(MIB) * 256)

        found = sweep_path(gate.mount / "table", PLAN, allow_writes=False, tell=print)

    assert limits_of(fit_sweep(found)) == pytest.approx((200.0, 40e6), rel=OFF_MAX)


def limits_of(fit: SweepFit) -> tuple[float, float]:
    """
    Operations and bytes of the only phase.
    """
    (phase,) = fit.phases
    assert phase.ops_limit is not None
    assert phase.bytes_limit is not None
    return phase.ops_limit.value, phase.bytes_limit.value
