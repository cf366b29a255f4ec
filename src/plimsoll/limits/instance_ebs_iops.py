"""The EBS IOPS ceilings of an instance over all its volumes, reads and writes together."""

from plimsoll.catalog.load import Catalog
from plimsoll.limits.bucket import Bucket, applies, instance_ceilings
from plimsoll.model.ceiling import Ceiling, Dimension, Family
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.units import format_ops_per_s

__all__ = ["applies", "ceilings"]

_BUCKET = Bucket(
    family=Family.INSTANCE_EBS_IOPS,
    dimension=Dimension.IOPS,
    unit="ops/s",
    balance_metric=Metric.IO_BALANCE_RATIO,
    numbers=lambda limits: (limits.ebs_baseline_ops_per_s, limits.ebs_burst_ops_per_s),
    format_value=format_ops_per_s,
)


def ceilings(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """
    Return today's baseline and burst, or the one fixed number; then legacy numbers; ops/s.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    return instance_ceilings(_BUCKET, instance, catalog)
