"""How many bytes an instance exchanges with all its EBS volumes, reads and writes together."""

from plimsoll.catalog.load import Catalog
from plimsoll.limits.bucket import Bucket, Rates, bucket_ceilings, former_of
from plimsoll.limits.layout import is_aurora, launch_date
from plimsoll.model.ceiling import Ceiling, Dimension, Family
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric

_BUCKET = Bucket(
    family=Family.INSTANCE_EBS_THROUGHPUT,
    dimension=Dimension.THROUGHPUT,
    unit="bytes/s",
    balance_metric=Metric.BYTE_BALANCE_RATIO,
)


def metrics() -> tuple[Metric, ...]:
    """What is compared with it: their sum; then the balance of its bucket."""
    return Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S, Metric.BYTE_BALANCE_RATIO


def applies(instance: Instance) -> bool:
    """An instance of a known class that keeps its data on EBS."""
    return instance.db_class is not None and not is_aurora(instance)


def ceilings(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """
    Today's baseline and burst, or the one fixed number; then former numbers; bytes/s.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    if instance.db_class is None or not applies(instance):
        return ()
    now = catalog.instance_limits(instance.db_class)
    return bucket_ceilings(
        _BUCKET,
        Rates(
            baseline=now.ebs_baseline_bytes_per_s,
            burst=now.ebs_burst_bytes_per_s,
            origin=now.origin,
            note=now.note,
        ),
        tuple(
            Rates(
                baseline=then.ebs_baseline_bytes_per_s,
                burst=then.ebs_burst_bytes_per_s,
                origin=then.origin,
                note=then.note,
                is_lifted_by_restart=then.is_lifted_by_restart,
            )
            for then in former_of(instance, catalog)
        ),
        burst_s=catalog.volume_rule("instance", "burst_s").value,
        is_age_known=launch_date(instance) is not None,
    )
