"""
The rule of a family: what it returns for an instance, and for several storages under one.

A rule returns its numbers, and none where the family has no meaning for the instance or they are not known.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.limits.layout import each_storage
from plimsoll.model.ceiling import Ceiling, Family, Origin, Phase
from plimsoll.model.instance import Instance

Ceilings = tuple[Ceiling, ...]
Rule = Callable[[Instance, Catalog], Ceilings]

_NOTE = "the sum of {} volumes; one of them may reach its own limit earlier, which only metrics by VolumeName show"


def ceiling_of(family: Family, value: float, origin: Origin, note: str = "", *, phase: Phase = Phase.FIXED) -> Ceiling:
    """Return a number of a family, in its unit."""
    facts = family.facts
    return Ceiling(
        family=family,
        phase=phase,
        dimension=facts.dimension,
        value=float(value),
        unit=facts.unit,
        origin=origin,
        note=note,
    )


def together(rule: Rule, instance: Instance, catalog: Catalog) -> Ceilings:
    """
    Return the sums of the ceilings of an instance's storages.

    CloudWatch reports their sum, so the sum is what it is compared with. It is reached only if the work is
    spread as the limits are: one storage may be full long before, and only its own metrics show it.

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
