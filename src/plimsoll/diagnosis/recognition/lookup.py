"""
Candidates for a level of unknown origin: its number looked up among all documented numbers.

The class or the storage may be unknown, or was another one for a part of the window. An equal number is a
candidate, not a verdict: many classes share one.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.catalog.names import size_order
from plimsoll.diagnosis.recognition.binding import matching_z
from plimsoll.diagnosis.recognition.rate_words import format_rate
from plimsoll.limits.documented import Documented, documented
from plimsoll.limits.layout import is_aurora
from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.diagnosis import CeilingTime, Interval, Lookalike, RuledOut
from plimsoll.model.instance import Instance, engine_family
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.units import GIB, MIB, format_time

SHOWN = 3
"""More candidates than these do not help a reader."""
NAMES_SHOWN = 3
# A number is likelier the more classes have it. Most RDS instances use gp2 or gp3, whatever their class:
# each counts as ten classes.
STORAGE_WEIGHT = 10.0
# Most instances have been stopped at least once since a number changed.
LEGACY_WEIGHT = 0.5
# A class is changed to another size of its family more often than to another family.
SAME_FAMILY_WEIGHT = 4.0
GP2_OPS_PER_GIB = 3.0
GP2_OPS = (100.0, 16_000.0)
# An enforced rate is known to a percent.
GP2_SIZE_RATIO = 0.015
# RDS enlarges storage by 10 % at least, and no storage is smaller than 20 GiB.
JUMP_MIN_GIB = 2.0
_ROLES = {Phase.BASELINE: "baseline", Phase.BURST: "burst maximum", Phase.FIXED: "maximum"}


def with_lookalikes(
    time_at: tuple[CeilingTime, ...],
    intervals: tuple[Interval, ...],
    instance: Instance,
    ceilings: tuple[Ceiling, ...],
    catalog: Catalog,
    series: Mapping[Metric, Series],
) -> tuple[CeilingTime, ...]:
    """
    Return the times at ceilings; those of unknown origin get the documented numbers at their level.

    Numbers of this instance's own ceilings were compared before and ruled out, so they are no candidates.
    """
    if is_aurora(instance) or all(at.ceiling is not None for at in time_at):
        return time_at
    own = {(c.dimension, c.value) for c in ceilings}
    every = documented(catalog, engine_family(instance.engine) or "postgres")
    numbers = [n for n in every if (n.dimension, n.value) not in own]

    def found(at: CeilingTime) -> tuple[Lookalike, ...]:
        listed = _lookalikes(at, intervals, instance, numbers)
        return (*_gp2_sizes(at, instance, series), *listed)[:SHOWN]

    return tuple(replace(at, lookalikes=found(at)) if at.ceiling is None else at for at in time_at)


def _gp2_sizes(at: CeilingTime, instance: Instance, series: Mapping[Metric, Series]) -> Iterator[Lookalike]:
    """
    Yield the gp2 size whose baseline a level of IOPS is, where something says that the storage was gp2.

    gp2 has 3 IOPS for each GiB, so any level is that of some size: only the size of the instance, now or before free
    space jumped, or a BurstBalance (which no other SSD storage has) makes one a candidate.

    Source:
        EBS User Guide, "General Purpose SSD volumes": 3 IOPS per GiB from 100 to 16,000 IOPS; BurstBalance.
    """
    if at.dimension is not Dimension.IOPS or not GP2_OPS[0] * 0.99 <= at.level <= GP2_OPS[1] * 1.01:
        return
    size_gib = at.level / GP2_OPS_PER_GIB
    now_gib = instance.storage.total_gib
    known = [now_gib, *(now_gib - jump for jump in _jumps_gib(series))] if now_gib else []
    near = [size for size in known if abs(size / size_gib - 1) < GP2_SIZE_RATIO]
    balance = series.get(Metric.VOLUME_BALANCE_RATIO)
    is_gp2_seen = balance is not None and bool(np.isfinite(balance.value).any())
    if not near and not is_gp2_seen:
        return
    # Sizes are whole GiB, and mostly round; a level is known to a percent.
    size = next((one for one in near if one == now_gib), float(round(size_gib)))
    if not near and size_gib > 50:
        size = 5.0 * round(size_gib / 5)
    rate = format_rate(GP2_OPS_PER_GIB * size, Dimension.IOPS)
    seen = "; BurstBalance was measured, which only gp2 has" if is_gp2_seen else ""
    yield Lookalike(
        text=f"gp2 storage of {size:,.0f} GiB has {rate} without credits, 3 IOPS per GiB{seen}",
        flags=f"--storage gp2 --size-gib {size:g}",
        value=GP2_OPS_PER_GIB * size,
    )


def _jumps_gib(series: Mapping[Metric, Series]) -> list[float]:
    """Return by how much free space rose within a sample, as it does when the storage is enlarged."""
    free = series.get(Metric.FREE_STORAGE_BYTES)
    if free is None or free.value.size < 2:
        return []
    rises = np.diff(free.value[np.isfinite(free.value)]) / GIB
    return [float(rise) for rise in rises if rise >= JUMP_MIN_GIB]


def _lookalikes(
    at: CeilingTime, intervals: tuple[Interval, ...], instance: Instance, numbers: Iterable[Documented]
) -> tuple[Lookalike, ...]:
    mine = [i for i in intervals if i.ceiling is None and i.dimension is at.dimension]
    mine = [i for i in mine if round(i.level) == round(at.level)]
    # In the hours after a restore storage is loaded from S3, at no documented rate.
    if not mine or all(i.context for i in mine):
        return ()
    # Error bars are 1.96 standard errors wide; the narrowest interval has the best estimate.
    log_se = min(float(np.log(i.level_high / i.level)) for i in mine) / 1.96
    weighed = [
        (weight, number)
        for number in numbers
        if number.dimension is at.dimension and (weight := _weight(number, at.level, log_se, instance)) > 0
    ]
    weighed.sort(key=lambda pair: (-pair[0], pair[1].value))
    return tuple(_lookalike(number, instance) for _, number in weighed[:SHOWN])


def _weight(number: Documented, level: float, log_se: float, instance: Instance) -> float:
    z = matching_z(level, number.value, log_se)
    if z is None:
        return 0.0
    count = STORAGE_WEIGHT if number.storage_kind else float(len(number.classes))
    if number.valid_to is not None:
        count *= LEGACY_WEIGHT
    if _family(instance.db_class) in {_family(name) for name in number.classes}:
        count *= SAME_FAMILY_WEIGHT
    return count * float(np.exp(-0.5 * z * z))


def _family(db_class: str | None) -> str | None:
    return db_class.split(".")[1] if db_class and db_class.count(".") > 1 else None


def is_of_family(candidate: Lookalike, instance: Instance) -> bool:
    """Return whether a candidate is likelier than chance: another size of the same family, or storage."""
    classes = [word for word in candidate.flags.split() if word.startswith("db.")]
    return not classes or any(_family(name) == _family(instance.db_class) for name in classes)


def _lookalike(number: Documented, instance: Instance) -> Lookalike:
    rate = format_rate(number.value, number.dimension)
    if number.storage_kind:
        if number.dimension is Dimension.THROUGHPUT:
            rate = f"{number.value / MIB:g} MiB/s ({rate})"
        least, most = number.size_gib
        kind = f"{number.storage_kind} storage of {least:,.0f} to {most:,.0f} GiB"
        has = "bursts to" if number.phase is Phase.BURST else "has"
        if number.storage_kind == "gp3":
            has = "includes"
        size = least if instance.storage.size_gib is None else instance.storage.size_gib
        size = float(np.clip(size, least, most))
        return Lookalike(
            text=f"{kind} {has} {rate}",
            flags=f"--storage {number.storage_kind} --size-gib {size:g}",
            value=number.value,
        )
    mine = _family(instance.db_class)
    classes = sorted(number.classes, key=lambda name: (_family(name) != mine, size_order(name)))
    shown = ", ".join(classes[:NAMES_SHOWN])
    more = len(classes) - NAMES_SHOWN
    if more > 0:
        shown += f" and {more} more" if more > 1 else f" and {classes[-1]}"
    until = f" until {number.valid_to}; old instances keep it" if number.valid_to else ""
    verb = "was" if number.valid_to else "is"
    return Lookalike(
        text=f"{rate} {verb} the {_ROLES[number.phase]} of {shown}{until}",
        flags=f"--class {classes[0]}",
        value=number.value,
    )


def own_number(at: CeilingTime, intervals: Iterable[Interval]) -> RuledOut | None:
    """Return the instance's own ceiling that has the number of a level but was ruled out."""
    for interval in intervals:
        for row in interval.ruled_out:
            is_same = row.ceiling.dimension is at.dimension
            if is_same and matching_z(at.level, row.ceiling.value, 0.0) is not None:
                return row
    return None


def lookup_text(at: CeilingTime, instance: Instance) -> str:
    """Return the candidates for a level of unknown origin, in a sentence or two; empty without any."""
    if not at.lookalikes:
        return ""
    candidates = "; ".join(one.text for one in at.lookalikes)
    if instance.db_class is None or instance.storage.kind is None:
        return f"{candidates}."
    return f"This class and storage have no such limit, but others do: {candidates}."


def lookup_moves(at: CeilingTime, instance: Instance) -> tuple[str, ...]:
    """Return the actions that confirm the candidates."""
    if not at.lookalikes:
        return ()
    until = f"--to {format_time(at.over_s)} " if at.over_s is not None else ""
    flags = " or ".join(f"`{until}{one.flags}`" for one in at.lookalikes)
    if instance.db_class is None or instance.storage.kind is None:
        return (f"To name this limit, give the class and storage, for example {flags}.",)
    advice = (
        "Check whether class or storage changed in this window, or differ from what you gave. "
        f"Then diagnose that time again with {flags}."
    )
    return (advice,)
