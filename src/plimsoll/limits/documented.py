"""
Every documented number of a storage rate, with the classes and storages that have it.

The numbers come from the other files of this package, for every class and for the sizes at which the rules
of gp2 and gp3 change. Provisioned rates can be any number and are not among them.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby

from msgspec import Struct

from plimsoll.catalog import schema
from plimsoll.catalog.load import Catalog
from plimsoll.limits import bucket, volumes
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.family import FAMILIES
from plimsoll.model.instance import Instance, Storage

_KINDS = ("gp2", "gp3")


class Documented(Struct, frozen=True, kw_only=True):
    """One number, with all classes or sizes that have it in the same role."""

    dimension: Dimension
    value: float
    """bytes/s or ops/s, reads and writes together."""
    family: Family
    phase: Phase
    """Baseline, burst or fixed, also for legacy numbers."""
    valid_to: str | None = None
    """ISO date until which it was documented; None for what is documented now."""
    classes: tuple[str, ...] = ()
    """RDS classes by name; empty for storage."""
    storage_kind: str = ""
    """`gp2` or `gp3`; empty for classes."""
    size_gib: tuple[float, float] = (0.0, 0.0)
    """Smallest and largest allocated storage that has it; zeros for classes."""


# There are few engines and one catalog. Computing some two hundred classes takes longer than a diagnosis.
@lru_cache(maxsize=8)
def documented(catalog: Catalog, engine: str) -> tuple[Documented, ...]:
    """
    Return every documented number of the four storage rates, present and legacy.

    Args:
        catalog: the facts.
        engine: engine family whose storage layout counts: `postgres`, `oracle` …
    """
    return (*_of_classes(catalog), *_of_storage(catalog, engine))


def _of_classes(catalog: Catalog) -> Iterator[Documented]:
    found: dict[tuple[Family, float, Phase, str | None], set[str]] = {}
    for row in catalog.rows(schema.INSTANCE_LIMITS):
        # A class that RDS does not offer cannot be the class behind an observed level.
        if not row.is_offered:
            continue
        instance = Instance(db_class=row.db_class)
        for rule in bucket.RULES.values():
            for ceiling in rule(instance, catalog):
                found.setdefault(_role(ceiling), set()).add(row.db_class)
    for (family, value, phase, valid_to), classes in found.items():
        yield Documented(
            dimension=FAMILIES[family].dimension,
            value=value,
            family=family,
            phase=phase,
            valid_to=valid_to,
            classes=tuple(sorted(classes)),
        )


def _role(ceiling: Ceiling) -> tuple[Family, float, Phase, str | None]:
    valid_to = ceiling.origin.valid_to if ceiling.phase is Phase.LEGACY else None
    return ceiling.family, ceiling.value, ceiling.bucket_phase, valid_to


def _of_storage(catalog: Catalog, engine: str) -> Iterator[Documented]:
    for kind in _KINDS:
        sizes = _sizes(catalog, engine, kind)
        for rule in (volumes.throughput, volumes.iops):
            by_size = [
                (size, ceiling)
                for size in sizes
                for ceiling in rule(Instance(engine=engine, storage=Storage(kind=kind, size_gib=size)), catalog)
                # gp2's baseline is 3 IOPS per GiB: every number is that of some size.
                if kind != "gp2" or ceiling.phase is not Phase.BASELINE
            ]
            yield from _ranges(kind, by_size)


def _sizes(catalog: Catalog, engine: str, kind: str) -> list[float]:
    """Return the sizes in GiB at which a rule begins or ends."""
    found = set()
    small = catalog.volume_rule("gp2", "small_size_gib_max").value
    for rule in catalog.storage_rules(engine, kind):
        found |= {rule.size_gib_min or 0.0, rule.size_gib_max}
        count = rule.volume_count or 1
        # The throughput of a gp2 volume changes at a size of one volume, here 170 GiB, so the
        # allocated storage at which it changes is that size times the number of volumes.
        if kind == "gp2" and (rule.size_gib_min or 0.0) <= count * small < rule.size_gib_max:
            found |= {count * small, count * (small + 1)}
    return sorted(size for size in found if size)


def _ranges(kind: str, by_size: Iterable[tuple[float, Ceiling]]) -> Iterator[Documented]:
    # The sizes rise, and equal keys keep their order: each group begins with its smallest size.
    def key(pair: tuple[float, Ceiling]) -> tuple[str, float, str]:
        return pair[1].family.value, pair[1].value, pair[1].phase.value

    for _, group in groupby(sorted(by_size, key=key), key=key):
        members = list(group)
        first, ceiling = members[0]
        # Above 1,000 GiB per volume this is 3 IOPS per GiB again: any number fits some size.
        if kind == "gp2" and ceiling.phase is Phase.FIXED and ceiling.dimension is Dimension.IOPS:
            continue
        yield Documented(
            dimension=ceiling.dimension,
            value=ceiling.value,
            family=ceiling.family,
            phase=ceiling.phase,
            storage_kind=kind,
            size_gib=(first, members[-1][0]),
        )
