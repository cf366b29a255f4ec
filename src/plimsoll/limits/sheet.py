"""The limit sheet of an instance: the rates of its chain at every I/O size."""

import numpy as np

from plimsoll.catalog.load import Catalog
from plimsoll.kernel import Curve, Stage, ceiling_curve, knee_bytes
from plimsoll.limits import ceilings_of, chain_of, limits_of
from plimsoll.limits.balances import balances_of
from plimsoll.limits.layout import is_aurora, volume_count_of, volumes_of
from plimsoll.model.ceiling import Ceiling, Family, Origin
from plimsoll.model.family import FAMILIES
from plimsoll.model.instance import Instance, engine_family
from plimsoll.model.limit import InstanceLimits
from plimsoll.model.sheet import ChainRate, Knee, LimitSheet, SheetRow, StageLine, UnusableStorage
from plimsoll.units import KIB

TABLE_SIZES = tuple(float(KIB * 2**power) for power in range(3, 11))
"""8 KiB, the page of PostgreSQL, to 1 MiB, the largest request Linux sends by default."""

# Sixteen points for each doubling draw a smooth line; the table's sizes are among them.
_CURVE_SIZES = tuple(float(size) for size in KIB * 2 ** (3 + np.arange(7 * 16 + 1) / 16))
_PAIRS = ((Family.VOLUME_IOPS, Family.INSTANCE_EBS_IOPS), (Family.VOLUME_THROUGHPUT, Family.INSTANCE_EBS_THROUGHPUT))


def sheet_of(instance: Instance, catalog: Catalog) -> LimitSheet:
    """
    Return the rates of the instance at each I/O size, with its ceilings, balances and notes.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    ceilings = ceilings_of(instance, catalog)
    chain = chain_of(instance, catalog)
    bursts = any(stage.burst > stage.baseline for stage in chain)
    return LimitSheet(
        instance=instance,
        volume_count=volume_count_of(instance, catalog),
        rows=_rows(chain, TABLE_SIZES),
        knee=_knee(chain, burst=False),
        burst_knee=_knee(chain, burst=True) if bursts else None,
        curve=_rows(chain, _CURVE_SIZES),
        stages=tuple(_line(stage) for stage in chain),
        ceilings=ceilings,
        balances=balances_of(instance, chain, catalog),
        unreachable=_unreachable(chain),
        origins=_origins(ceilings),
        notes=_notes(instance, catalog),
    )


def _rows(chain: tuple[Stage, ...], sizes: tuple[float, ...]) -> tuple[SheetRow, ...]:
    if not chain:
        return ()
    baseline, burst = ceiling_curve(chain, sizes), ceiling_curve(chain, sizes, burst=True)
    return tuple(
        SheetRow(io_size_bytes=size, baseline=_rate(chain, baseline, at), burst=_rate(chain, burst, at))
        for at, size in enumerate(sizes)
    )


def _rate(chain: tuple[Stage, ...], curve: Curve, at: int) -> ChainRate:
    return ChainRate(
        bytes_per_s=float(curve.bytes_per_s[at]),
        ops_per_s=float(curve.ops_per_s[at]),
        binding=Family(chain[int(curve.stage[at])].name),
    )


def _knee(chain: tuple[Stage, ...], *, burst: bool) -> Knee | None:
    """Return the I/O size where the binding stage changes from an IOPS limit to a throughput limit."""
    if not chain:
        return None
    # From half a KiB to 4 MiB: wider than any request, so that no knee lies outside.
    sizes = np.geomspace(KIB / 2, 4096 * KIB, 512)
    curve = ceiling_curve(chain, sizes, burst=burst)
    counts_bytes = np.array([chain[int(index)].counts == "bytes" for index in curve.stage])
    # Below the knee a chain is bound by operations, above it by bytes. One kind alone has no knee.
    if counts_bytes.all() or not counts_bytes.any():
        return None
    above = int(np.argmax(counts_bytes))
    ops_per_s, bytes_per_s = float(curve.ops_per_s[above - 1]), float(curve.bytes_per_s[above])
    return Knee(
        io_size_bytes=knee_bytes(bytes_per_s, ops_per_s),
        bytes_per_s=bytes_per_s,
        ops_per_s=ops_per_s,
        below=Family(chain[int(curve.stage[above - 1])].name),
        above=Family(chain[int(curve.stage[above])].name),
    )


def _line(stage: Stage) -> StageLine:
    baseline = ceiling_curve([stage], _CURVE_SIZES).bytes_per_s
    burst = ceiling_curve([stage], _CURVE_SIZES, burst=True).bytes_per_s
    return StageLine(
        family=Family(stage.name),
        baseline_bytes_per_s=tuple(baseline.tolist()),
        burst_bytes_per_s=tuple(burst.tolist()),
    )


def _unreachable(chain: tuple[Stage, ...]) -> tuple[UnusableStorage, ...]:
    """Return sustained volume rates above the sustained rate of the instance."""
    stages = {Family(stage.name): stage for stage in chain}
    found = []
    for volume_family, instance_family in _PAIRS:
        volume, instance = stages.get(volume_family), stages.get(instance_family)
        if volume is None or instance is None:
            continue
        bought = volume.baseline * volume.stripes
        # Baselines are compared: a burst of the instance uses such a volume for a part of the day only.
        if bought > instance.baseline:
            found.append(
                UnusableStorage(
                    family=volume_family,
                    unit=FAMILIES[volume_family].unit,
                    bought=bought,
                    burst=instance.burst,
                    baseline=instance.baseline,
                )
            )
    return tuple(found)


def _origins(ceilings: tuple[Ceiling, ...]) -> tuple[Origin, ...]:
    published: dict[tuple[str, str], Origin] = {}
    for ceiling in ceilings:
        origin = ceiling.origin
        if origin.read_on:
            published.setdefault((origin.source, origin.read_on), origin)
    return tuple(published.values())


def _notes(instance: Instance, catalog: Catalog) -> tuple[str, ...]:
    notes = []
    storage = instance.storage
    if is_aurora(instance):
        notes.append("No EBS or volume limit is documented for Aurora storage.")
    elif storage.kind is None:
        notes.append("Storage was not given: only the limits of the instance class are shown.")
    elif storage.kind == "standard":
        notes.append("Throughput and number of volumes of magnetic storage are not documented.")
    limits = limits_of(instance, catalog)
    if limits is not None:
        notes += _class_notes(instance, limits, catalog)
    volumes = volumes_of(instance, catalog)
    if volumes is not None:
        notes += [_sentence(text) for text in (volumes.note, volumes.rule.note if volumes.rule else "") if text]
    if instance.multi_az:
        notes.append(
            "Multi-AZ: writes wait for the standby. AWS does not document whether that traffic"
            " counts against the primary's EBS limits."
        )
    return tuple(notes)


def _class_notes(instance: Instance, limits: InstanceLimits, catalog: Catalog) -> list[str]:
    notes = [_sentence(limits.note)] if limits.note else []
    if limits.ebs_burst_bytes_per_s is None and not is_aurora(instance):
        notes.append(f"No EBS limit is documented for {limits.db_class}: unknown, not zero.")
    regions = catalog.regions_of(limits.db_class)
    family = engine_family(instance.engine)
    offered = {engine_family(engine) for engine, count in regions.items() if count}
    if family is not None and offered and family not in offered:
        notes.append(f"{limits.db_class} is listed for {instance.engine} in no region.")
    if not limits.is_offered:
        notes.append(f"{limits.db_class} is in no RDS list; the numbers shown are those of EC2.")
    return notes


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
