"""
Report what poolers do: waiting clients, full pools, unused server connections, settings without effect.

Rule 1: behaviour counts more than the version: cached backends that outlive `connection_life_time` are
        reported even for a release that should have the fix.
Rule 2: the settings of every pooler are checked against the server that was read.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from plimsoll.catalog.load import catalog
from plimsoll.causes.budget import Budget, ranked
from plimsoll.causes.poolers import cached_servers, idle_limit
from plimsoll.causes.poolers.cached_servers import WASTED_MIN, WASTED_RATIO
from plimsoll.lint.pooler import ServerRoom, lint
from plimsoll.lint.settings import PRODUCTS, Settings
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation, PoolerReading, PoolRow
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.pooler import PoolerConfig
from plimsoll.units import format_duration, format_ratio, number

# Judgements. Clients that wait in one reading may be a coincidence; a wait of a second is not, and after ten
# seconds clients time out.
WAIT_S = 1.0
LONG_WAIT_S = 10.0
# A judgement: when nine of ten sessions of a session pool are idle, idle clients occupy the pool.
IDLE_SESSIONS_RATIO = 0.9
# Judgements, shares of Pgpool-II's children that have a client. When all have one, further clients wait in
# the kernel's accept queue.
CHILDREN_RATIO = (0.9, 1.0)


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return findings about every pooler that was read, the most severe first."""
    del budget  # A pooler moves no bytes to storage.
    found: list[Cause] = []
    for place in dict.fromkeys((r.kind, r.place) for r in observation.poolers):
        readings = [r for r in observation.poolers if (r.kind, r.place) == place]
        settings = Settings(config=config_of(readings[-1]), facts=catalog())
        if readings[-1].kind == "pgbouncer":
            found += _waiting(readings, settings)
            found += _wasted(readings)
            found += _idle_client_servers(readings, observation)
        else:
            found += _children_taken(readings, settings)
            # Connections that outlive their time have no client either, so they are reported once.
            found += cached_servers.outliving(readings, settings, observation) or cached_servers.wasted(
                readings, settings, observation
            )
            found += idle_limit.cut(readings, settings, observation)
        found += _settings(settings, observation, found, readings)
    return ranked(found)


def summaries(observation: Observation) -> list[str]:
    """Return one sentence per pooler with the maxima of its readings, also if it has no finding."""
    sentences = []
    for place in dict.fromkeys((r.kind, r.place) for r in observation.poolers):
        readings = [r for r in observation.poolers if (r.kind, r.place) == place]
        last = readings[-1]
        name = f"{PRODUCTS[last.kind]}{f' {last.version}' if last.version else ''} at {last.place}"
        clients = [r.clients for r in readings if r.clients is not None]
        if not last.version and not clients:
            sentences.append(f"{name} was read from its file: only its settings are known, not its activity")
            continue
        times = "once" if len(readings) == 1 else f"{len(readings)} times"
        parts = [_counted(max(clients), "client")] if clients else []
        if last.kind == "pgbouncer":
            parts.append(f"{max(sum(p.clients_waiting for p in r.pools) for r in readings):,} waiting")
            parts.append(f"{_counted(max(_servers(r) for r in readings), 'server connection')} open")
        else:
            parts.append(f"{_counted(max(len(r.cached) for r in readings), 'backend')} cached")
        sentences.append(f"{name} was read {times}; at most {', '.join(parts)}")
    return sentences


def _servers(reading: PoolerReading) -> int:
    return sum(r.servers_active + r.servers_idle + r.servers_used for r in reading.pools)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def config_of(reading: PoolerReading) -> PoolerConfig:
    """
    Return the configuration in a reading, in the form that lint needs.

    A running pooler reports every setting. Settings with their default value are left out, as if not set.
    """
    asked = PoolerConfig(kind=reading.kind, place=reading.place, version=reading.version or None)
    bare = Settings(config=asked, facts=catalog())
    whole = Settings(config=replace(asked, settings=reading.settings), facts=catalog())
    return replace(
        asked,
        settings={
            name: value
            for name, value in reading.settings.items()
            if bare.text(name) is None or not _is_default(bare, whole, name)
        },
        databases=reading.databases,
        users=reading.users,
    )


def _is_default(bare: Settings, whole: Settings, name: str) -> bool:
    if bare.text(name) in ("on", "off"):
        return bare.is_on(name) == whole.is_on(name)
    if bare.number(name) is not None:
        return bare.number(name) == whole.number(name)
    return (bare.text(name) or "").lower() == (whole.text(name) or "").lower()


def _settings(
    settings: Settings, observation: Observation, behaviour: Sequence[Cause], readings: Sequence[PoolerReading]
) -> list[Cause]:
    """Return the findings of lint, without those whose effect is already reported, or was seen not to occur."""
    server = observation.server
    # Nothing could be read from a full server.
    room = (
        ServerRoom()
        if observation.full
        else ServerRoom(connection_max=server.connection_max, reserved=server.reserved_connections)
    )
    seen = {cause.code for cause in behaviour if cause.subject == settings.config.place}
    hidden = {"LifeTimeIgnoredUnderSerializeAccept"} if "ServersOutliveLifeTime" in seen else set()
    if "ClientsCutWhileIdle" in seen or idle_limit.is_harmless(readings, settings, observation):
        hidden |= idle_limit.HIDDEN
    return [c for c in lint(settings.config, settings.facts, room) if c.code not in hidden]


def _waiting(readings: list[PoolerReading], settings: Settings) -> list[Cause]:
    """Return findings about pools whose clients wait in half of the readings, or for a second."""
    found = []
    for key, rows in _by_pool(readings).items():
        waits = [row for row in rows if row.clients_waiting > 0]
        longest_s = max((row.longest_wait_s or 0.0 for row in rows), default=0.0)
        if not waits or (2 * len(waits) < len(readings) and longest_s < WAIT_S):
            continue
        worst = max(waits, key=lambda row: (row.longest_wait_s or 0.0, row.clients_waiting))
        limit_s = settings.number("query_wait_timeout") or 0.0
        is_long = longest_s >= LONG_WAIT_S or (limit_s > 0 and longest_s >= limit_s / 2)
        found.append(_clients_wait(key, worst, waits, readings, settings, is_long=is_long))
    return found


def _clients_wait(
    key: str, worst: PoolRow, waits: list[PoolRow], readings: list[PoolerReading], settings: Settings, *, is_long: bool
) -> Cause:
    size = worst.size_max
    servers = worst.servers_active + worst.servers_idle + worst.servers_used
    is_full = size is not None and worst.servers_active >= size
    why = (
        f"All {size} server connections of the pool are in use."
        if is_full
        else f"The pool has {servers} of {size if size is not None else 'an unknown number of'} server"
        " connections: the server refuses more, or accepts them slowly."
    )
    return Cause(
        kind=CauseKind.POOLER,
        code="PoolSaturated" if is_full else "PoolerClientsWaiting",
        severity="critical" if is_long else "warning",
        subject=f"{settings.config.place} {key}",
        title=f"{worst.clients_waiting:,} clients of pool {key} wait for a server connection, for"
        f" {_seconds(worst.longest_wait_s)} at most",
        text=f"{why} {worst.clients_active:,} clients have one. Waiting here is right if the database is"
        " busy. It is wrong if idle clients occupy the server connections.",
        evidence=(
            Evidence(
                kind="pool",
                text=f"clients waited in {len(waits)} of {len(readings)} readings",
                value=float(worst.clients_waiting),
            ),
            settings.settings_evidence("pool_mode", "default_pool_size", "query_wait_timeout"),
        ),
        remedies=_remedies_of_waiting(worst, size),
        refuted_by="SHOW POOLS has cl_waiting = 0 and maxwait = 0 at the busiest hour.",
    )


def _remedies_of_waiting(row: PoolRow, size: int | None) -> tuple[Remedy, ...]:
    found = []
    if row.mode == "session":
        found.append(
            Remedy(
                text="Use transaction mode, if clients keep no state in their sessions.",
                commands=("pool_mode = transaction",),
                expected="A server connection is free as soon as its transaction ends.",
            )
        )
    if size is not None:
        found.append(
            Remedy(
                text="Enlarge the pool only if fewer sessions are active than the machine runs well.",
                commands=(f"default_pool_size = {size + max(size // 4, 1)}",),
            )
        )
    return (*found, Remedy(text="Otherwise shorten the queries that occupy the server connections."))


def _wasted(readings: list[PoolerReading]) -> list[Cause]:
    """Return a finding about server connections idle in every reading, while no client waits."""
    last = readings[-1]
    idle = [sum(r.servers_idle + r.servers_used for r in reading.pools) for reading in readings]
    whole = [sum(r.servers_active + r.servers_idle + r.servers_used for r in reading.pools) for reading in readings]
    waiting = any(row.clients_waiting for reading in readings for row in reading.pools)
    least = min(idle, default=0)
    if waiting or least < WASTED_MIN or least < WASTED_RATIO * max(whole):
        return []
    largest = sorted(last.pools, key=lambda r: -(r.servers_idle + r.servers_used))[:3]
    idle_by_pool = ", ".join(
        f"{row.servers_idle + row.servers_used} of {row.database} for {row.user}" for row in largest
    )
    return [
        Cause(
            kind=CauseKind.POOLER,
            code="PoolerServersWasted",
            severity="note",
            subject=last.place,
            title=f"{least:,} of {max(whole):,} server connections ({format_ratio(least / max(whole))}) had no client"
            f" in any of {len(readings)} readings",
            text="Each takes a process and a slot of the server. They belong to many pools, or to a past peak.",
            evidence=(Evidence(kind="pool", text=f"idle: {idle_by_pool}", value=float(least)),),
            remedies=(
                Remedy(
                    text="Close them sooner, and keep fewer open.",
                    commands=("server_idle_timeout = 60", "min_pool_size = 0"),
                ),
            ),
            refuted_by="They are needed at the busiest hour.",
        )
    ]


def _idle_client_servers(readings: list[PoolerReading], observation: Observation) -> list[Cause]:
    """Return findings about session pools whose sessions are almost all idle."""
    last, found = readings[-1], []
    for row in last.pools:
        if row.mode != "session" or row.servers_active < WASTED_MIN or not observation.glances:
            continue
        states = [
            session.state
            for session in observation.glances[-1].sessions
            if (session.database, session.user) == (row.database, row.user) and session.state
        ]
        idle = sum(state == "idle" for state in states)
        if len(states) < row.servers_active or idle < IDLE_SESSIONS_RATIO * len(states):
            continue
        found.append(
            Cause(
                kind=CauseKind.POOLER,
                code="ServersHeldByIdleClients",
                severity="warning" if row.clients_waiting else "note",
                subject=f"{last.place} {row.database} for {row.user}",
                title=f"{row.servers_active:,} server connections have a client in session mode, but {idle:,} of"
                f" {len(states):,} sessions at the server are idle",
                text="A client keeps its server connection until it disconnects, even while it is idle.",
                evidence=(Evidence(kind="sessions", text=f"{idle} of {len(states)} idle", value=float(idle)),),
                remedies=(
                    Remedy(
                        text="Use transaction mode, if clients keep no state in their sessions.",
                        commands=("pool_mode = transaction",),
                        expected=f"About {max(len(states) - idle, 1)} server connections do the same work.",
                    ),
                ),
                refuted_by="At the busiest hour most of these sessions are active.",
            )
        )
    return found


def _children_taken(readings: list[PoolerReading], settings: Settings) -> list[Cause]:
    """Return a finding if nearly all of Pgpool-II's children have a client; each serves one at a time."""
    children = settings.count("num_init_children")
    taken = max((r.clients for r in readings if r.clients is not None), default=0)
    if children <= 0 or taken < CHILDREN_RATIO[0] * children:
        return []
    full = taken >= CHILDREN_RATIO[1] * children
    refuses = settings.count("reserved_connections") > 0
    beyond = (
        "Further clients get 'Sorry, too many clients already'."
        if refuses
        else "Further clients wait in the kernel's accept queue, which no view shows."
    )
    return [
        Cause(
            kind=CauseKind.POOLER,
            code="ChildrenTaken",
            severity="critical" if full else "warning",
            subject=settings.config.place,
            title=f"{taken:,} of {children:,} children have a client ({format_ratio(taken / children)})",
            text=f"{beyond} A child is occupied as long as its client is connected, even if idle.",
            evidence=(
                Evidence(
                    kind="pool",
                    text=f"{taken:,} clients in the fullest of {len(readings)} readings",
                    value=float(taken),
                    reference=float(children),
                ),
                settings.settings_evidence("num_init_children", "reserved_connections", "client_idle_limit"),
            ),
            remedies=(
                Remedy(
                    text="Make the application pools smaller. This command shows what the server runs well.",
                    commands=("plimsoll pool-size --services N --containers N --pool N",),
                ),
                Remedy(
                    text="Or end idle client connections, if the application pools can handle that.",
                    commands=("client_idle_limit = 120",),
                ),
            ),
            refuted_by=f"SHOW POOL_PROCESSES has clients in fewer than {children} rows.",
        )
    ]


def _by_pool(readings: list[PoolerReading]) -> dict[str, list[PoolRow]]:
    found: dict[str, list[PoolRow]] = {}
    for reading in readings:
        for row in reading.pools:
            found.setdefault(f"{row.database} for {row.user}", []).append(row)
    return found


def _seconds(value: float | None) -> str:
    if value is None:
        return "an unknown time"
    return format_duration(value) if value >= 10 else f"{number(value, 2)} s"
