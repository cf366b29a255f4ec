"""
Server connections that Pgpool-II's children keep after their client left.

`connection_life_time` counts from the moment at which the client left, and a child that serves another
client lets its other connections go only once that one has left or sent something: so only children
without a client are judged, and with some seconds to spare.
"""

from typing import NamedTuple

from plimsoll.lint.pgpool import NEEDS_NODE_0, UNDER_SERIALIZE, is_serialized, node_count
from plimsoll.lint.settings import Affected, Settings, seconds
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import CachedServer, Observation, PoolerReading
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import format_duration, format_ratio

# The timer is one alarm per child, in whole seconds, and our times are read in whole seconds too.
SPARE_S = 3.0
SPARE_RATIO = 0.25
# Of a server's usable connections: from here on, idle ones left by a pooler are an outage in the making.
CRITICAL_SHARE = 0.25
WASTED_RATIO = 0.5
WASTED_MIN = 5
# What the cluster of 2021 chose for users whose connections are hardly used again.
LIFE_S = 30
_END_BY_HAND = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle'"
    " AND client_addr = 'POOLER' AND state_change < now() - interval '10 min';"
)


class _Stay(NamedTuple):
    """A cached connection without a client, over all readings."""

    server: CachedServer
    idle_s: float


def usable_of(observation: Observation) -> int:
    """Return connections that are not reserved; of a server that was full, one: everything is too much there."""
    return max(observation.server.connection_max - observation.server.reserved_connections, 1)


def outliving(
    readings: list[PoolerReading], settings: Settings, observation: Observation
) -> list[Cause]:
    """Return connections that are still kept although their time is up; nothing where it never ends."""
    life_s = settings.number("connection_life_time") or 0.0
    if life_s <= 0:
        return []
    limit_s = life_s + max(SPARE_S, SPARE_RATIO * life_s)
    stays = _stays(readings)
    over = [stay for stay in stays if stay.idle_s > limit_s]
    if not over:
        return []
    last = readings[-1]
    usable = usable_of(observation)
    at_one_node = max(
        sum(stay.server.backend == node for stay in over)
        for node in {stay.server.backend for stay in over}
    )
    longest_s = max(stay.idle_s for stay in over)
    why, remedies = _explained(settings)
    return [
        Cause(
            kind=CauseKind.POOLER,
            code="ServersOutliveLifeTime",
            severity="critical" if at_one_node >= CRITICAL_SHARE * usable else "warning",
            subject=last.place,
            title=f"{len(over):,} cached backends outlive connection_life_time = {seconds(life_s)}:"
            f" idle for up to {format_duration(longest_s)}",
            text=f"{why} They stay idle at the server, each a process and a slot.",
            evidence=(
                Evidence(
                    kind="age",
                    text=f"{len(over):,} of {len(stays):,} without a client are older than"
                    f" {seconds(limit_s)}{_watched(readings)}",
                    value=longest_s,
                    reference=life_s,
                ),
                Evidence(
                    kind="connections",
                    text=f"{at_one_node:,} of {_counted(observation, usable)} usable connections of a node"
                    f"{'' if observation.full else f' ({format_ratio(at_one_node / usable)})'}",
                    value=float(at_one_node),
                    reference=float(usable),
                ),
                settings.settings_evidence(
                    "serialize_accept", "child_life_time", "connection_life_time"
                ),
                *((settings.fix_evidence(UNDER_SERIALIZE),) if is_serialized(settings) else ()),
            ),
            remedies=remedies,
            refuted_by="Two readings of SHOW POOL_POOLS, a life time apart, share no row with"
            " pool_connected = 0 and the same client_disconnection_time.",
        )
    ]


def wasted(
    readings: list[PoolerReading], settings: Settings, observation: Observation
) -> list[Cause]:
    """Return connections without a client in the last reading: half of all that are kept, or more."""
    last = readings[-1]
    idle = [server for server in last.cached if not server.is_connected]
    usable = usable_of(observation)
    if len(idle) < max(WASTED_MIN, WASTED_RATIO * len(last.cached)):
        return []
    return [
        Cause(
            kind=CauseKind.POOLER,
            code="PoolerServersWasted",
            severity="note",
            subject=last.place,
            title=f"{len(idle):,} of {len(last.cached):,} cached backends"
            f" ({format_ratio(len(idle) / len(last.cached))}) have no client",
            text="They belong to single children: a client that meets another child gets a new one.",
            evidence=(
                Evidence(
                    kind="connections",
                    text=f"{len(idle):,} of {_counted(observation, usable)} usable connections",
                    value=float(len(idle)),
                    reference=float(usable),
                ),
            ),
            remedies=(
                Remedy(
                    text="Let go of them sooner, and keep one per child.",
                    commands=(*_shorter(settings), "max_pool = 1"),
                ),
            ),
            refuted_by="The next minutes bring clients that use them again.",
        )
    ]


def _shorter(settings: Settings) -> tuple[str, ...]:
    """Return a shorter life time, unless it is short."""
    life_s = settings.number("connection_life_time") or 0.0
    return () if 0 < life_s <= LIFE_S else (f"connection_life_time = {LIFE_S}",)


def _watched(readings: list[PoolerReading]) -> str:
    if len(readings) == 1:
        return ""
    span_s = readings[-1].time_s - readings[0].time_s
    return f", in the last of {len(readings)} readings over {format_duration(span_s)}"


def _stays(readings: list[PoolerReading]) -> list[_Stay]:
    """
    Return those without a client in the last reading, of children that have none at all.

    How long: as the pooler says; where it does not, since the first reading in a row in which the same
    connection lay idle.
    """
    last = readings[-1]
    busy = {server.child_pid for server in last.cached if server.is_connected}
    found = []
    for server in last.cached:
        if server.is_connected or server.child_pid in busy:
            continue
        idle_s = server.idle_s if server.idle_s is not None else 0.0
        for reading in reversed(readings[:-1]):
            if not any(
                _is_same(server, last.time_s, old, reading.time_s) for old in reading.cached
            ):
                break
            idle_s = max(idle_s, last.time_s - reading.time_s)
        found.append(_Stay(server, idle_s))
    return found


def _is_same(new: CachedServer, now_s: float, old: CachedServer, then_s: float) -> bool:
    """Return whether it is the same connection, idle then as now, and not used in between."""
    if old.is_connected or _key(old) != _key(new):
        return False
    if new.idle_s is not None and old.idle_s is not None:
        return abs((now_s - new.idle_s) - (then_s - old.idle_s)) < SPARE_S
    if new.age_s is not None and old.age_s is not None:
        return abs((now_s - new.age_s) - (then_s - old.age_s)) < SPARE_S
    return False


def _key(server: CachedServer) -> tuple[int, str, str, int]:
    return server.child_pid, server.database, server.user, server.backend


def _explained(settings: Settings) -> tuple[str, tuple[Remedy, ...]]:
    """Return the defect that would do this with these settings, known of this version or not."""
    off = Remedy(
        text="Let the children accept without the lock; restart Pgpool-II.",
        commands=("serialize_accept = off",),
        expected="The next readings show none that is older than its life time.",
    )
    if is_serialized(settings):
        affected = settings.affected_by(UNDER_SERIALIZE)
        upgrade = Remedy(text=f"Upgrade to {settings.upgrade_for(UNDER_SERIALIZE)} or later.")
        if affected is Affected.YES:
            why = f"{settings.product} ignores the timer while serialize_accept is on."
            return why, (upgrade, off)
        if affected is Affected.NO:
            why = (
                f"{settings.product} should have the fix of 2020-09-17, but its children behave as"
                " before it. Perhaps it was built without it, or an older process still runs."
            )
            return why, (
                Remedy(
                    text="See which program runs, and restart or reinstall it.",
                    commands=("pgpool --version",),
                ),
                off,
            )
        return "The version is not known; before 2020-09-17's fix serialize_accept does this.", (
            upgrade,
            off,
        )
    if node_count(settings) > 1 and settings.affected_by(NEEDS_NODE_0) is not Affected.NO:
        why = "In this release the timer needs the primary to be node 0; see SHOW POOL_NODES."
        return why, (Remedy(text=f"Upgrade to {settings.upgrade_for(NEEDS_NODE_0)} or later."),)
    return "No known defect explains it with these settings.", (
        Remedy(
            text="Until then end them by hand, and report this to the project.",
            commands=(_END_BY_HAND,),
        ),
    )


def _counted(observation: Observation, usable: int) -> str:
    """Return how many connections are usable, where the server could be asked."""
    return "all" if observation.full else f"{usable:,}"
