"""The experiment under a real gate: the fit finds the limits that are enforced."""

import os

import pytest

from live.gate_machine import quick_folder
from plimsoll.catalog.load import catalog
from plimsoll.model.instance import Instance
from plimsoll.units import KIB, MIB
from plimsoll_lab.fit.fit import fit_sweep
from plimsoll_lab.gate.config import SLACK_S, GateSetup
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.model.sweep import Pattern, Sweep, SweepFit, SweepTruth, UnitEvidence
from plimsoll_lab.sweep.experiment import cases_named, phases_of, run_cases, truths_of
from plimsoll_lab.sweep.fio import sweep_path
from plimsoll_lab.sweep.plan import SweepPlan
from simulated_sweeps import stage

pytestmark = pytest.mark.realtime

NAMES = ("m4.large-gp2-40", "m4.large-gp2-100")
PLAN = SweepPlan(
    sizes_bytes=(16 * KIB, 512 * KIB), patterns=(Pattern.SCATTERED,), for_each_s=1, max_bytes=1 << 50, depth=16
)
# What was promised of every limit found.
OFF_MAX = 0.02
# Standard error of a point's rate, from its parts: below this on a machine that does not stand still.
EVEN_MAX = 0.005
# Of a dozen requests in each of fio's parts one is more.
FIO_EVEN_MAX = 0.03
ROUNDS = 3


def off_max(sweep: Sweep, even_max: float = EVEN_MAX) -> float:
    """
    By how much limits may be off: by what was promised where the points themselves say that they were
    even, elsewhere also by what the gate makes up for after this machine stood still.
    """
    if is_even(sweep, even_max):
        return OFF_MAX
    return OFF_MAX + SLACK_S / min(point.length_s or 1.0 for point in sweep.points)


def is_even(sweep: Sweep, even_max: float = EVEN_MAX) -> bool:
    """Whether each point had the same rate in all its parts."""
    return all((point.error_ratio or 0.0) <= even_max for point in sweep.points)


def off(truths: tuple[SweepTruth, ...], most: float) -> list[SweepTruth]:
    """Limits that were not found, or are further off than that."""
    limits = [truth for truth in truths if truth.unit != "bytes"]
    return [t for t in limits if t.found is None or abs(t.difference_ratio) > most]


def test_postgresql_behind_a_gate_finds_what_is_enforced():
    """Two configurations, each at baseline and at burst."""
    texts: list[str] = []

    for _ in range(ROUNDS):
        measured = run_cases(cases_named(NAMES), PLAN, catalog(), show_progress=texts.append, buffers_bytes=64 * MIB)
        if all(is_even(one.sweep) for one in measured):
            break

    for one in measured:
        fit = fit_sweep(one.sweep)
        assert phases_of(one.chain) == tuple(phase.phase for phase in fit.phases)
        truths = truths_of(one.chain, fit, PLAN.sizes_bytes)
        assert [] == off(truths, off_max(one.sweep)), one.sweep.points
    baseline = fit_sweep(measured[0].sweep).phases[0]
    assert UnitEvidence.PLATEAU == baseline.unit.evidence
    assert any("burst" in line for line in texts)


def test_fio_behind_a_gate_finds_what_is_enforced():
    """By the path of the mount, with nothing known of it."""
    chain = (stage("volume_throughput", "bytes", 40e6), stage("volume_iops", "ops", 200, unit_bytes=256.0 * KIB))
    setup = GateSetup(instance=Instance(), stages=chain, limits_name="a test")
    with quick_folder() as folder, Gate(setup, folder / "disk", folder / "mount") as gate:
        (gate.backing / "table").write_bytes(os.urandom(MIB) * 256)

        for _ in range(ROUNDS):
            found = sweep_path(gate.mount / "table", PLAN, allow_writes=False, show_progress=print)
            if is_even(found, FIO_EVEN_MAX):
                break

    most = off_max(found, FIO_EVEN_MAX)
    assert limits_of(fit_sweep(found)) == pytest.approx((200.0, 40e6), rel=most)


def limits_of(fit: SweepFit) -> tuple[float, float]:
    """Operations and bytes of the only phase."""
    (phase,) = fit.phases
    assert phase.ops_limit is not None
    assert phase.bytes_limit is not None
    return phase.ops_limit.value, phase.bytes_limit.value
