"""Add the number of processors to an observation, from the instance class or the recording."""

from msgspec.structs import replace

from plimsoll.errors import CatalogError
from plimsoll.model.database import Observation
from plimsoll.model.instance import Instance


def with_processors(observation: Observation, instance: Instance) -> Observation:
    """
    Return the observation with the instance's processors, unless the server itself reported a number.

    Args:
        observation: of the server that runs on the instance.
        instance: as described or recorded; an unknown class adds nothing.
    """
    if observation.server.vcpu_count is not None:
        return observation
    count = _count(instance)
    if count is None:
        return observation
    return replace(observation, server=replace(observation.server, vcpu_count=count))


def _count(instance: Instance) -> int | None:
    from plimsoll.catalog.load import catalog
    from plimsoll.limits.class_limits import limits_of

    try:
        limits = limits_of(instance, catalog())
    except CatalogError:
        limits = None
    return instance.vcpu_count if limits is None else limits.vcpu_count
