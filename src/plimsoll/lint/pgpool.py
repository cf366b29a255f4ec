"""
Rules for Pgpool-II's settings.

Every child process keeps up to `max_pool` connections to every node, for as long as it lives or until
`connection_life_time` after a client left. `serialize_accept` works only where `child_life_time` is 0
(manual, "Connection Pooling"), so the defect of 2020 needs both.
"""

from plimsoll.lint.settings import Affected, Settings, seconds
from plimsoll.model.cause import Cause, Remedy
from plimsoll.model.diagnosis import Evidence

# A connection that serves fewer clients than this before its child is replaced is hardly cached: a
# start of a PostgreSQL process costs some milliseconds, as much as dozens of short queries.
CLIENTS_PER_CHILD_MIN = 50

LIFE_TIME = "connection_life_time"
UNDER_SERIALIZE = "life_time_under_serialize_accept"
NEEDS_NODE_0 = "life_time_needs_node_0"
MISCOUNTED = "clients_miscounted"


def pgpool_rules(settings: Settings, usable: int | None) -> list[Cause]:
    """Return every rule that these settings break; `usable` connections at each node, None if not known."""
    found = [
        _life_time_ignored(settings),
        _product(settings, usable),
        _life_time_needs_node_0(settings),
        _serialize_accept_without_effect(settings),
        _cached_for_ever(settings),
        _life_time_beyond_child(settings),
        _children_short_lived(settings),
        _clients_miscounted(settings),
        _idle_limit(settings),
        _no_cache(settings),
        _reset(settings),
    ]
    return [cause for cause in found if cause is not None]


def server_count(settings: Settings) -> int:
    """Return the most connections that the children keep to each node."""
    per_child = settings.count("max_pool") if settings.is_on("connection_cache") else 1
    return settings.count("num_init_children") * per_child


def node_count(settings: Settings) -> int:
    """Return nodes of the configuration; 1 where it names none."""
    names = [n for n in settings.config.settings if n.startswith("backend_hostname")]
    return max(len([n for n in names if settings.config.settings[n]]), 1)


def is_serialized(settings: Settings) -> bool:
    """Return whether `serialize_accept` has an effect."""
    return settings.is_on("serialize_accept") and settings.count("child_life_time") == 0


def _life_time_ignored(s: Settings) -> Cause | None:
    life_s = s.number(LIFE_TIME) or 0
    affected = s.has(UNDER_SERIALIZE)
    if not is_serialized(s) or life_s <= 0 or affected is Affected.NO:
        return None
    known = affected is Affected.YES
    if known:
        title = (
            f"{s.product} ignores connection_life_time = {seconds(life_s)} while"
            " serialize_accept is on: backends stay for ever"
        )
        remedy = f"Upgrade to {s.upgrade(UNDER_SERIALIZE)} or later."
    else:
        title = (
            "connection_life_time is ignored while serialize_accept is on, by every Pgpool-II"
            f" before the fix of {s.fixes(UNDER_SERIALIZE)[-1].fixed_on}; this version is not known"
        )
        remedy = "Find the version with 'pgpool --version', and upgrade if it lacks the fix."
    return s.finding(
        "LifeTimeIgnoredUnderSerializeAccept",
        "critical" if known else "warning",
        title,
        "A child that waits for the accept lock does not wake for its timer. Its cached backends stay"
        f" idle at the server after their clients left, up to {server_count(s):,} of them at each node.",
        evidence=(
            s.said("serialize_accept", "child_life_time", LIFE_TIME),
            s.fixed(UNDER_SERIALIZE),
        ),
        remedies=(
            Remedy(
                text=remedy,
                expected=f"A cached backend ends {seconds(life_s)} after its client left.",
            ),
            Remedy(
                text="Until then let the children accept without the lock; restart Pgpool-II.",
                commands=("serialize_accept = off",),
                expected="The timer works; with many children each arrival wakes more of them.",
            ),
        ),
        refuted_by="SHOW POOL_POOLS has no row with pool_connected = 0 whose client left longer ago"
        f" than {seconds(life_s)}.",
    )


def _life_time_needs_node_0(s: Settings) -> Cause | None:
    affected = s.has(NEEDS_NODE_0)
    is_streaming = (s.text("backend_clustering_mode") or "") == "streaming_replication"
    if node_count(s) < 2 or not (s.number(LIFE_TIME) or 0) > 0 or not is_streaming:
        return None
    if affected is Affected.NO:
        return None
    known = affected is Affected.YES
    return s.finding(
        "LifeTimeNeedsNode0",
        "warning" if known else "note",
        f"connection_life_time works only while node 0 is the primary, in {s.product}"
        if known
        else "connection_life_time works only while node 0 is the primary, before the fix of 2020-08-20;"
        " this version is not known",
        f"After a failover to another of the {node_count(s)} nodes, cached backends no longer end.",
        evidence=(s.said(LIFE_TIME), s.fixed(NEEDS_NODE_0)),
        remedies=(Remedy(text=f"Upgrade to {s.upgrade(NEEDS_NODE_0)} or later."),),
        refuted_by="SHOW POOL_NODES calls node 0 the primary, today and after every failover.",
    )


def _serialize_accept_without_effect(s: Settings) -> Cause | None:
    if not s.is_on("serialize_accept") or is_serialized(s):
        return None
    return s.finding(
        "SerializeAcceptWithoutEffect",
        "note",
        "serialize_accept = on does nothing while child_life_time is above 0",
        "Pgpool-II serialises accept() only where children do not end by time.",
        evidence=(s.said("serialize_accept", "child_life_time"), _manual(s, "serialize_accept")),
        remedies=(
            Remedy(
                text="Choose one: children that end when idle, or the lock.",
                commands=("serialize_accept = off",),
            ),
        ),
        refuted_by="Children wait for the accept lock: their process title says so.",
    )


def _cached_for_ever(s: Settings) -> Cause | None:
    ends = (LIFE_TIME, "child_life_time", "child_max_connections")
    if not s.is_on("connection_cache") or any((s.number(name) or 0) > 0 for name in ends):
        return None
    # Since 4.4 children may come and go: those beyond max_spare_children end, with what they keep.
    if (s.text("process_management_mode") or "").lower() == "dynamic":
        return None
    return s.finding(
        "CachedServersNeverEnd",
        "warning",
        f"Nothing ends a cached backend: up to {server_count(s):,} stay at each node for ever",
        "After a peak every backend of it stays idle, with its memory and its slot.",
        evidence=(s.said(*ends),),
        remedies=(
            Remedy(
                text="End what no client used for a while.",
                commands=(f"{LIFE_TIME} = 60",),
                expected="The server's idle connections fall a minute after a peak.",
            ),
        ),
        refuted_by="The number of idle sessions falls by itself after a peak.",
    )


def _life_time_beyond_child(s: Settings) -> Cause | None:
    child_s, life_s = s.number("child_life_time") or 0, s.number(LIFE_TIME) or 0
    if not 0 < child_s < life_s:
        return None
    return s.finding(
        "LifeTimeBeyondChild",
        "note",
        f"connection_life_time ({seconds(life_s)}) is longer than an idle child lives"
        f" ({seconds(child_s)})",
        "An idle child ends with all its cached backends before their own time is up.",
        evidence=(s.said("child_life_time", LIFE_TIME),),
        remedies=(
            Remedy(
                text="Keep backends no longer than children.",
                commands=(f"{LIFE_TIME} = {child_s / 2:.0f}",),
            ),
        ),
        refuted_by="Children are never idle for so long.",
    )


def _children_short_lived(s: Settings) -> Cause | None:
    clients = s.count("child_max_connections")
    if not 0 < clients < CLIENTS_PER_CHILD_MIN or not s.is_on("connection_cache"):
        return None
    return s.finding(
        "ChildrenShortLived",
        "warning",
        f"A child is replaced after {clients} clients, with all it has cached",
        f"child_max_connections ends a child and up to {s.count('max_pool')} cached backends of it;"
        f" at best one connection in {clients} is a new one at the server, with several databases or"
        " users more. An application that reconnects often makes this a storm of new backends.",
        evidence=(s.said("child_max_connections", "max_pool"),),
        remedies=(
            Remedy(
                text="Let a child serve more clients, or for ever.",
                commands=("child_max_connections = 0", f"{LIFE_TIME} = 60"),
                expected=f"Arrivals at the server fall to less than 1 in {CLIENTS_PER_CHILD_MIN}.",
            ),
        ),
        refuted_by="Clients stay connected for hours: then children hardly ever reach the number.",
    )


def _clients_miscounted(s: Settings) -> Cause | None:
    if s.has(MISCOUNTED) is not Affected.YES or s.count("reserved_connections") > 0:
        return None
    return s.finding(
        "ClientsMiscounted",
        "note",
        f"{s.product} can refuse clients with 'Sorry, too many clients already' though children"
        " are free",
        "It counts clients even where reserved_connections = 0 does not need it, and can lose count.",
        evidence=(s.said("reserved_connections"), s.fixed(MISCOUNTED)),
        remedies=(Remedy(text=f"Upgrade to {s.upgrade(MISCOUNTED)} or later."),),
        refuted_by="Refused clients come only while all children are taken (SHOW POOL_PROCESSES).",
    )


def _idle_limit(s: Settings) -> Cause | None:
    limit_s, life_s = s.number("client_idle_limit") or 0, s.number(LIFE_TIME) or 0
    if limit_s <= 0:
        return None
    contradicts = 0 < life_s < limit_s
    title = (
        f"client_idle_limit ends connections that applications' pools keep idle for"
        f" {seconds(limit_s)}"
    )
    if contradicts:
        title = (
            f"An idle client keeps its backend for {seconds(limit_s)}, a free one is"
            f" kept for {seconds(life_s)}"
        )
    return s.finding(
        "IdleLimitContradicts" if contradicts else "IdleLimitCutsClients",
        "note",
        title,
        "An application's pool that holds idle connections longer finds them dead at the next query;"
        " it reconnects, and every such arrival may be a new backend."
        + (
            " What nobody uses but a client holds outlives what is free for everybody."
            if contradicts
            else ""
        ),
        evidence=(s.said("client_idle_limit", LIFE_TIME),),
        remedies=(
            Remedy(
                text="In every application's pool, end idle connections before Pgpool-II does, as"
                " HikariCP's idleTimeout and maxLifetime, in milliseconds, with minimumIdle below the"
                " pool's size.",
                commands=(
                    f"idleTimeout={limit_s / 2 * 1000:.0f}",
                    f"maxLifetime={limit_s * 900:.0f}",
                ),
                expected="No query meets a connection that was cut.",
            ),
        ),
        refuted_by="Applications' pools give idle connections back sooner.",
    )


def _no_cache(s: Settings) -> Cause | None:
    if s.is_on("connection_cache"):
        return None
    return s.finding(
        "NothingPooled",
        "note",
        "connection_cache is off: every client makes a new backend",
        "Pgpool-II balances load then, and pools nothing.",
        evidence=(s.said("connection_cache"),),
        remedies=(Remedy(text="Cache connections.", commands=("connection_cache = on",)),),
        refuted_by="Applications have pools of their own that keep connections for hours.",
    )


def _reset(s: Settings) -> Cause | None:
    resets = (s.text("reset_query_list") or "").lower()
    if "discard all" in resets:
        return None
    return s.finding(
        "SessionStateLeaks",
        "warning",
        "reset_query_list does not discard the session: the next client inherits SET, temporary"
        " tables, advisory locks and prepared statements",
        "A cached backend is handed over as the last client left it.",
        evidence=(s.said("reset_query_list"), _manual(s, "reset_query_list")),
        remedies=(
            Remedy(text="Reset wholly.", commands=("reset_query_list = 'ABORT; DISCARD ALL'",)),
        ),
        refuted_by="A new client of the same child sees SHOW search_path as configured.",
    )


def _product(s: Settings, usable: int | None) -> Cause | None:
    """Return manual, num_init_children: max_pool × num_init_children, twice that with cancelling."""
    most, nodes = server_count(s), node_count(s)
    children, pool = s.count("num_init_children"), s.count("max_pool")
    sum_text = f"num_init_children × max_pool = {children:,} × {pool} = {most:,}"
    everywhere = f" at each of {nodes} nodes, {most * nodes:,} in all" if nodes > 1 else ""
    if usable is None or 2 * most <= usable:
        return None
    exceeds = most > usable
    fits_pool = max(usable // max(children, 1), 1)
    fits_children = min(children, usable // fits_pool)
    remedy = Remedy(
        text="Make the product fit; a pool of 1 is enough where each child sees one database and user.",
        commands=(f"num_init_children = {fits_children}", f"max_pool = {fits_pool}"),
        expected=f"At most {fits_children * fits_pool:,} connections to each node, of {usable:,}.",
    )
    if not exceeds:
        remedy = Remedy(
            text="Leave room for as many cancel requests, or raise max_connections at every node.",
            commands=(f"ALTER SYSTEM SET max_connections = {2 * most + 3};",),
            expected="Cancelling works while all children are busy.",
        )
    return s.finding(
        "PoolsExceedMaxConnections" if exceeds else "NoRoomToCancel",
        "critical" if exceeds else "note",
        f"{sum_text} connections{everywhere} can be opened, the server takes {usable:,}"
        if exceeds
        else f"{sum_text} of {usable:,} connections: cancelling a query needs another one each",
        "Each child keeps max_pool connections to every node, standbys included, so each node needs"
        " that many; max_connections less what is reserved for superusers is what it has."
        + (" Beyond it clients get 'sorry, too many clients already'." if exceeds else ""),
        evidence=(
            s.said("num_init_children", "max_pool"),
            Evidence(
                kind="connections",
                text=f"{most:,} against {usable:,} usable connections"
                f" ({2 * most:,} with one cancel request each)",
                value=float(most),
                reference=float(usable),
            ),
            _manual(s, "num_init_children"),
        ),
        remedies=(remedy,),
        refuted_by="All clients use fewer databases and users than max_pool, so that fewer are cached.",
    )


def _manual(s: Settings, setting: str) -> Evidence:
    default = s.facts.pooler_default("pgpool", setting)
    assert default is not None
    return Evidence(
        kind="documentation",
        text=f"source: {default.origin.source}, {setting}, read {default.origin.read_on}",
    )
