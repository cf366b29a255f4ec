"""
CPU credits of burstable classes: how many can be saved, and which CPU ratio they sustain.

On RDS most of these classes run on borrowed credits when the saved ones are spent: they are billed, not
throttled. The EBS burst of the same class is another bucket, and it does throttle.
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
    Return the maximum of saved credits, then the CPU ratio that the earned credits sustain.

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
            # Earned credits expire after 24 hours, which bounds the balance
            # (EC2 User Guide, burstable-credits-baseline-concepts).
            note=f"{earned.credits_per_hour:g} credits per hour, kept for 24 hours; {note}",
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
            note=f"CPU ratio that the earned credits sustain; {note}",
        ),
    )


def _mode_note(earned: CpuCredits) -> str:
    if earned.is_unlimited:
        return "at zero credits RDS bills borrowed credits and does not throttle this class"
    return "no documentation says whether RDS throttles this class at zero credits"
