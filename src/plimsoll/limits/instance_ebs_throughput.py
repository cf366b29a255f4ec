"""The EBS throughput ceilings of an instance over all its volumes, reads and writes together."""

from plimsoll.catalog.load import Catalog
from plimsoll.limits.bucket import Bucket, applies, instance_ceilings
from plimsoll.model.ceiling import Ceiling, Dimension, Family
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.units import format_bytes_per_s

__all__ = ["applies", "ceilings"]

_BUCKET = Bucket(
    family=Family.INSTANCE_EBS_THROUGHPUT,
    dimension=Dimension.THROUGHPUT,
    unit="bytes/s",
    balance_metric=Metric.BYTE_BALANCE_RATIO,
    numbers=lambda limits: (limits.ebs_baseline_bytes_per_s, limits.ebs_burst_bytes_per_s),
    format_value=lambda bytes_per_s: format_bytes_per_s(bytes_per_s, 5),
)


def ceilings(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """
    Return today's baseline and burst, or the one fixed number; then legacy numbers; bytes/s.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    return instance_ceilings(_BUCKET, instance, catalog)
