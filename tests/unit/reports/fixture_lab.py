"""The progress of a lab run and its ground truth, made by hand."""

from plimsoll.model.ceiling import Dimension, Phase
from plimsoll_lab.model.lab import GroundTruth, LabProgress, StageNow, ThrottledCeiling

MB = 1e6
BYTES = StageNow(
    name="instance_ebs_throughput",
    dimension=Dimension.THROUGHPUT,
    served=347.4 * MB,
    ceiling=347.5 * MB,
    phase=Phase.BURST,
    balance_ratio=0.53,
    empty_in_s=16.0,
    is_holding=True,
)
OPS = StageNow(
    name="volume_iops",
    dimension=Dimension.IOPS,
    served=2650,
    ceiling=12_000,
    phase=Phase.BURST,
    balance_ratio=1.0,
    empty_in_s=None,
    is_holding=False,
)
PROGRESS = LabProgress(
    elapsed_s=14,
    duration_s=120,
    clock=60,
    bytes_per_s=347.4 * MB,
    ops_per_s=2650,
    queue_depth=15.2,
    late_ratio=0.0,
    stages=(BYTES, OPS),
    transactions_per_s=45.2,
)
BASELINE = ThrottledCeiling(
    name="instance_ebs_throughput",
    phase=Phase.BASELINE,
    dimension=Dimension.THROUGHPUT,
    limit=86.875 * MB,
    held_s=90,
    delivered=86.87 * MB,
    found_level=86.96 * MB,
    found_s=5340,
    is_long_enough=True,
)
BURST = ThrottledCeiling(
    name="instance_ebs_throughput",
    phase=Phase.BURST,
    dimension=Dimension.THROUGHPUT,
    limit=347.5 * MB,
    held_s=6.25,
    delivered=None,
    found_level=None,
    found_s=None,
    is_long_enough=False,
)
TRUTH = GroundTruth(
    clock=60,
    recorded_s=120,
    held=(BASELINE, BURST),
    wrong=(),
    is_void=False,
    kept_up="This machine kept up: no operation was late.",
)
