"""The verdicts of a fleet: one row for each instance, flat, as every engine and every form of the table has it."""

from decimal import Decimal
from enum import IntEnum
from typing import Annotated

from msgspec import Struct

from plimsoll.model.fleet_answer import FleetChanges, FleetGrouping, FleetTotals, LimitTime
from plimsoll.model.now import STOPPING
from plimsoll.model.written import After, OneOf, Window


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
    """AWS account; empty where the source does not say."""
    region: str
    """Region; empty where the source does not say."""
    instance: str
    """Its identifier."""
    db_class: str | None = None
    """Class, such as `db.r5.2xlarge`."""
    engine: str | None = None
    """Engine as RDS names it."""
    storage: str | None = None
    """Storage type, such as `gp3`."""
    storage_gib: float | None = None
    """Allocated storage, GiB."""
    is_simulated: bool | None = None
    """Whether its data are simulated."""
    tags: str | None = None
    """Tags; null where the source does not say."""
    verdict: Annotated[str, OneOf(("binds", "near", "slack", "unknown", "error"))]
    """`error` if the diagnosis failed."""
    reason: str | None = None
    """Why it could not be judged, or what is missing."""
    remedy: str | None = None
    """What would help."""
    start_s: int | None = None
    """Start of the window that was judged, epoch seconds."""
    end_s: int | None = None
    """Its end, exclusive, epoch seconds."""
    measured_s: float | None = None
    """Seconds for which storage was measured."""
    family: str | None = None
    """The limit that bound longest."""
    phase: str | None = None
    """`baseline`, `burst`, `fixed` or `legacy`."""
    ceiling: float | None = None
    """Its number: bytes/s if `dimension` is `throughput`, operations/s if it is `iops`."""
    dimension: str | None = None
    """`throughput` or `iops`."""
    at_ceiling_s: float | None = None
    """Time at it, seconds."""
    at_ceiling_ratio: float | None = None
    """Share of the measured time, 0–1."""
    is_now: bool | None = None
    """Whether a limit binds at the end of the window."""
    waiting_s: float | None = None
    """Waiting that no limit explains, seconds."""
    nearest: str | None = None
    """The nearest limit."""
    nearest_ratio: float | None = None
    """Peak, as a ratio of that limit."""
    emptying: str | None = None
    """The balance or space that will be empty first."""
    empty_in_s: float | None = None
    """Seconds until then, at the present rate."""
    unreachable: str | None = None
    """What is paid for and cannot be used."""
    usd_per_day: Decimal | None = None
    """Cost now, on demand."""
    option: str | None = None
    """The recommended change."""
    option_usd_per_day_more: Decimal | None = None
    """Its additional cost."""
    option_chance: float | None = None
    """Chance 0–1 that it is enough."""
    legacy: str | None = None
    """What a stop and start would change."""
    cheaper: str | None = None
    """A setup that costs less and serves the same demand."""
    cheaper_usd_per_day_more: Decimal | None = None
    """Its additional cost; below zero is a saving."""
    cheaper_chance: float | None = None
    """Chance 0–1 that it is enough."""
    plan_note: str | None = None
    """Why there is no plan."""

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
        is_slowed = self.family != STOPPING
        return (*(self.rank, is_slowed, -(self.at_ceiling_s or 0.0), -(self.waiting_s or 0.0), -near), *place)


class FleetReport(Struct, frozen=True, kw_only=True):
    """The verdicts of a lake, ranked."""

    lake: str
    """Where the metrics are."""
    window_s: Window
    """The window."""
    rows: tuple[FleetVerdict, ...]
    """One for each instance, the most urgent first."""
    has_plan: bool
    """Whether plans were computed; without them all costs are null."""
    totals: FleetTotals
    """Sums over all instances."""
    groupings: tuple[FleetGrouping, ...] = ()
    """One for each `--by`."""
    limit_times: tuple[LimitTime, ...] = ()
    """Time at each limit, the longest first."""
    changes: FleetChanges | None = None
    """What changed since an earlier table; null without `--changes` and `--compare`."""

    @property
    def is_simulated(self) -> Annotated[bool, After("window_s")]:
        """Whether any data are simulated."""
        return any(row.is_simulated for row in self.rows)


def exit_status(rows: tuple[FleetVerdict, ...]) -> int:
    """Return 1 if a limit binds on any instance, else 2 if any was not judged or there is none, else 0."""
    verdicts = {row.verdict for row in rows}
    if "binds" in verdicts:
        return 1
    return 0 if verdicts and not verdicts & {"unknown", "error"} else 2
