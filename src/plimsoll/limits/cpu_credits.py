"""
CPU credits of burstable classes: what can be saved, and what can be held without saving.

On RDS most of these classes run on borrowed credits when the saved ones are gone: they do not slow
down, they cost. That is not the EBS burst of the same class, which does slow down.
"""

from plimsoll.catalog.load import Catalog
from plimsoll.limits.class_limits import catalogued
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.limit import CpuCredits
from plimsoll.model.metric import Metric


def applies(instance: Instance) -> bool:
    """Return whether the instance has a class; the catalog says whether that earns credits."""
    return instance.db_class is not None


def ceilings(instance: Instance, catalog: Catalog) -> tuple[Ceiling, ...]:
    """
    Return the most credits that can be saved, then the CPU ratio that they hold forever.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    row = catalogued(instance, catalog)
    if row is None:
        return ()
    earned = catalog.cpu_credits(row.db_class)
    if earned is None:
        return ()
    note = _mode_note(earned)
    return (
        Ceiling(
            family=Family.CPU_CREDITS,
            phase=Phase.FIXED,
            dimension=Dimension.AMOUNT,
            value=earned.credits_max,
            unit="credits",
            origin=earned.origin,
            balance_metric=Metric.CPU_CREDITS,
            capacity_low=earned.credits_max,
            capacity_high=earned.credits_max,
            note=f"{earned.credits_per_hour:g} credits an hour, saved for 24 hours; {note}",
        ),
        Ceiling(
            family=Family.CPU_CREDITS,
            phase=Phase.BASELINE,
            dimension=Dimension.AMOUNT,
            value=earned.baseline_ratio,
            unit="ratio",
            origin=earned.origin,
            balance_metric=Metric.CPU_CREDITS,
            capacity_low=earned.credits_max,
            capacity_high=earned.credits_max,
            note=f"CPU that the earned credits hold forever; {note}",
        ),
    )


def _mode_note(earned: CpuCredits) -> str:
    if earned.is_unlimited:
        return "at zero credits RDS bills borrowed credits and does not throttle this class"
    return "no documentation says whether RDS throttles this class at zero credits"
