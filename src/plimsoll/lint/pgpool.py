"""
Check Pgpool-II's settings.

Each child process keeps up to `max_pool` connections to each node. It keeps them as long as it lives, or
until `connection_life_time` after its client disconnected. `serialize_accept` has an effect only if
`child_life_time` is 0 (manual, "Connection Pooling"), so the defect fixed in 2020 needs both.
"""

from plimsoll.lint.settings import Affected, Settings, seconds
from plimsoll.model.cause import Cause, Remedy
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.postgres import SUPERUSER_RESERVED

# A judgement: a child replaced after fewer clients caches too little. The start of a PostgreSQL process
# costs some milliseconds, as much as dozens of short queries.
CLIENTS_PER_CHILD_MIN = 50

LIFE_TIME = "connection_life_time"
UNDER_SERIALIZE = "life_time_under_serialize_accept"
NEEDS_NODE_0 = "life_time_needs_node_0"
MISCOUNTED = "clients_miscounted"


def pgpool_rules(settings: Settings, usable: int | None) -> list[Cause]:
    """
    Return a finding for each rule that these settings break.

    Args:
        settings: of Pgpool-II.
        usable: connections that each node accepts from ordinary users; None if unknown.
    """
    found = [
        _life_time_ignored(settings),
        _total(settings, usable),
        _life_time_needs_node_0(settings),
        _serialize_accept_without_effect(settings),
        _cached_forever(settings),
        _life_time_beyond_child(settings),
        _children_short_lived(settings),
        _clients_miscounted(settings),
        _idle_limit(settings),
        _no_cache(settings),
        _reset(settings),
    ]
    return [cause for cause in found if cause is not None]


def server_count(settings: Settings) -> int:
    """Return the maximum number of connections that the children keep to each node."""
    per_child = settings.count("max_pool") if settings.is_on("connection_cache") else 1
    return settings.count("num_init_children") * per_child


def node_count(settings: Settings) -> int:
    """Return the number of configured nodes; 1 if none is configured."""
    names = [n for n in settings.config.settings if n.startswith("backend_hostname")]
    return max(len([n for n in names if settings.config.settings[n]]), 1)


def is_serialized(settings: Settings) -> bool:
    """Return whether `serialize_accept` has an effect."""
    return settings.is_on("serialize_accept") and settings.count("child_life_time") == 0


def _life_time_ignored(s: Settings) -> Cause | None:
    life_s = s.number(LIFE_TIME) or 0
    affected = s.affected_by(UNDER_SERIALIZE)
    if not is_serialized(s) or life_s <= 0 or affected is Affected.NO:
        return None
    known = affected is Affected.YES
    if known:
        title = (
            f"{s.product} ignores connection_life_time = {seconds(life_s)} while"
            " serialize_accept is on: backends stay forever"
        )
        remedy = f"Upgrade to {s.upgrade_for(UNDER_SERIALIZE)} or later."
    else:
        title = (
            "Pgpool-II ignores connection_life_time while serialize_accept is on, in every release"
            f" before the fix of {s.fixes(UNDER_SERIALIZE)[-1].fixed_on}; this version is unknown"
        )
        remedy = "Get the version with 'pgpool --version', and upgrade if it lacks the fix."
    return s.finding(
        "LifeTimeIgnoredUnderSerializeAccept",
        "critical" if known else "warning",
        title,
        "A child that waits for the accept lock does not react to its timer. Its cached backends stay"
        f" idle after their clients disconnect, up to {server_count(s):,} of them at each node.",
        evidence=(
            s.settings_evidence("serialize_accept", "child_life_time", LIFE_TIME),
            s.fix_evidence(UNDER_SERIALIZE),
        ),
        remedies=(
            Remedy(text=remedy, expected=f"A cached backend ends {seconds(life_s)} after its client disconnects."),
            Remedy(
                text="Until then disable the accept lock, and restart Pgpool-II.",
                commands=("serialize_accept = off",),
                expected="The timer works. Each new connection wakes more of the children.",
            ),
        ),
        refuted_by="SHOW POOL_POOLS has no row with pool_connected = 0 whose client disconnected more"
        f" than {seconds(life_s)} ago.",
    )


def _life_time_needs_node_0(s: Settings) -> Cause | None:
    affected = s.affected_by(NEEDS_NODE_0)
    is_streaming = (s.text("backend_clustering_mode") or "") == "streaming_replication"
    if node_count(s) < 2 or not (s.number(LIFE_TIME) or 0) > 0 or not is_streaming:
        return None
    if affected is Affected.NO:
        return None
    known = affected is Affected.YES
    return s.finding(
        "LifeTimeNeedsNode0",
        "warning" if known else "note",
        f"In {s.product} connection_life_time works only while node 0 is the primary"
        if known
        else "Before the fix of 2020-08-20 connection_life_time works only while node 0 is the primary;"
        " this version is unknown",
        f"After a failover to another of the {node_count(s)} nodes, cached backends never end.",
        evidence=(s.settings_evidence(LIFE_TIME), s.fix_evidence(NEEDS_NODE_0)),
        remedies=(Remedy(text=f"Upgrade to {s.upgrade_for(NEEDS_NODE_0)} or later."),),
        refuted_by="SHOW POOL_NODES lists node 0 as the primary, now and after every failover.",
    )


def _serialize_accept_without_effect(s: Settings) -> Cause | None:
    if not s.is_on("serialize_accept") or is_serialized(s):
        return None
    return s.finding(
        "SerializeAcceptWithoutEffect",
        "note",
        "serialize_accept = on has no effect while child_life_time is above 0",
        "Pgpool-II serialises accept() only if child_life_time is 0.",
        evidence=(s.settings_evidence("serialize_accept", "child_life_time"), _manual(s, "serialize_accept")),
        remedies=(
            Remedy(
                text="Choose one: children that end when idle, or the accept lock.",
                commands=("serialize_accept = off",),
            ),
        ),
        refuted_by="The process titles of children show that they wait for the accept lock.",
    )


def _cached_forever(s: Settings) -> Cause | None:
    ends = (LIFE_TIME, "child_life_time", "child_max_connections")
    if not s.is_on("connection_cache") or any((s.number(name) or 0) > 0 for name in ends):
        return None
    # From 4.4 on, children may be dynamic: those above max_spare_children end, with their backends (manual,
    # process_management_mode).
    if (s.text("process_management_mode") or "").lower() == "dynamic":
        return None
    return s.finding(
        "CachedServersNeverEnd",
        "warning",
        f"Nothing ends a cached backend: up to {server_count(s):,} stay at each node forever",
        "After a peak all its backends stay idle, each with its memory and its connection slot.",
        evidence=(s.settings_evidence(*ends),),
        remedies=(
            Remedy(
                text="End backends that no client has used for a minute.",
                commands=(f"{LIFE_TIME} = 60",),
                expected="The server's idle connections fall a minute after a peak.",
            ),
        ),
        refuted_by="The number of idle sessions falls without intervention after a peak.",
    )


def _life_time_beyond_child(s: Settings) -> Cause | None:
    child_s, life_s = s.number("child_life_time") or 0, s.number(LIFE_TIME) or 0
    if not 0 < child_s < life_s:
        return None
    return s.finding(
        "LifeTimeBeyondChild",
        "note",
        f"connection_life_time ({seconds(life_s)}) is longer than an idle child lives ({seconds(child_s)})",
        "An idle child ends with all its cached backends before connection_life_time is over.",
        evidence=(s.settings_evidence("child_life_time", LIFE_TIME),),
        remedies=(
            Remedy(
                text="Make connection_life_time shorter than child_life_time.",
                commands=(f"{LIFE_TIME} = {child_s / 2:.0f}",),
            ),
        ),
        refuted_by="Children are never idle that long.",
    )


def _children_short_lived(s: Settings) -> Cause | None:
    clients = s.count("child_max_connections")
    if not 0 < clients < CLIENTS_PER_CHILD_MIN or not s.is_on("connection_cache"):
        return None
    return s.finding(
        "ChildrenShortLived",
        "warning",
        f"A child is replaced after {clients} clients, with all its cached backends",
        f"child_max_connections ends a child and up to {s.count('max_pool')} of its cached backends."
        f" At best 1 client connection in {clients} needs a new backend; with several databases or users"
        " more do. If an application reconnects often, many backends start at once.",
        evidence=(s.settings_evidence("child_max_connections", "max_pool"),),
        remedies=(
            Remedy(
                text="Let a child serve more clients, or set no limit.",
                commands=("child_max_connections = 0", f"{LIFE_TIME} = 60"),
                expected=f"Fewer than 1 in {CLIENTS_PER_CHILD_MIN} client connections start a new backend.",
            ),
        ),
        refuted_by="Clients stay connected for hours, so children rarely reach this number.",
    )


def _clients_miscounted(s: Settings) -> Cause | None:
    if s.affected_by(MISCOUNTED) is not Affected.YES or s.count("reserved_connections") > 0:
        return None
    return s.finding(
        "ClientsMiscounted",
        "note",
        f"{s.product} can refuse clients with 'Sorry, too many clients already' although children are free",
        "It counts clients even if reserved_connections = 0, and the count can be wrong.",
        evidence=(s.settings_evidence("reserved_connections"), s.fix_evidence(MISCOUNTED)),
        remedies=(Remedy(text=f"Upgrade to {s.upgrade_for(MISCOUNTED)} or later."),),
        refuted_by="Clients are refused only while all children are in use (SHOW POOL_PROCESSES).",
    )


def _idle_limit(s: Settings) -> Cause | None:
    limit_s, life_s = s.number("client_idle_limit") or 0, s.number(LIFE_TIME) or 0
    if limit_s <= 0:
        return None
    contradicts = 0 < life_s < limit_s
    title = f"client_idle_limit ends connections that application pools keep idle for {seconds(limit_s)}"
    if contradicts:
        title = (
            f"An idle client keeps its backend for {seconds(limit_s)}, but a free backend ends after {seconds(life_s)}"
        )
    return s.finding(
        "IdleLimitContradicts" if contradicts else "IdleLimitCutsClients",
        "note",
        title,
        "An application pool that keeps idle connections longer finds them closed at the next query."
        " It reconnects, and each new connection may start a new backend."
        + (" Backends of idle clients live longer than those free for all clients." if contradicts else ""),
        evidence=(s.settings_evidence("client_idle_limit", LIFE_TIME),),
        remedies=(
            Remedy(
                text="In every application pool, end idle connections before Pgpool-II does, for example with"
                " HikariCP's idleTimeout and maxLifetime (milliseconds) and minimumIdle below the"
                " pool's size.",
                commands=(f"idleTimeout={limit_s / 2 * 1000:.0f}", f"maxLifetime={limit_s * 900:.0f}"),
                expected="No query finds a closed connection.",
            ),
        ),
        refuted_by="Application pools close idle connections sooner.",
    )


def _no_cache(s: Settings) -> Cause | None:
    if s.is_on("connection_cache"):
        return None
    return s.finding(
        "NothingPooled",
        "note",
        "connection_cache is off: every client starts a new backend",
        "Pgpool-II then balances load but does not pool connections.",
        evidence=(s.settings_evidence("connection_cache"),),
        remedies=(Remedy(text="Cache connections.", commands=("connection_cache = on",)),),
        refuted_by="Application pools keep connections for hours.",
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
        "The next client gets a cached backend as the last client left it.",
        evidence=(s.settings_evidence("reset_query_list"), _manual(s, "reset_query_list")),
        remedies=(Remedy(text="Reset everything.", commands=("reset_query_list = 'ABORT; DISCARD ALL'",)),),
        refuted_by="A new client of the same child sees SHOW search_path as configured.",
    )


def _total(s: Settings, usable: int | None) -> Cause | None:
    """Check `num_init_children` × `max_pool`; cancelling needs twice that (manual, num_init_children)."""
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
        text="Lower the product. A max_pool of 1 is enough if clients use one database and user.",
        commands=(f"num_init_children = {fits_children}", f"max_pool = {fits_pool}"),
        expected=f"At most {fits_children * fits_pool:,} connections to each node, of {usable:,}.",
    )
    if not exceeds:
        remedy = Remedy(
            text="Lower the product to leave room for cancel requests, or raise max_connections at each node "
            f"to {2 * most + SUPERUSER_RESERVED}, which takes a restart of the server.",
            expected="Cancelling works while all children are busy.",
        )
    return s.finding(
        "PoolsExceedMaxConnections" if exceeds else "NoRoomToCancel",
        "critical" if exceeds else "note",
        f"{sum_text} connections{everywhere} can be opened, but the server accepts {usable:,}"
        if exceeds
        else f"{sum_text} of {usable:,} connections: each canceled query needs another one",
        "Each child keeps max_pool connections to every node, standbys included, so each node needs"
        " that many. A node has max_connections less the connections reserved for superusers."
        + (" Above that, clients get 'sorry, too many clients already'." if exceeds else ""),
        evidence=(
            s.settings_evidence("num_init_children", "max_pool"),
            Evidence(
                kind="connections",
                text=f"{most:,}, compared with {usable:,} usable connections"
                f" ({2 * most:,} with one cancel request each)",
                value=float(most),
                reference=float(usable),
            ),
            _manual(s, "num_init_children"),
        ),
        remedies=(remedy,),
        refuted_by="Clients use fewer databases and users than max_pool, so fewer connections are cached.",
    )


def _manual(s: Settings, setting: str) -> Evidence:
    default = s.facts.pooler_default("pgpool", setting)
    assert default is not None
    return Evidence(
        kind="documentation", text=f"source: {default.origin.source}, {setting}, read {default.origin.read_on}"
    )
