"""The network ceilings of an instance, in bytes per second each way."""

from plimsoll.catalog.load import Catalog
from plimsoll.limits.class_limits import catalogued
from plimsoll.limits.layout import is_aurora
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.instance import Instance

_NOTE = "each way; no metric shows the remaining network credits"


def applies(instance: Instance) -> bool:
    """Return whether the instance has a class."""
    return instance.db_class is not None


def ceilings(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """
    Return baseline and burst, or the one fixed number, bytes/s each way; none where it is not known.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    limits = catalogued(instance, catalog)
    if limits is None:
        return ()
    baseline, burst = limits.network_baseline_bytes_per_s, limits.network_burst_bytes_per_s
    if baseline is None or burst is None:
        return ()
    # EC2 states bandwidth for each direction: a full-duplex link has it for receiving and for sending.
    phases = [(Phase.FIXED, burst)]
    if baseline < burst:
        phases = [(Phase.BASELINE, baseline), (Phase.BURST, burst)]
    # Aurora User Guide, aurora-auroramonitoring-metrics (2026-04).
    clients_only = "; the metrics leave out the cluster volume" if is_aurora(instance) else ""
    return tuple(
        Ceiling(
            family=Family.NETWORK,
            phase=phase,
            dimension=Dimension.AMOUNT,
            value=value,
            unit="bytes/s",
            origin=limits.origin,
            note=f"{_NOTE if baseline < burst else 'each way'}{clients_only}",
        )
        for phase, value in phases
    )
