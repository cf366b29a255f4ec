"""Values that several JSON reports have: an instance as it was bought, numbers of Python's own kinds."""

from typing import Any

import msgspec
import numpy as np

from plimsoll.model.instance import EbsLimits, Instance
from plimsoll.units import format_time


def without_numpy(value: Any) -> Any:
    """The same document without numpy's own kinds of number."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: without_numpy(held) for key, held in value.items()}
    return [without_numpy(held) for held in value] if isinstance(value, list) else value


def instance_object(instance: Instance) -> dict[str, Any]:
    """What was bought, with every field there is; null is not known."""
    storage = instance.storage
    launched = None if instance.launched_s is None else format_time(instance.launched_s)
    return {
        "identifier": instance.identifier,
        "db_class": instance.db_class,
        "engine": instance.engine,
        "engine_version": instance.engine_version,
        "license_model": instance.license_model,
        "region": instance.region,
        "multi_az": instance.multi_az,
        "cluster": None if instance.cluster is msgspec.UNSET else instance.cluster,
        "launched": launched,
        "connection_max": instance.connection_max,
        "vcpu_count": instance.vcpu_count,
        "memory_bytes": instance.memory_bytes,
        "capacity_acu_max": instance.capacity_acu_max,
        "pending": list(instance.pending),
        "ebs_limits": _ebs_limits(instance.ebs_limits) if instance.ebs_limits else None,
        "storage": {
            "kind": storage.kind,
            "size_gib": storage.size_gib,
            "provisioned_ops_per_s": storage.provisioned_ops_per_s,
            "provisioned_bytes_per_s": storage.provisioned_bytes_per_s,
            "volume_count": storage.volume_count,
        },
    }


def _ebs_limits(limits: EbsLimits) -> dict[str, Any]:
    return {
        "baseline_bytes_per_s": limits.baseline_bytes_per_s,
        "burst_bytes_per_s": limits.burst_bytes_per_s,
        "baseline_ops_per_s": limits.baseline_ops_per_s,
        "burst_ops_per_s": limits.burst_ops_per_s,
        "source": limits.source,
        "read_on": limits.read_on,
    }
