"""Rule `legacy-limit`: the instance is at a limit that its class no longer has."""

from plimsoll.model.ceiling import Phase
from plimsoll.watch.law.amounts import format_amount
from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.rules.settings import Minutes, RuleSettings
from plimsoll.watch.law.situation import Situation


class LegacyLimitSettings(RuleSettings, frozen=True, kw_only=True):
    """Settings of the rule. The limit shows only under load, so a week without it resolves the alert."""

    for_minutes: Minutes = 0
    nearing_for_minutes: Minutes = 0
    clear_minutes: Minutes = 7 * 24 * 60


def conditions(situation: Situation, settings: LegacyLimitSettings) -> tuple[Condition, ...]:
    """Return one condition for each legacy limit that was reached within the window."""
    del settings
    if not situation.is_storage_judged:
        return (Condition(at_s=situation.at_s, is_known=False, text="could not be compared with legacy limits"),)
    found: dict[str, Condition] = {}
    for interval in situation.diagnosis.intervals:
        ceiling = interval.ceiling
        if interval.phase is not Phase.LEGACY or ceiling is None or ceiling.family.value in found:
            continue
        until = ceiling.origin.valid_to
        dated = f"; the class had it until {until}" if until else ""
        found[ceiling.family.value] = Condition(
            ceiling=ceiling.family.value,
            at_s=situation.at_s,
            bound_since_s=interval.start_s,
            value=interval.level,
            limit=ceiling.value,
            unit=ceiling.unit,
            text=(
                f"has a legacy limit of {format_amount(ceiling.value, ceiling.unit)}{dated}: "
                f"{format_amount(interval.level, ceiling.unit)} served"
            ),
            facts=("A stop and a start give the instance the present limits of its class",),
        )
    return tuple(found.values())
