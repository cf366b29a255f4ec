"""The shape of an instance: what limits and prices depend on, the same for many instances of a fleet."""

from msgspec import UNSET

from plimsoll.model.instance import Instance


def shape_of(instance: Instance) -> Instance:
    """
    Return an instance with only what the limits of a chain and the prices depend on.

    Left out are its names, its age, its setting of connections and its pending changes. Whether it is a
    member of a cluster stays.
    """
    return Instance(
        db_class=instance.db_class,
        engine=instance.engine,
        engine_version=instance.engine_version,
        license_model=instance.license_model,
        region=instance.region,
        multi_az=instance.multi_az,
        cluster=UNSET if instance.cluster is UNSET else "",
        storage=instance.storage,
        vcpu_count=instance.vcpu_count,
        memory_bytes=instance.memory_bytes,
        ebs_limits=instance.ebs_limits,
        capacity_acu_max=instance.capacity_acu_max,
    )
