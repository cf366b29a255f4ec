"""What one rule finds for one ceiling, at one moment of the data."""

from msgspec import Struct

from plimsoll.watch.law.message import WatchState


class Condition(Struct, frozen=True, kw_only=True):
    """
    What a rule finds for one ceiling at the end of the data.

    Where a level holds, its `since` is the moment from which the data show that it held without a break. If
    the data cannot show that, it is the end of the data.
    """

    ceiling: str = ""
    """Machine name of the ceiling; empty where the rule is not about one."""
    name: str = ""
    """The same for people: `instance EBS throughput`."""
    at_s: int
    """End of the data, epoch seconds UTC."""
    is_known: bool = True
    """False where a metric is missing, so that no level can be ruled out; `text` then says which."""
    nearing_since_s: int | None = None
    """Epoch seconds; None where the softer condition does not hold. It holds wherever the harder one does."""
    bound_since_s: int | None = None
    """Epoch seconds; None where the condition of the rule does not hold."""
    value: float | None = None
    limit: float | None = None
    """What is observed and what it is compared with, in `unit`; None where unknown."""
    unit: str = ""
    """`bytes/s`, `ops/s`, `ratio`, `s`, `count`"""
    text: str = ""
    """A clause with the instance as its subject: `is at its instance EBS throughput baseline: 86.9 MB/s`."""
    facts: tuple[str, ...] = ()
    """Sentences: evidence, and what happens next."""
    advice: tuple[str, ...] = ()
    """What to do first; empty where a plan of the whole instance says it."""
    ended: str = ""
    """How an alert of this rule ended, if not as usual: `ran out`."""

    @property
    def level(self) -> WatchState:
        """Return the hardest level that holds now, before any delay."""
        if not self.is_known:
            return WatchState.UNKNOWN
        if self.bound_since_s is not None:
            return WatchState.BOUND
        return WatchState.OK if self.nearing_since_s is None else WatchState.NEARING
