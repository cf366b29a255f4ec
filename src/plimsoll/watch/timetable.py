"""
When each instance is read again: the times of polls by instance and target, in steady time.

Rule: a poll that failed is tried again at the next ordinary time, never at once.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from plimsoll.watch.law.evaluation import WatchedInstance
from plimsoll.watch.law.schedule import PollDemand, PollPlan, PollSettings, planned

# A turn that failed is not followed by the next one at once.
_REST_S = 1.0


class PolledInstance(Struct, kw_only=True):
    """What is remembered of an instance between polls; it is not stored."""

    counted_s: float
    """Steady time up to which silence was counted."""
    due_s: float
    """Steady time of the next poll."""


class Timetable:
    """Times of the polls of one process."""

    def __init__(self, poll: PollSettings, *, usd_per_metric: float | None, steady_s: Callable[[], float]) -> None:
        """Everything is due."""
        self._poll, self._usd_per_metric, self._steady_s = poll, usd_per_metric, steady_s
        self._polled: dict[WatchedInstance, PolledInstance] = {}
        self._listed_s: dict[str, float] = {}
        self.plan: PollPlan | None = None
        """The intervals that hold now; None before the first poll."""

    def of(self, instance: WatchedInstance) -> PolledInstance:
        """Return the times of an instance; one that is new is due, and has been silent for no time."""
        now_s = self._steady_s()
        return self._polled.setdefault(instance, PolledInstance(counted_s=now_s, due_s=now_s))

    def count(self, instance: WatchedInstance) -> None:
        """Note that silence is counted up to now."""
        self.of(instance).counted_s = self._steady_s()

    def silent_s(self, instance: WatchedInstance) -> float:
        """Return the seconds since silence was counted last."""
        return self._steady_s() - self.of(instance).counted_s

    def forget(self, instance: WatchedInstance) -> None:
        """Forget an instance."""
        self._polled.pop(instance, None)

    def due(self, instances: Iterable[WatchedInstance]) -> set[WatchedInstance]:
        """Return those that are due."""
        now_s = self._steady_s()
        return {instance for instance in instances if self.of(instance).due_s <= now_s}

    def is_listing(self, target: str) -> bool:
        """
        Return whether the instances of a target are to be listed.

        Listing finds new instances; it costs nothing and is done with every ordinary poll.
        """
        listed_s = self._listed_s.get(target)
        return listed_s is None or self._steady_s() >= listed_s + self._poll.interval_s

    def begin(self, target: str, due: Iterable[WatchedInstance]) -> None:
        """Set the next poll of a target and its instances before this one: if nothing can be stored, it stays."""
        now_s = self._steady_s()
        self._listed_s[target] = now_s
        for instance in due:
            self.of(instance).due_s = now_s + self._poll.interval_s

    def replan(
        self, polled: Iterable[WatchedInstance], demands: list[PollDemand], *, usd_left: float | None, left_s: float
    ) -> PollPlan:
        """
        Set the next poll of the instances that were polled, within the budget of all.

        Args:
            polled: what was just polled.
            demands: of every instance; `name` is `name_of` the instance.
            usd_left: of the budget; None without one.
            left_s: for how long it must last.
        """
        now_s = self._steady_s()
        self.plan = planned(demands, self._poll, usd_per_metric=self._usd_per_metric, usd_left=usd_left, left_s=left_s)
        for instance in polled:
            self.of(instance).due_s = now_s + (self.interval_s(instance) or float(self._poll.interval_s))
        return self.plan

    def interval_s(self, instance: WatchedInstance) -> float | None:
        """Return the interval of an instance; None before the first plan, or where it has none."""
        return None if self.plan is None else self.plan.intervals_s.get(name_of(instance))

    def rest_s(self) -> float:
        """Return the seconds until anything is due, at least one."""
        now_s = self._steady_s()
        due = [polled.due_s for polled in self._polled.values()]
        due += [at_s + self._poll.interval_s for at_s in self._listed_s.values()]
        return max(min(due, default=now_s) - now_s, _REST_S)


def name_of(instance: WatchedInstance) -> str:
    """Return the name of an instance in a plan of polls."""
    return f"{instance.account}\x1f{instance.region}\x1f{instance.name}"
