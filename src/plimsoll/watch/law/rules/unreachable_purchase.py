"""Rule `unreachable-purchase`: more storage performance is paid for than the class can use."""

from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.rules.settings import Minutes, RuleSettings
from plimsoll.watch.law.situation import Situation

_CODE = "StorageBeyondInstance"


class UnreachablePurchaseSettings(RuleSettings, frozen=True, kw_only=True):
    """Settings of the rule. A change of class passes through a day, and is not worth a message in between."""

    for_minutes: Minutes = 24 * 60
    nearing_for_minutes: Minutes = 24 * 60
    clear_minutes: Minutes = 60


def conditions(situation: Situation, settings: UnreachablePurchaseSettings) -> tuple[Condition, ...]:
    """Return the condition of the instance."""
    del settings
    diagnosis = situation.diagnosis
    found = [finding for finding in diagnosis.findings if finding.code == _CODE]
    if not found:
        is_known = bool(diagnosis.ceilings)
        return (
            Condition(
                at_s=situation.at_s,
                is_known=is_known,
                text="can use all the storage performance that it pays for"
                if is_known
                else "has no known limits, so what it pays for cannot be compared with them",
            ),
        )
    # The finding is a clause about the reader: `you pay for 30,000 IOPS; this class can use 18,750`.
    paid = found[0].title.removeprefix("you pay for ")
    return (
        Condition(
            at_s=situation.at_s,
            bound_since_s=situation.at_s,
            text=f"cannot use all the storage performance that you pay for: {paid}",
            facts=tuple(f.text for f in found if f.text),
        ),
    )
