"""
The setups that can be bought: every orderable class, with every storage of a grid.

An arrangement is a class and a storage. Both lists are short, so an arrangement is a pair of indices
that becomes an `Instance` only on demand.

A class is left out if it does not meet the needs (`needs.py`), if its EBS limits are not documented, or
if it runs on Xen and no pattern names it. Storage never becomes smaller, grows by a tenth at least, and
follows the engine's documented rules (`limits/purchase.py`). Magnetic storage is never proposed. For
the patterns of `--allow` and `--deny` see `patterns.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from plimsoll.catalog import schema
from plimsoll.catalog.load import Catalog
from plimsoll.catalog.names import class_name, size_order
from plimsoll.errors import UsageError
from plimsoll.limits.layout import is_aurora, is_serverless
from plimsoll.model.instance import Deployment, Instance, Storage, engine_family
from plimsoll.model.limit import InstanceLimits
from plimsoll.model.plan import PlanConstraints
from plimsoll.model.series import BoolArray, IntArray
from plimsoll.plan.market.needs import ResourceNeeds, shortfall
from plimsoll.plan.market.patterns import ProposalPatterns, patterns_of
from plimsoll.plan.market.shape import shape_of
from plimsoll.plan.market.storages import describe_storage, storages_of

# The only region whose classes are listed by engine; for others a list has the number of regions.
_LISTED_REGION = "us-east-1"
# A judgement: grids and what follows from them take some ten megabytes each. Few instances that follow each
# other need more than these.
GRIDS_KEPT = 16
_KNOWN_EBS = ("ebs_burst_bytes_per_s", "ebs_burst_ops_per_s")


class ExcludedClass(Struct, frozen=True, kw_only=True):
    """A class that can be ordered and is not proposed."""

    db_class: str
    reason: str
    """A clause about the class as `it`: `it has 2 vCPUs instead of 4 …`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SetupGrid:
    """
    Classes × storages; a setup is named by its place in the two index arrays.

    Instances that differ only in what no limit and no price depends on share one, so that what follows from
    it is computed once for many of them.
    """

    shape: Instance
    """`shape_of` the instances that have it."""
    own: InstanceLimits | None
    """Of the current class; None where it has none."""
    classes: tuple[InstanceLimits | None, ...]
    """By family and size; None for an instance that has no class."""
    storages: tuple[Storage, ...]
    class_index: IntArray
    """Place in `classes`, shape (n,)."""
    storage_index: IntArray
    """Place in `storages`, shape (n,)."""

    @cached_property
    def is_same_class(self) -> BoolArray:
        """Return whether the class stays, shape (n,)."""
        same = [one is None or one.db_class == _class(self.shape) for one in self.classes]
        return np.array(same, dtype=np.bool_)[self.class_index]

    @cached_property
    def is_same_storage(self) -> BoolArray:
        """Return whether the storage is unchanged, shape (n,)."""
        same = [one == self.shape.storage for one in self.storages]
        return np.array(same, dtype=np.bool_)[self.storage_index]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrangements:
    """The setups that one instance can have."""

    before: Instance
    """The current instance, with the engine and standby of the constraints."""
    grid: SetupGrid
    refused: tuple[ExcludedClass, ...]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of arrangements."""
        return int(self.grid.class_index.size)

    @property
    def own(self) -> InstanceLimits | None:
        """Return the limits of the current class; None where it has none."""
        return self.grid.own

    @property
    def classes(self) -> tuple[InstanceLimits | None, ...]:
        """Return the classes, by family and size; None for an instance that has no class."""
        return self.grid.classes

    @property
    def storages(self) -> tuple[Storage, ...]:
        """Return the storages."""
        return self.grid.storages

    @property
    def class_index(self) -> IntArray:
        """Return the place in `classes` of each arrangement, shape (n,)."""
        return self.grid.class_index

    @property
    def storage_index(self) -> IntArray:
        """Return the place in `storages` of each arrangement, shape (n,)."""
        return self.grid.storage_index

    @property
    def is_same_class(self) -> BoolArray:
        """Return whether the class stays, shape (n,)."""
        return self.grid.is_same_class

    @property
    def is_same_storage(self) -> BoolArray:
        """Return whether the storage is unchanged, shape (n,)."""
        return self.grid.is_same_storage

    @property
    def present(self) -> int | None:
        """Return the arrangement that changes nothing; None where it is denied."""
        same = np.flatnonzero(self.is_same_class & self.is_same_storage)
        return int(same[0]) if same.size else None

    def limits(self, index: int) -> InstanceLimits | None:
        """Return the class of an arrangement; None for an instance that has none."""
        return self.classes[int(self.class_index[index])]

    def instance(self, index: int) -> Instance:
        """Return the instance of an arrangement."""
        limits = self.limits(index)
        return arranged(self.before, limits, self.storages[self.storage_index[index]])

    def name(self, index: int) -> str:
        """Return `db.m5.large, gp3 400 GiB`"""
        limits = self.limits(index)
        storage = describe_storage(self.storages[self.storage_index[index]])
        return ", ".join(part for part in (limits.db_class if limits else "", storage) if part)


def arranged(before: Instance, limits: InstanceLimits | None, storage: Storage) -> Instance:
    """
    Return an instance with another class or storage.

    Facts that the instance reported about its own class are removed with the class.
    """
    if limits is None or limits.db_class == _class(before):
        return replace(before, storage=storage, pending=())
    return replace(
        before,
        db_class=limits.db_class,
        storage=storage,
        connection_max=None,
        vcpu_count=None,
        memory_bytes=None,
        ebs_limits=None,
        pending=(),
    )


def arrangements(
    instance: Instance, catalog: Catalog, needs: ResourceNeeds, constraints: PlanConstraints
) -> Arrangements:
    """
    Return the arrangements that can be bought for an instance and meet its needs, the present one included.

    Args:
        instance: the current instance.
        catalog: classes and storage rules.
        needs: of its window.
        constraints: parts to keep, and patterns that are allowed or denied.

    Raises:
        UsageError: constraints that contradict each other or the instance, or an unknown engine.
        CatalogError: the instance's class is not in the catalog.
    """
    before = _with_constraints(instance, constraints)
    patterns = patterns_of(before, constraints, catalog)
    classes, refused = _classes(before, catalog, needs, constraints, patterns)
    shape = shape_of(before)
    storages, notes = storages_of(shape, catalog, patterns, is_kept=constraints.keep_storage)
    if not storages or not classes:
        what = "storage" if not storages else "class"
        raise UsageError(f"--allow and --deny leave no {what} that could be bought", "Omit one of them.")
    return Arrangements(
        before=before,
        grid=_grid(shape, needs.present, classes, storages, catalog),
        refused=refused,
        notes=(*needs.notes, *_notes(before), *notes),
    )


@lru_cache(maxsize=GRIDS_KEPT)
def _grid(
    shape: Instance,
    own: InstanceLimits | None,
    classes: tuple[InstanceLimits | None, ...],
    storages: tuple[Storage, ...],
    catalog: Catalog,
) -> SetupGrid:
    most_gib = np.array([_size_gib_max(limits, catalog) for limits in classes])
    # A storage without a size fits every class.
    size_gib = np.array([-inf if one.size_gib is None else one.size_gib for one in storages])
    class_index, storage_index = np.nonzero(size_gib[None, :] <= most_gib[:, None])
    return SetupGrid(
        shape=shape,
        own=own,
        classes=classes,
        storages=storages,
        class_index=class_index.astype(np.int64),
        storage_index=storage_index.astype(np.int64),
    )


def _with_constraints(instance: Instance, constraints: PlanConstraints) -> Instance:
    engine = constraints.engine or instance.engine
    if constraints.engine is not None and engine_family(constraints.engine) is None:
        raise UsageError(
            f"'{constraints.engine}' is not an engine that RDS has",
            "Use postgres, mysql, mariadb, oracle-ee, sqlserver-se, db2-se or an Aurora engine.",
        )
    if None not in (constraints.engine, instance.engine) and engine_family(engine) != engine_family(instance.engine):
        raise UsageError(
            f"{instance.identifier} runs {instance.engine} and cannot be changed to {engine}", "Omit --engine."
        )
    is_cluster = instance.deployment is Deployment.MULTI_AZ_CLUSTER
    if is_cluster and constraints.multi_az is False:
        raise UsageError(
            f"{instance.identifier} is a member of a Multi-AZ DB cluster, which cannot be changed to a single instance",
            "Omit --single-az.",
        )
    multi_az = instance.multi_az if constraints.multi_az is None else constraints.multi_az
    return replace(instance, engine=engine, multi_az=multi_az)


def _classes(
    before: Instance, catalog: Catalog, needs: ResourceNeeds, constraints: PlanConstraints, patterns: ProposalPatterns
) -> tuple[tuple[InstanceLimits | None, ...], tuple[ExcludedClass, ...]]:
    """Return the present class and every other that fits, by family and size."""
    present = _class(before)
    if present is None:
        return (None,), ()
    own = needs.present or catalog.instance_limits(present)
    kept = [] if patterns.denies_class(present) else [own]
    # Aurora Serverless has a range of capacity instead of a class.
    if constraints.keep_class or is_serverless(before):
        return tuple(kept), ()
    if before.engine is None:
        raise UsageError(
            "which classes can be ordered depends on the engine",
            "Add --engine postgres, mysql, mariadb, oracle-ee, sqlserver-se or db2-se.",
        )
    refused = []
    for name in orderable_classes(before.engine, before.region, catalog):
        if name == present or not patterns.permits_class(name):
            continue
        limits = catalog.instance_limits(name)
        reason = _refusal(limits, own, before, needs, catalog, patterns)
        if reason:
            refused.append(ExcludedClass(db_class=name, reason=reason))
        else:
            kept.append(limits)
    return tuple(sorted(kept, key=lambda one: size_order(one.db_class))), tuple(refused)


@lru_cache(maxsize=256)
def orderable_classes(engine: str, region: str | None, catalog: Catalog) -> tuple[str, ...]:
    """
    Return classes that RDS sells for an engine, by family and size.

    In us-east-1 these are the listed ones; elsewhere those that some region has.
    """
    name = engine.strip().lower()
    found = []
    for row in catalog.rows(schema.CLASSES):
        here = row.us_east_1.split()
        if region != _LISTED_REGION:
            here = [pair.partition(":")[0] for pair in row.regions.split()] + here
        # Container databases of Oracle are sold with the classes of their edition.
        if name in here or name.removesuffix("-cdb") in here:
            found.append(row.db_class)
    return tuple(sorted(found, key=size_order))


def _refusal(
    limits: InstanceLimits,
    own: InstanceLimits,
    before: Instance,
    needs: ResourceNeeds,
    catalog: Catalog,
    patterns: ProposalPatterns,
) -> str:
    if not limits.is_offered:
        return "no RDS list contains it"
    if before.deployment is Deployment.MULTI_AZ_CLUSTER and not catalog.has_clusters(limits.db_class):
        return "no Multi-AZ DB cluster is sold with it"
    # Without documented limits nothing can be replayed. Aurora keeps its data in a cluster
    # volume and has no such limits.
    if not is_aurora(before) and any(getattr(limits, name) is None for name in _KNOWN_EBS):
        return "its EBS limits are not documented"
    # Judgement: classes on Xen are of generations before 2018, which AWS is withdrawing; they are
    # proposed only if a pattern names them.
    if limits.hypervisor == "xen" and not patterns.names_class(limits.db_class):
        return "AWS is withdrawing its generation"
    if patterns.is_architecture_kept and own.cpu_arch and limits.cpu_arch != own.cpu_arch:
        return "it has another processor architecture, which you deny"
    return shortfall(limits, needs, catalog, patterns.words)


def _size_gib_max(limits: InstanceLimits | None, catalog: Catalog) -> float:
    """Return the largest storage that a class supports; the smallest T classes have a maximum."""
    if limits is None:
        return inf
    # RDS User Guide, DB instance storage: t3 and t4g of these sizes take less storage than all
    # others.
    family, _, size = limits.db_class.removeprefix("db.").partition(".")
    if family not in ("t3", "t4g") or size not in ("micro", "small", "medium"):
        return inf
    return catalog.volume_rule("burstable", f"{size}_size_gib_max").value


def _class(instance: Instance) -> str | None:
    return None if instance.db_class is None else class_name(instance.db_class)


def _notes(before: Instance) -> Iterable[str]:
    if before.db_class is None:
        yield "The class is unknown: only storage options are shown."
    elif before.region is not None and before.region != _LISTED_REGION:
        yield (
            f"The catalog does not list the classes of {before.region}: check with"
            " aws rds describe-orderable-db-instance-options before you order."
        )
