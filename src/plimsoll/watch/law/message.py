"""A message about one transition, as every receiver gets it."""

from enum import StrEnum

from msgspec import Struct

from plimsoll.model.severity import Severity


class WatchState(StrEnum):
    """The state of one rule for one ceiling of one instance."""

    OK = "ok"
    NEARING = "nearing"
    BOUND = "bound"
    UNKNOWN = "unknown"
    """Nothing recent is known; an open alert stays open."""


class Message(Struct, frozen=True, kw_only=True):
    """What people read about a transition: the same facts for every receiver."""

    key: str
    """Of the episode, from the first transition to its end; stable over restarts."""
    number: int
    """Of the transition within its episode, from 1; (key, number) is one message for ever."""
    state: WatchState
    severity: Severity
    account: str
    region: str
    """Empty where the source has none."""
    instance: str
    rule: str
    """As in the configuration: `balance-empty`."""
    ceiling: str
    """For people: `instance EBS throughput`; empty where the rule is not about one."""
    title: str
    """One sentence: number, unit, comparison, since when."""
    facts: tuple[str, ...]
    """Further sentences: evidence, what happens next."""
    advice: tuple[str, ...]
    """What to do first, in order."""
    since_s: int
    """Start of the episode, epoch seconds UTC."""
    at_s: int
    """End of the data that led to this transition, epoch seconds UTC."""
    is_simulated: bool
    link: str = ""
    """Page of the instance; empty if there is none."""
    runbook: str = ""
    """Page that explains the alert."""
    picture_png: bytes = b""
    """Timeline of what was served under its ceiling; empty if it could not be drawn."""

    @property
    def is_resolved(self) -> bool:
        """Return whether this message ends its episode."""
        return self.state is WatchState.OK
