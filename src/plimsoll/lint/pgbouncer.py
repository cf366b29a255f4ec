"""
Check PgBouncer's settings.

PgBouncer has one pool per database and user. In session mode a client keeps its server connection until it
disconnects, in transaction mode until the transaction ends. In transaction mode session state is lost, or
another client gets it.
"""

from math import isfinite

from plimsoll.catalog.load import version_of
from plimsoll.lint.pgbouncer_pools import ServerConnections, pool_size, server_connections
from plimsoll.lint.settings import Affected, Settings, seconds
from plimsoll.model.cause import Cause, Remedy
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.severity import Severity

PREPARED = "prepared_statements_lost"
FORGETS = "discard_all_forgets_prepared"

_SHARING = ("transaction", "statement")
_LOST = (
    "SET and RESET, LISTEN, advisory locks of sessions, cursors WITH HOLD, temporary tables that"
    " outlive a transaction, LOAD, PREPARE in SQL"
)


def pgbouncer_rules(settings: Settings, usable: int | None) -> list[Cause]:
    """
    Return a finding for each rule that these settings break.

    Args:
        settings: of PgBouncer.
        usable: connections that the server accepts from ordinary users; None if unknown.
    """
    found = [
        _total(settings, usable),
        _prepared(settings),
        _session_features(settings),
        _statement_mode(settings),
        _reset_never_runs(settings),
        _reset_always(settings),
        _reset_empty(settings),
        _life_time_zero(settings),
        _no_wait_timeout(settings),
        _reserve(settings),
        _min_pool(settings),
        _no_transaction_timeout(settings),
        _nothing_shared(settings),
        _users_too_new(settings),
        *_contradictions(settings),
    ]
    return [cause for cause in found if cause is not None]


def modes(s: Settings) -> dict[str, list[str]]:
    """Return databases and users by pool mode; `every other database` has the general mode."""
    found: dict[str, list[str]] = {(s.text("pool_mode") or "").lower(): ["every other database"]}
    for database in s.config.databases:
        if database.mode:
            found.setdefault(database.mode.lower(), []).append(database.name)
    for user in s.config.users:
        if user.mode:
            found.setdefault(user.mode.lower(), []).append(f"user {user.name}")
    return found


def _shares(s: Settings) -> bool:
    """Return whether clients share server connections within a session."""
    return any(mode in modes(s) for mode in _SHARING)


def _session_features(s: Settings) -> Cause | None:
    if not _shares(s):
        return None
    name = next((d.name for d in s.config.databases if d.name.isidentifier()), "<database>")
    return s.finding(
        "SessionFeaturesLost",
        "note",
        f"pool_mode = {_mode(s)}: session state does not survive the transaction",
        f"Clients must not use: {_LOST}. SET LOCAL, pg_advisory_xact_lock, NOTIFY and temporary"
        " tables ON COMMIT DROP are safe.",
        evidence=(s.settings_evidence("pool_mode"), _manual(s, "pool_mode")),
        remedies=(
            Remedy(
                text="Give clients that need a session, for example migrations and LISTEN, a database entry of"
                " their own.",
                commands=(f"{name}_session = dbname={name} pool_mode=session pool_size=5",),
            ),
        ),
        refuted_by="pg_stat_statements shows none of these statements.",
    )


def _prepared(s: Settings) -> Cause | None:
    if not _shares(s) or s.count("max_prepared_statements") > 0:
        return None
    affected = s.affected_by(PREPARED)
    # Without a version the default is unknown; a configured 0 leaves no doubt.
    severity: Severity = (
        "note" if affected is Affected.UNKNOWN and not s.is_set("max_prepared_statements") else "warning"
    )
    if affected is Affected.YES:
        title = f"{s.product} does not support prepared statements in {_mode(s)} mode"
        remedy = Remedy(
            text=f"Upgrade to {s.upgrade_for(PREPARED)} or later and let it track them, or disable them in the driver.",
            commands=("max_prepared_statements = 200", "prepareThreshold=0"),
        )
    elif severity == "note":
        title = f"Prepared statements break in {_mode(s)} mode before PgBouncer 1.21, and in 1.21 to 1.23 by default"
        remedy = Remedy(
            text="Set how many PgBouncer tracks per server connection; before 1.21 disable them in the driver.",
            commands=("max_prepared_statements = 200", "prepareThreshold=0"),
        )
    else:
        title = f"max_prepared_statements = 0: prepared statements break in {_mode(s)} mode"
        remedy = Remedy(
            text="Let PgBouncer track them.",
            commands=("max_prepared_statements = 200",),
            expected="PgBouncer prepares a statement again on each server connection that lacks it.",
        )
    return s.finding(
        "PreparedStatementsBreak",
        severity,
        title,
        "Drivers prepare statements automatically, JDBC from the fifth execution on. The next transaction may run"
        " on a server connection without the statement: 'prepared statement \"S_1\" does not exist'.",
        evidence=(s.settings_evidence("pool_mode", "max_prepared_statements"), s.fix_evidence(PREPARED)),
        remedies=(remedy,),
        refuted_by="The drivers of all clients send only unnamed statements.",
    )


def _statement_mode(s: Settings) -> Cause | None:
    if "statement" not in modes(s):
        return None
    return s.finding(
        "TransactionsRefused",
        "warning",
        "pool_mode = statement refuses transactions of more than one statement",
        "A client that sends BEGIN gets an error. The mode is meant for autocommit, for example with PL/Proxy.",
        evidence=(s.settings_evidence("pool_mode"), _manual(s, "pool_mode")),
        remedies=(Remedy(text="Use transaction mode.", commands=("pool_mode = transaction",)),),
        refuted_by="No client ever begins a transaction.",
    )


def _reset_never_runs(s: Settings) -> Cause | None:
    if not s.config.settings.get("server_reset_query") or s.is_on("server_reset_query_always"):
        return None
    if "session" in modes(s) or not _shares(s):
        return None
    return s.finding(
        "ResetNeverRuns",
        "note",
        f"server_reset_query is set but never runs in {_mode(s)} mode",
        "It runs only when a client leaves a session pool. Clients may still expect clean sessions.",
        evidence=(s.settings_evidence("pool_mode", "server_reset_query"), _manual(s, "server_reset_query")),
        remedies=(Remedy(text="Remove it, and do not use session state in the clients."),),
        refuted_by="A database of this pooler has pool_mode=session.",
    )


def _reset_always(s: Settings) -> Cause | None:
    if not s.is_on("server_reset_query_always") or not _shares(s):
        return None
    forgets = s.count("max_prepared_statements") > 0 and s.affected_by(FORGETS) is Affected.YES
    title = f"server_reset_query_always runs '{s.text('server_reset_query')}' after every transaction"
    if forgets:
        title = f"{s.product} loses the prepared statements it tracks at every server_reset_query"
    evidence = [s.settings_evidence("pool_mode", "server_reset_query", "server_reset_query_always")]
    return s.finding(
        "ResetForgetsPrepared" if forgets else "ResetAlways",
        "warning" if forgets else "note",
        title,
        "Each adds a round trip, and DISCARD ALL drops every plan. Clients always lose their session state,"
        " not only sometimes.",
        evidence=(*evidence, s.fix_evidence(FORGETS)) if forgets else tuple(evidence),
        remedies=(Remedy(text="Disable it.", commands=("server_reset_query_always = 0",)),),
        refuted_by="The reset is intended, and its cost is known.",
    )


def _reset_empty(s: Settings) -> Cause | None:
    if "session" not in modes(s) or s.text("server_reset_query"):
        return None
    return s.finding(
        "SessionStateLeaks",
        "warning",
        "server_reset_query is empty: the next client inherits SET, temporary tables, advisory locks"
        " and prepared statements",
        "In session mode the next client gets the server connection as the last client left it.",
        evidence=(s.settings_evidence("pool_mode", "server_reset_query"), _manual(s, "server_reset_query")),
        remedies=(Remedy(text="Reset everything.", commands=("server_reset_query = DISCARD ALL",)),),
        refuted_by="No client changes session state.",
    )


def _life_time_zero(s: Settings) -> Cause | None:
    if s.number("server_lifetime") != 0:
        return None
    return s.finding(
        "ServersUsedOnce",
        "warning",
        "server_lifetime = 0: every server connection is used once and closed",
        "Zero does not disable the timer, so nothing is pooled.",
        evidence=(s.settings_evidence("server_lifetime"), _manual(s, "server_lifetime")),
        remedies=(Remedy(text="Keep server connections for an hour.", commands=("server_lifetime = 3600",)),),
        refuted_by="SHOW SERVERS lists connections that are older than their last transaction.",
    )


def _no_wait_timeout(s: Settings) -> Cause | None:
    if s.number("query_wait_timeout") != 0:
        return None
    return s.finding(
        "ClientsWaitForEver",
        "warning",
        "query_wait_timeout = 0: a client may wait forever for a server connection",
        "If the database hangs, clients accumulate up to max_client_conn, and none gets an error.",
        evidence=(s.settings_evidence("query_wait_timeout", "max_client_conn"), _manual(s, "query_wait_timeout")),
        remedies=(Remedy(text="Limit the wait.", commands=("query_wait_timeout = 30",)),),
        refuted_by="Every client has a shorter timeout.",
    )


def _reserve(s: Settings) -> Cause | None:
    size, after_s = s.count("reserve_pool_size"), s.number("reserve_pool_timeout") or 0
    wait_s = s.number("query_wait_timeout") or 0
    if size <= 0 or 0 < after_s < (wait_s or after_s + 1):
        return None
    why = (
        "reserve_pool_timeout = 0 disables it"
        if after_s == 0
        else (f"clients time out after {seconds(wait_s)}, but it opens after {seconds(after_s)}")
    )
    return s.finding(
        "ReserveNeverOpens",
        "warning",
        f"The reserve of {size} connections never helps: {why}",
        "The reserve opens for a client that has waited longer than reserve_pool_timeout.",
        evidence=(s.settings_evidence("reserve_pool_size", "reserve_pool_timeout", "query_wait_timeout"),),
        remedies=(Remedy(text="Open it earlier.", commands=("reserve_pool_timeout = 3",)),),
        refuted_by="SHOW POOLS shows more server connections than the pool's size.",
    )


def _min_pool(s: Settings) -> Cause | None:
    general, size = s.count("min_pool_size"), s.count("default_pool_size")
    least, most, whose = general, float(size), ""
    for database in s.config.databases:
        own = database.size_min if database.size_min is not None else general
        if own > pool_size(s, database) and least <= most:
            least, most, whose = own, pool_size(s, database), f" of {database.name}"
    if least <= most:
        return None
    return s.finding(
        "MinPoolCapped",
        "note",
        f"min_pool_size = {least}{whose} is more than the pool size ({most:.0f})",
        "PgBouncer caps it at the pool's size, so every pool is always full.",
        evidence=(s.settings_evidence("min_pool_size", "default_pool_size"), _manual(s, "min_pool_size")),
        remedies=(Remedy(text="Keep fewer open.", commands=(f"min_pool_size = {most // 4:.0f}",)),),
        refuted_by="The databases set a larger pool_size."
        if not whose
        else "SHOW DATABASES shows a pool_size above its min_pool_size.",
    )


def _no_transaction_timeout(s: Settings) -> Cause | None:
    if not _shares(s) or (s.number("idle_transaction_timeout") or 0) > 0:
        return None
    return s.finding(
        "IdleTransactionsPinServers",
        "note",
        "idle_transaction_timeout = 0: a client that never ends its transaction keeps its server connection forever",
        f"In {_mode(s)} mode {s.count('default_pool_size')} such clients block a whole pool.",
        evidence=(s.settings_evidence("pool_mode", "idle_transaction_timeout", "default_pool_size"),),
        remedies=(Remedy(text="Set a limit.", commands=("idle_transaction_timeout = 60",)),),
        refuted_by="The server sets idle_in_transaction_session_timeout.",
    )


def _nothing_shared(s: Settings) -> Cause | None:
    clients = s.count("max_client_conn")
    sizes = [pool_size(s, database) for database in s.config.databases if database.name != "*"]
    if not sizes or not s.is_set("max_client_conn") or sum(sizes) < clients:
        return None
    servers = (
        f"{sum(sizes):,.0f} server connections it may open"
        if isfinite(sum(sizes))
        else "server connections its pools may open"
    )
    return s.finding(
        "NothingShared",
        "note",
        f"max_client_conn = {clients} is not more than the {servers}",
        "Every client can have its own server connection, so the pooler saves none.",
        evidence=(s.settings_evidence("max_client_conn", "default_pool_size"),),
        remedies=(Remedy(text="Accept more clients than server connections.", commands=("max_client_conn = 1000",)),),
        refuted_by="Its purpose is to keep connections open, not to save them.",
    )


def _total(s: Settings, usable: int | None) -> Cause | None:
    """Check the total of the pools, counted with one user for each database that forces none."""
    whole = next(iter(server_connections(s)), None)
    if whole is None or usable is None or whole.most <= usable:
        return None
    servers = len(server_connections(s))
    where = f" to {whole.server}" if servers > 1 and whole.server else ""
    is_bounded = isfinite(whole.most)
    count = f"{whole.most:,.0f}" if is_bounded else "any number of"
    each = max(usable // len(whole.databases), 1)
    return s.finding(
        "PoolsExceedMaxConnections",
        "critical",
        f"The pools may open {count} connections{where}, but the server accepts {usable:,}",
        f"{_terms(whole)}{_other_users(s, whole)} Above that, PgBouncer's logins fail, and clients wait for"
        " server_login_retry.",
        evidence=(
            s.settings_evidence("default_pool_size", "reserve_pool_size", "max_db_connections", "max_user_connections"),
            Evidence(
                kind="connections",
                text=f"{count}, compared with {usable:,} usable connections",
                value=whole.most if is_bounded else None,
                reference=float(usable),
            ),
        ),
        remedies=(
            Remedy(
                text="Limit each database, however many users it has.",
                commands=(f"max_db_connections = {each}",),
                expected=f"At most {each * len(whole.databases):,} connections{where}, of {usable:,}.",
            ),
        ),
        refuted_by="The databases are on different servers."
        if servers == 1 and len(whole.databases) > 1
        else "SHOW POOLS has fewer server connections at the busiest hour, and no client waits.",
    )


def _terms(whole: ServerConnections) -> str:
    if not isfinite(whole.most):
        names = [d.name for d, size in zip(whole.databases, whole.sizes, strict=True) if not isfinite(size)]
        return f"A pool_size of 0 means no limit: {', '.join(names[:8])}."
    terms = " + ".join(f"{size:.0f}" for size in whole.sizes)
    terms = terms if len(whole.sizes) <= 8 else f"{len(whole.sizes)} databases"
    bounded = ", limited by max_user_connections" if whole.most < sum(whole.sizes) else ""
    return f"{terms} = {whole.most:,.0f}, with one user each{bounded}."


def _other_users(s: Settings, whole: ServerConnections) -> str:
    """Return what the total leaves out: more users, and by name those with their own pool size."""
    if all(database.user for database in whole.databases):
        return ""
    own = [f"{user.name} ({user.size_max})" for user in s.config.users if user.size_max]
    sizes = f"; users with their own pool_size: {', '.join(own[:8])}" if own else ""
    return f" Each additional user of a database has another pool of the same size{sizes}."


def _users_too_new(s: Settings) -> Cause | None:
    """Find settings in [users] that this release does not know: it then rejects the whole configuration."""
    if s.version is None:
        return None
    unknown = [
        (user.name, setting, since)
        for user in s.config.users
        for setting, value, since in (("pool_size", user.size_max, "1.23"), ("reserve_pool_size", user.reserve, "1.24"))
        if value is not None and version_of(s.version) < version_of(since)
    ]
    if not unknown:
        return None
    name, setting, since = max(unknown, key=lambda one: version_of(one[2]))
    return s.finding(
        "UserSettingTooNew",
        "warning",
        f"{s.product} does not know the user setting {setting} (set for {name}): it needs {since}",
        "PgBouncer rejects a configuration with an unknown setting, at the start and at RELOAD.",
        evidence=(
            Evidence(kind="setting", text=f"{setting} of {name} in [users]"),
            Evidence(kind="documentation", text="source: PgBouncer changelog, 1.23.0 and 1.24.0, read 2026-11-20"),
        ),
        remedies=(Remedy(text=f"Upgrade to {since} or later, or set the size for the database instead."),),
        refuted_by="RELOAD in the admin console reports no error.",
    )


def _contradictions(s: Settings) -> list[Cause]:
    """Find pairs of timeouts whose first is never reached because the second is shorter."""
    # janitor.c of 1.18: query_timeout counts from the client's request, so it also ends a wait and a
    # transaction that lies idle. client_idle_timeout does not apply to clients with a server connection.
    pairs = (
        ("server_idle_timeout", "server_lifetime", "a free server connection reaches its maximum age first"),
        ("query_wait_timeout", "query_timeout", "the time of a query includes its wait"),
        ("idle_transaction_timeout", "query_timeout", "it also ends an idle transaction"),
    )
    found = []
    for inner, outer, why in pairs:
        a, b = s.number(inner) or 0, s.number(outer) or 0
        if not (s.is_set(inner) or s.is_set(outer)) or not 0 < b < a:
            continue
        found.append(
            s.finding(
                "TimeoutsContradict",
                "note",
                f"{inner} ({seconds(a)}) is never reached: {outer} is {seconds(b)}",
                f"{why[0].upper()}{why[1:]}.",
                evidence=(s.settings_evidence(inner, outer),),
                remedies=(Remedy(text=f"Make {inner} the shorter one.", commands=(f"{inner} = {b / 2:.0f}",)),),
                refuted_by="They are meant for different databases or users.",
            )
        )
    return found


def _mode(s: Settings) -> str:
    return next(mode for mode in ("statement", "transaction") if mode in modes(s))


def _manual(s: Settings, setting: str) -> Evidence:
    default = s.facts.pooler_default("pgbouncer", setting)
    assert default is not None
    return Evidence(
        kind="documentation", text=f"source: {default.origin.source}, {setting}, read {default.origin.read_on}"
    )
