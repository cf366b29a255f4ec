"""
The result of a step: whether the change between two windows was enough.

Rule 1: there is a result only if the instance was at a ceiling before for longer than `plan` allows.
Rule 2: the change was enough only if it was tested: in hours of the day in which the ceiling was reached
        before, with a load that is not lighter than the one served then.
"""

from collections.abc import Iterable

from plimsoll.diagnosis.comparison.alike import ALIKE_SHARE
from plimsoll.model.ceiling import Dimension
from plimsoll.model.comparison import MeasuredQuantity, Quantity, SharedHours, Side, StepResult, WindowStatistic
from plimsoll.model.plan import ALLOWED_RATIO

_SERVED = {Dimension.THROUGHPUT: MeasuredQuantity.THROUGHPUT, Dimension.IOPS: MeasuredQuantity.IOPS}


def step_result_of(
    before: Side, after: Side, quantities: tuple[Quantity, ...], *, shared: SharedHours | None, is_like_with_like: bool
) -> StepResult | None:
    """
    Return the result for the ceiling that bound before; None where none did, or a side is unknown.

    Args:
        before: the window before the step.
        after: the window after it.
        quantities: of both windows.
        shared: the same over the hours of day that both cover; None where they cover the day alike,
            or share no hour.
        is_like_with_like: whether both cover the hours of day alike.
    """
    # Another instance has its own limit and its own load, so it shows nothing about the step.
    names = {side.diagnosis.instance.identifier for side in (before, after)}
    shares = (before.at_ceiling_share, after.at_ceiling_share)
    if shares[0] is None or shares[1] is None or len(names) > 1 or shares[0] <= ALLOWED_RATIO:
        return None
    if shares[1] > ALLOWED_RATIO:
        return StepResult.NOT_ENOUGH
    # A quiet hour after the change proves nothing of the hours in which the ceiling was reached.
    if not is_like_with_like:
        if shared is None or (shared.at_ceiling_before or 0.0) <= ALLOWED_RATIO:
            return StepResult.NOT_SEEN
        if (shared.at_ceiling_after or 0.0) > ALLOWED_RATIO:
            return StepResult.NOT_ENOUGH
    lighter = lighter_by(before, shared.quantities if shared else quantities)
    return StepResult.ENOUGH if lighter < ALIKE_SHARE else StepResult.ENOUGH_FOR_LESS


def lighter_by(before: Side, quantities: Iterable[Quantity]) -> float:
    """Return the share 0–1 by which the mean rate fell, in the dimension of the limit that bound before."""
    binding = before.diagnosis.binding
    subject = _SERVED.get(binding.dimension) if binding else None
    for one in quantities:
        if one.subject is subject and one.statistic is WindowStatistic.MEAN:
            return max(-(one.change_ratio or 0.0), 0.0)
    return 0.0
