"""Rule `balance-empty`: the credits of a bucket have been at zero for an hour."""

from plimsoll.model.family import FAMILIES
from plimsoll.units import format_ratio
from plimsoll.watch.law.amounts import format_amount
from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.rules.settings import Minutes, RuleSettings
from plimsoll.watch.law.situation import CeilingUse, Situation, balance_families

# The metric is rounded to whole percents: below half a percent it reads zero.
EMPTY_RATIO = 0.005
"""Credits from which a balance counts as empty."""


class BalanceEmptySettings(RuleSettings, frozen=True, kw_only=True):
    """Settings of the rule. Its nearing is the moment at which the balance reaches zero."""

    for_minutes: Minutes = 60
    nearing_for_minutes: Minutes = 0


def conditions(situation: Situation, settings: BalanceEmptySettings) -> tuple[Condition, ...]:
    """Return one condition for each bucket of the instance."""
    del settings
    return tuple(_of_bucket(situation, situation.uses[family]) for family in balance_families(situation))


def _of_bucket(situation: Situation, use: CeilingUse) -> Condition:
    at_s, name = situation.at_s, FAMILIES[use.family].credits_name
    left = use.balance.newest(at_s) if use.balance is not None else None
    if use.balance is None or left is None:
        return Condition(
            ceiling=use.family.value, name=use.name, at_s=at_s, is_known=False, text=f"does not report its {name}"
        )
    since_s = use.balance.held_since(use.balance.value <= EMPTY_RATIO, at_s)
    baseline = ""
    if use.sustained is not None:
        baseline = f", so its baseline of {format_amount(use.sustained.value, use.unit)} applies"
    return Condition(
        ceiling=use.family.value,
        name=use.name,
        at_s=at_s,
        bound_since_s=since_s,
        nearing_since_s=since_s,
        value=left,
        limit=0.0,
        unit="ratio",
        text=(
            f"has no {name} left{baseline}" if since_s is not None else f"has {format_ratio(left)} of its {name} left"
        ),
    )
