"""
Check server connections that Pgpool-II's children keep after their client disconnected.

`connection_life_time` counts from the moment the client disconnected. A child that serves another client
closes its other connections only when that client disconnects or sends something. So only children without a
client are judged, with a tolerance of some seconds.
"""

from typing import NamedTuple

from plimsoll.causes.connections.sessions import usable_connections
from plimsoll.lint.pgpool import NEEDS_NODE_0, UNDER_SERIALIZE, is_serialized, node_count
from plimsoll.lint.settings import Affected, Settings, seconds
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import CachedServer, Observation, PoolerReading
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import format_duration, format_ratio

# A tolerance: the timer is one alarm per child in whole seconds, and times are read in whole seconds too. A
# quarter more allows for a busy machine (a judgement).
SPARE_S = 3.0
SPARE_RATIO = 0.25
# A judgement: when such idle connections take a quarter of the usable ones, an outage is near.
CRITICAL_SHARE = 0.25
# Judgements: connections without a client are wasted if they are half of the open ones, and at least five.
WASTED_RATIO = 0.5
WASTED_MIN = 5
# The published cluster of 2021 uses this value for users whose connections are rarely used again.
LIFE_S = 30
_END_BY_HAND = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle'"
    " AND client_addr = 'POOLER' AND state_change < now() - interval '10 min';"
)


class _IdleServer(NamedTuple):
    """A cached connection without a client, over all readings."""

    server: CachedServer
    idle_s: float


def outliving(readings: list[PoolerReading], settings: Settings, observation: Observation) -> list[Cause]:
    """Return a finding about connections kept longer than `connection_life_time`, if it is set."""
    life_s = settings.number("connection_life_time") or 0.0
    if life_s <= 0:
        return []
    limit_s = life_s + max(SPARE_S, SPARE_RATIO * life_s)
    idle_servers = _idle_servers(readings)
    over = [one for one in idle_servers if one.idle_s > limit_s]
    if not over:
        return []
    last = readings[-1]
    usable = usable_connections(observation)
    at_one_node = max(sum(one.server.backend == node for one in over) for node in {one.server.backend for one in over})
    longest_s = max(one.idle_s for one in over)
    why, remedies = _explain(settings)
    return [
        Cause(
            kind=CauseKind.POOLER,
            code="ServersOutliveLifeTime",
            severity="critical" if at_one_node >= CRITICAL_SHARE * usable else "warning",
            subject=last.place,
            title=f"{_outlive(len(over))} connection_life_time = {seconds(life_s)}:"
            f" idle for up to {format_duration(longest_s)}",
            text=f"{why} Each stays idle at the server, and takes a process and a slot.",
            evidence=(
                Evidence(
                    kind="age",
                    text=f"{len(over):,} of {len(idle_servers):,} connections without a client are older"
                    f" than {seconds(limit_s)}{_readings_text(readings)}",
                    value=longest_s,
                    reference=life_s,
                ),
                Evidence(
                    kind="connections",
                    text=f"{at_one_node:,} of {_usable_text(observation, usable)} usable connections of a node"
                    f"{'' if observation.full else f' ({format_ratio(at_one_node / usable)})'}",
                    value=float(at_one_node),
                    reference=float(usable),
                ),
                settings.settings_evidence("serialize_accept", "child_life_time", "connection_life_time"),
                *((settings.fix_evidence(UNDER_SERIALIZE),) if is_serialized(settings) else ()),
            ),
            remedies=remedies,
            refuted_by="Two outputs of SHOW POOL_POOLS, one connection_life_time apart, have no row in common with"
            " pool_connected = 0 and the same client_disconnection_time.",
        )
    ]


def wasted(readings: list[PoolerReading], settings: Settings, observation: Observation) -> list[Cause]:
    """Return a finding if half of the cached connections or more have no client."""
    last = readings[-1]
    idle = [server for server in last.cached if not server.is_connected]
    usable = usable_connections(observation)
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
            text="Each belongs to one child. A client that connects to another child gets a new backend.",
            evidence=(
                Evidence(
                    kind="connections",
                    text=f"{len(idle):,} of {_usable_text(observation, usable)} usable connections",
                    value=float(len(idle)),
                    reference=float(usable),
                ),
            ),
            remedies=(
                Remedy(
                    text="Close them sooner, and keep one per child.", commands=(*_shorter(settings), "max_pool = 1")
                ),
            ),
            refuted_by="Clients use them again within the next minutes.",
        )
    ]


def _shorter(settings: Settings) -> tuple[str, ...]:
    """Return the setting for a shorter life time, unless it is already short."""
    life_s = settings.number("connection_life_time") or 0.0
    return () if 0 < life_s <= LIFE_S else (f"connection_life_time = {LIFE_S}",)


def _readings_text(readings: list[PoolerReading]) -> str:
    if len(readings) == 1:
        return ""
    span_s = readings[-1].time_s - readings[0].time_s
    return f", in the last of {len(readings)} readings in {format_duration(span_s)}"


def _idle_servers(readings: list[PoolerReading]) -> list[_IdleServer]:
    """
    Return the idle connections in the last reading, of children without any client.

    The idle time is as the pooler reports it. If it does not, it counts from the first of the consecutive
    readings in which the same connection was idle.
    """
    last = readings[-1]
    busy = {server.child_pid for server in last.cached if server.is_connected}
    found = []
    for server in last.cached:
        if server.is_connected or server.child_pid in busy:
            continue
        idle_s = server.idle_s if server.idle_s is not None else 0.0
        for reading in reversed(readings[:-1]):
            if not any(_is_same(server, last.time_s, old, reading.time_s) for old in reading.cached):
                break
            idle_s = max(idle_s, last.time_s - reading.time_s)
        found.append(_IdleServer(server, idle_s))
    return found


def _is_same(new: CachedServer, now_s: float, old: CachedServer, then_s: float) -> bool:
    """Return whether both are the same connection, idle both times and not used in between."""
    if old.is_connected or _key(old) != _key(new):
        return False
    if new.idle_s is not None and old.idle_s is not None:
        return abs((now_s - new.idle_s) - (then_s - old.idle_s)) < SPARE_S
    if new.age_s is not None and old.age_s is not None:
        return abs((now_s - new.age_s) - (then_s - old.age_s)) < SPARE_S
    return False


def _key(server: CachedServer) -> tuple[int, str, str, int]:
    return server.child_pid, server.database, server.user, server.backend


def _explain(settings: Settings) -> tuple[str, tuple[Remedy, ...]]:
    """Return the defect that explains this with these settings, and its remedies."""
    off = Remedy(
        text="Disable the accept lock, and restart Pgpool-II.",
        commands=("serialize_accept = off",),
        expected="No connection is older than its life time in the next readings.",
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
                " before the fix. Perhaps it was built without the fix, or an older process still runs."
            )
            return why, (
                Remedy(text="Check which version runs, and restart or reinstall it.", commands=("pgpool --version",)),
                off,
            )
        return ("The version is unknown. Before the fix of 2020-09-17, serialize_accept causes this.", (upgrade, off))
    if node_count(settings) > 1 and settings.affected_by(NEEDS_NODE_0) is not Affected.NO:
        why = "In this release the timer works only while node 0 is the primary; check SHOW POOL_NODES."
        return why, (Remedy(text=f"Upgrade to {settings.upgrade_for(NEEDS_NODE_0)} or later."),)
    return "With these settings no known defect explains it.", (
        Remedy(text="Terminate them manually, and report this to the Pgpool-II project.", commands=(_END_BY_HAND,)),
    )


def _outlive(count: int) -> str:
    return "1 cached backend outlives" if count == 1 else f"{count:,} cached backends outlive"


def _usable_text(observation: Observation, usable: int) -> str:
    """Return the number of usable connections; `all` if the server was full and could not be read."""
    return "all" if observation.full else f"{usable:,}"
