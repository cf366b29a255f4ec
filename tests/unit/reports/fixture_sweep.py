"""A simulated sweep with its fit, as the renderers get it."""

from functools import cache

from plimsoll.model.ceiling import Phase
from plimsoll_lab.fit.fit import fit_sweep
from plimsoll_lab.model.sweep import Pattern, SweepPublished, SweepReport, SweepTruth
from simulated_sweeps import UNIT_BYTES, stage, sweep

CHAIN = [
    stage("instance_ebs_throughput", "bytes", 250e6),
    stage("volume_throughput", "bytes", 134.22e6),
    stage("volume_iops", "ops", 300, 3_000, unit_bytes=UNIT_BYTES),
]


@cache
def report() -> SweepReport:
    """gp2 at baseline and burst, with something known and something published."""
    measured = sweep(CHAIN, phases=(Phase.BASELINE, Phase.BURST), patterns=tuple(Pattern))
    fit = fit_sweep(measured)
    return SweepReport(
        sweep=measured,
        fit=fit,
        truths=(
            SweepTruth(name="operations", phase=Phase.BASELINE, unit="ops/s", known=301, found=fit.phases[0].ops_limit),
        ),
        published=(
            SweepPublished(
                name="throughput",
                phase=Phase.BASELINE,
                unit="bytes/s",
                said=75_144 * 1024,
                found=78.64e6,
                remark="300 operations of 256 KiB.",
            ),
        ),
    )
