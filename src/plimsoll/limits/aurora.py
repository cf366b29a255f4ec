"""
The differences of Aurora: its two engines, and the metrics that have another meaning there.

Aurora keeps its data in a cluster volume that is reached over the network. No throughput and no IOPS
are documented for it, and what is documented of EBS for a class is about the class's local disk.
"""

from collections.abc import Mapping
from types import MappingProxyType

from plimsoll.limits.layout import is_aurora
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric

ENGINES = ("aurora-mysql", "aurora-postgresql")

_LOCAL_DISK = "on Aurora the EBS limits of a class apply to its local disk, not to the data"
# Aurora User Guide, aurora-auroramonitoring-metrics and concepts-dbinstanceclass-summary (2026-04).
_OTHER_MEANING = MappingProxyType(
    {
        Metric.WRITE_OPS_PER_S: "Aurora counts log records here, not writes to a disk",
        Metric.BYTE_BALANCE_RATIO: _LOCAL_DISK,
        Metric.IO_BALANCE_RATIO: _LOCAL_DISK,
        Metric.VOLUME_BALANCE_RATIO: "Aurora storage has no credits; only gp2 has",
    }
)
_NONE: Mapping[Metric, str] = MappingProxyType({})


def engine_of(instance: Instance) -> str | None:
    """Return `aurora-mysql` or `aurora-postgresql`; None for other engines, or if it is unknown."""
    name = (instance.engine or "").strip().lower()
    return name if name in ENGINES else None


def other_meaning(instance: Instance) -> Mapping[Metric, str]:
    """
    Return the metrics that must not be compared with a storage limit here, and why.

    Returns:
        Empty for every engine but Aurora; each reason is part of a sentence.
    """
    return _OTHER_MEANING if is_aurora(instance) else _NONE
