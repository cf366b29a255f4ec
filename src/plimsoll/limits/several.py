"""
The ceilings of several storages under one instance, taken together.

CloudWatch reports their sum, so the sum is what it is compared with. It is reached only if the work is
spread as the limits are: one storage may be full long before, and only its own metrics show it.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.limits.layout import each_storage
from plimsoll.model.ceiling import Ceiling, Phase
from plimsoll.model.instance import Instance

Rule = Callable[[Instance, Catalog], tuple[Ceiling, ...]]

_NOTE = "the sum of {} volumes; one of them may reach its own limit earlier, which only metrics by VolumeName show"


def together(rule: Rule, instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """
    Return the sums of the ceilings of an instance's storages.

    Args:
        rule: returns the ceilings of one storage: a fixed number, or a baseline and a burst.

    Returns:
        No ceilings if one storage has none: a part of a sum is no bound of the whole.
    """
    parts = [rule(one, catalog) for one in each_storage(instance)]
    if len(parts) == 1:
        return parts[0]
    if not all(parts):
        return ()
    # A fixed rate counts both as the baseline and as the burst of its storage.
    sustained, peak = [part[0] for part in parts], [part[-1] for part in parts]
    bursting = [ceiling for ceiling in peak if ceiling.phase is Phase.BURST]
    if not bursting:
        return (_sum(sustained, sustained[0]),)
    return _sum(sustained, bursting[0], Phase.BASELINE), _sum(peak, bursting[0])


def _sum(parts: Sequence[Ceiling], like: Ceiling, phase: Phase | None = None) -> Ceiling:
    return replace(
        like, phase=phase or like.phase, value=sum(part.value for part in parts), note=_NOTE.format(len(parts))
    )
