"""All rules by name: what they find, how long it must last, and how severe it is."""

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Struct

from plimsoll.model.contained import guarded
from plimsoll.model.severity import Severity
from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.machine import Timing
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rules import (
    balance_empty,
    bound,
    cause,
    connections,
    headroom,
    legacy_limit,
    time_to_empty,
    unreachable_purchase,
)
from plimsoll.watch.law.rules.balance_empty import BalanceEmptySettings
from plimsoll.watch.law.rules.bound import BoundSettings
from plimsoll.watch.law.rules.cause import CauseSettings
from plimsoll.watch.law.rules.connections import ConnectionsSettings
from plimsoll.watch.law.rules.headroom import HeadroomSettings
from plimsoll.watch.law.rules.legacy_limit import LegacyLimitSettings
from plimsoll.watch.law.rules.settings import RuleSettings
from plimsoll.watch.law.rules.time_to_empty import TimeToEmptySettings
from plimsoll.watch.law.rules.unknown import UnknownSettings
from plimsoll.watch.law.rules.unreachable_purchase import UnreachablePurchaseSettings
from plimsoll.watch.law.situation import FRESH_S, Situation

UNKNOWN = "unknown"
"""Name of the rule about missing data."""


class RuleFacts(Struct, frozen=True, kw_only=True):
    """What is true of a rule whatever its settings."""

    ended: str
    """Completes the sentence `NAME …` where the alert is resolved: `is no longer at a ceiling`."""
    severity: Severity
    """While bound, or unknown."""
    nearing_severity: Severity = "warning"
    find: Callable[[Situation, Any], tuple[Condition, ...]] | None = None
    """Takes the settings of its rule; None for the rule that needs no data."""


RULES: dict[str, RuleFacts] = {
    "bound": RuleFacts(find=bound.conditions, severity="critical", ended="is no longer at a ceiling"),
    "balance-empty": RuleFacts(find=balance_empty.conditions, severity="critical", ended="has credits again"),
    "time-to-empty": RuleFacts(
        find=time_to_empty.conditions, severity="critical", ended="is no longer about to run out"
    ),
    "headroom": RuleFacts(
        find=headroom.conditions, severity="warning", nearing_severity="note", ended="has headroom again"
    ),
    "legacy-limit": RuleFacts(
        find=legacy_limit.conditions, severity="warning", ended="was not at a legacy limit again"
    ),
    "unreachable-purchase": RuleFacts(
        find=unreachable_purchase.conditions, severity="note", ended="can use what you pay for"
    ),
    "connections": RuleFacts(
        find=connections.conditions, severity="warning", nearing_severity="note", ended="has free connections again"
    ),
    "cause": RuleFacts(
        find=cause.conditions,
        severity="warning",
        nearing_severity="note",
        ended="no longer has one cause for most of its load",
    ),
    UNKNOWN: RuleFacts(severity="warning", ended="sends data again"),
}


class RuleTables(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """The tables `[rules.NAME]` of the configuration; what is left out has the defaults of its rule."""

    bound: BoundSettings = BoundSettings()
    balance_empty: BalanceEmptySettings = BalanceEmptySettings()
    time_to_empty: TimeToEmptySettings = TimeToEmptySettings()
    headroom: HeadroomSettings = HeadroomSettings()
    legacy_limit: LegacyLimitSettings = LegacyLimitSettings()
    unreachable_purchase: UnreachablePurchaseSettings = UnreachablePurchaseSettings()
    connections: ConnectionsSettings = ConnectionsSettings()
    cause: CauseSettings = CauseSettings()
    unknown: UnknownSettings = UnknownSettings()

    def of(self, name: str) -> RuleSettings:
        """Return the settings of a rule by its name."""
        found = getattr(self, name.replace("-", "_"))
        assert isinstance(found, RuleSettings)
        return found


def timing_of(name: str, settings: RuleSettings) -> Timing:
    """Return how long the levels of a rule must hold, in seconds of data."""
    return Timing(
        bound_for_s=60 * settings.for_minutes,
        nearing_for_s=60 * settings.nearing_for_minutes,
        clear_s=60 * settings.clear_minutes,
        gap_s=2 * FRESH_S,
        fired=WatchState.UNKNOWN if name == UNKNOWN else WatchState.BOUND,
    )


def conditions_of(situation: Situation, tables: RuleTables) -> dict[str, tuple[Condition, ...]]:
    """Return what every rule that is on finds, by its name; a rule with an internal error is not judged."""
    found = {
        name: guarded(f"rule {name}", partial(facts.find, situation, tables.of(name)), None)
        for name, facts in RULES.items()
        if facts.find is not None and tables.of(name).is_on
    }
    return {name: conditions for name, conditions in found.items() if conditions is not None}
