"""The verdicts of a fleet: one row for each instance, flat, as every engine and every form of the table has it."""

from decimal import Decimal
from enum import IntEnum

from msgspec import Struct

from plimsoll.model.fleet_answer import FleetChanges, FleetGrouping, FleetTotals, LimitTime


class FleetRank(IntEnum):
    """Groups of the ranked table, the most urgent first."""

    NOW = 0
    """At a ceiling at the end of the window."""
    BOUND = 1
    """At a ceiling earlier in the window."""
    WAITING = 2
    """Requests waited, and no ceiling explains it."""
    NEAR = 3
    UNKNOWN = 4
    """Could not be judged, or failed."""
    SLACK = 5


class FleetVerdict(Struct, frozen=True, kw_only=True):
    """One instance; the fields are the columns of the table (docs/guides/fleet.md)."""

    account: str
    region: str
    instance: str
    db_class: str | None = None
    engine: str | None = None
    storage: str | None = None
    storage_gib: float | None = None
    is_simulated: bool | None = None
    tags: str | None = None
    """A JSON object of texts, keys in order; None where the source does not say."""
    verdict: str
    """`binds`, `near`, `slack`, `unknown`, or `error` if the diagnosis failed."""
    reason: str | None = None
    """Of an error, or the names of what is missing."""
    remedy: str | None = None
    start_s: int | None = None
    end_s: int | None = None
    """The window that was judged, epoch seconds, [start, end)."""
    measured_s: float | None = None
    """Seconds for which storage was measured."""
    family: str | None = None
    """Of the ceiling that bound longest."""
    phase: str | None = None
    ceiling: float | None = None
    """bytes/s if `dimension` is `throughput`, operations/s if it is `iops`."""
    dimension: str | None = None
    at_ceiling_s: float | None = None
    at_ceiling_ratio: float | None = None
    """Of the measured time, 0–1."""
    is_now: bool | None = None
    waiting_s: float | None = None
    """Waiting that no ceiling explains, seconds."""
    nearest: str | None = None
    nearest_ratio: float | None = None
    """Peak of the nearest resource, as a ratio of its ceiling."""
    emptying: str | None = None
    """Family of the balance or space that will be empty first."""
    empty_in_s: float | None = None
    unreachable: str | None = None
    """What is paid for and cannot be used: a clause."""
    usd_per_day: Decimal | None = None
    option: str | None = None
    option_usd_per_day_more: Decimal | None = None
    option_chance: float | None = None
    """Share 0–1 of plausible demands for which it is enough."""
    legacy: str | None = None
    """What a stop and start would change."""
    cheaper: str | None = None
    cheaper_usd_per_day_more: Decimal | None = None
    """Below zero: a saving."""
    cheaper_chance: float | None = None
    """Share 0–1 of plausible demands for which it is enough."""
    plan_note: str | None = None

    @property
    def rank(self) -> FleetRank:
        """Return the group of the ranked table."""
        if self.verdict == "binds":
            return FleetRank.NOW if self.is_now else FleetRank.BOUND
        if self.waiting_s:
            return FleetRank.WAITING
        return {"near": FleetRank.NEAR, "slack": FleetRank.SLACK}.get(self.verdict, FleetRank.UNKNOWN)

    @property
    def sort_key(self) -> tuple[float | str, ...]:
        """Return the key of the ranked table; no two instances have the same."""
        near = self.nearest_ratio or 0.0
        place = (self.instance, self.region, self.account)
        return (*(self.rank, -(self.at_ceiling_s or 0.0), -(self.waiting_s or 0.0), -near), *place)


class FleetReport(Struct, frozen=True, kw_only=True):
    """The verdicts of a lake, ranked."""

    lake: str
    window_s: tuple[int, int]
    """Epoch seconds [start, end) that the rows cover."""
    rows: tuple[FleetVerdict, ...]
    has_plan: bool
    """Whether plans were computed."""
    totals: FleetTotals
    groupings: tuple[FleetGrouping, ...] = ()
    limit_times: tuple[LimitTime, ...] = ()
    """Time at the ceilings of each family, the longest first."""
    changes: FleetChanges | None = None
    """Since an earlier table; None where none was asked for."""


def exit_status(rows: tuple[FleetVerdict, ...]) -> int:
    """Return 1 if a limit binds on any instance, else 2 if any was not judged or there is none, else 0."""
    verdicts = {row.verdict for row in rows}
    if "binds" in verdicts:
        return 1
    return 0 if verdicts and not verdicts & {"unknown", "error"} else 2
