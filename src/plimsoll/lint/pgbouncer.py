"""
Rules for PgBouncer's settings.

One pool per database and user. In session mode a server belongs to a client until it leaves, in
transaction mode until the transaction ends: what a session keeps is then lost or another client's.
"""

from math import isfinite

from plimsoll.catalog.load import version_of
from plimsoll.lint.pgbouncer_pools import Opened, opened, pool_size
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
    """Return every rule that these settings break; `usable` connections at the server, None if not known."""
    found = [
        _sum(settings, usable),
        _prepared(settings),
        _session_features(settings),
        _statement_mode(settings),
        _reset_never_runs(settings),
        _reset_always(settings),
        _reset_empty(settings),
        _life_time_zero(settings),
        _waits_for_ever(settings),
        _reserve(settings),
        _min_pool(settings),
        _transactions_for_ever(settings),
        _nothing_shared(settings),
        _users_too_new(settings),
        *_contradictions(settings),
    ]
    return [cause for cause in found if cause is not None]


def modes(s: Settings) -> dict[str, list[str]]:
    """Return databases and users by pool mode; `every other` stands for those that do not say one."""
    found: dict[str, list[str]] = {(s.text("pool_mode") or "").lower(): ["every other database"]}
    for database in s.config.databases:
        if database.mode:
            found.setdefault(database.mode.lower(), []).append(database.name)
    for user in s.config.users:
        if user.mode:
            found.setdefault(user.mode.lower(), []).append(f"user {user.name}")
    return found


def _shares(s: Settings) -> bool:
    return any(mode in modes(s) for mode in _SHARING)


def _session_features(s: Settings) -> Cause | None:
    if not _shares(s):
        return None
    name = next((d.name for d in s.config.databases if d.name.isidentifier()), "<database>")
    return s.finding(
        "SessionFeaturesLost",
        "note",
        f"pool_mode = {_mode(s)}: what a session keeps does not survive the transaction",
        f"Not to be used by any client: {_LOST}. SET LOCAL, pg_advisory_xact_lock, NOTIFY and temporary"
        " tables ON COMMIT DROP are safe.",
        evidence=(s.said("pool_mode"), _manual(s, "pool_mode")),
        remedies=(
            Remedy(
                text="Give what needs a session a database of its own, as migrations and LISTEN.",
                commands=(f"{name}_session = dbname={name} pool_mode=session pool_size=5",),
            ),
        ),
        refuted_by="pg_stat_statements shows none of these statements.",
    )


def _prepared(s: Settings) -> Cause | None:
    if not _shares(s) or s.count("max_prepared_statements") > 0:
        return None
    affected = s.has(PREPARED)
    # Without a version the default is not known; someone who set 0 has said it.
    severity: Severity = (
        "note"
        if affected is Affected.UNKNOWN and not s.is_set("max_prepared_statements")
        else "warning"
    )
    if affected is Affected.YES:
        title = f"{s.product} cannot carry prepared statements in {_mode(s)} mode"
        remedy = Remedy(
            text=f"Upgrade to {s.upgrade(PREPARED)} or later and let it track them, or switch them off in"
            " the driver.",
            commands=("max_prepared_statements = 200", "prepareThreshold=0"),
        )
    elif severity == "note":
        title = f"Prepared statements break in {_mode(s)} mode before PgBouncer 1.21, and in 1.21 to 1.23 by default"
        remedy = Remedy(
            text="Say how many are tracked per server; before 1.21 switch them off in the driver.",
            commands=("max_prepared_statements = 200", "prepareThreshold=0"),
        )
    else:
        title = f"max_prepared_statements = 0: prepared statements break in {_mode(s)} mode"
        remedy = Remedy(
            text="Let PgBouncer track them.",
            commands=("max_prepared_statements = 200",),
            expected="A statement is prepared again where a client meets a server without it.",
        )
    return s.finding(
        "PreparedStatementsBreak",
        severity,
        title,
        "Drivers prepare by themselves, JDBC from the fifth execution on; the next transaction may run"
        " on a server that never saw the statement: 'prepared statement \"S_1\" does not exist'.",
        evidence=(s.said("pool_mode", "max_prepared_statements"), s.fixed(PREPARED)),
        remedies=(remedy,),
        refuted_by="The drivers of all clients send unnamed statements only.",
    )


def _statement_mode(s: Settings) -> Cause | None:
    if "statement" not in modes(s):
        return None
    return s.finding(
        "TransactionsRefused",
        "warning",
        "pool_mode = statement refuses transactions of more than one statement",
        "A client that sends BEGIN gets an error. Meant for autocommit only, as PL/Proxy has it.",
        evidence=(s.said("pool_mode"), _manual(s, "pool_mode")),
        remedies=(Remedy(text="Share by transaction.", commands=("pool_mode = transaction",)),),
        refuted_by="No client of it ever begins a transaction.",
    )


def _reset_never_runs(s: Settings) -> Cause | None:
    if not s.config.settings.get("server_reset_query") or s.is_on("server_reset_query_always"):
        return None
    if "session" in modes(s) or not _shares(s):
        return None
    return s.finding(
        "ResetNeverRuns",
        "note",
        f"server_reset_query is set and never runs in {_mode(s)} mode",
        "It runs where a client leaves a session pool. Whoever set it expects sessions to be clean.",
        evidence=(s.said("pool_mode", "server_reset_query"), _manual(s, "server_reset_query")),
        remedies=(Remedy(text="Leave it out, and keep session state out of the clients."),),
        refuted_by="A database of this pooler has pool_mode=session.",
    )


def _reset_always(s: Settings) -> Cause | None:
    if not s.is_on("server_reset_query_always") or not _shares(s):
        return None
    forgets = s.count("max_prepared_statements") > 0 and s.has(FORGETS) is Affected.YES
    title = (
        f"server_reset_query_always runs '{s.text('server_reset_query')}' after every transaction"
    )
    if forgets:
        title = f"{s.product} loses the prepared statements it tracks with every server_reset_query"
    evidence = [s.said("pool_mode", "server_reset_query", "server_reset_query_always")]
    return s.finding(
        "ResetForgetsPrepared" if forgets else "ResetAlways",
        "warning" if forgets else "note",
        title,
        "One more round trip each, and DISCARD ALL drops every plan: clients lose their state always"
        " instead of sometimes.",
        evidence=(*evidence, s.fixed(FORGETS)) if forgets else tuple(evidence),
        remedies=(Remedy(text="Switch it off.", commands=("server_reset_query_always = 0",)),),
        refuted_by="The reset is what somebody asked for, knowing its price.",
    )


def _reset_empty(s: Settings) -> Cause | None:
    if "session" not in modes(s) or s.text("server_reset_query"):
        return None
    return s.finding(
        "SessionStateLeaks",
        "warning",
        "server_reset_query is empty: the next client inherits SET, temporary tables, advisory locks"
        " and prepared statements",
        "In session mode a server is handed over as the last client left it.",
        evidence=(s.said("pool_mode", "server_reset_query"), _manual(s, "server_reset_query")),
        remedies=(Remedy(text="Reset wholly.", commands=("server_reset_query = DISCARD ALL",)),),
        refuted_by="No client changes its session.",
    )


def _life_time_zero(s: Settings) -> Cause | None:
    if s.number("server_lifetime") != 0:
        return None
    return s.finding(
        "ServersUsedOnce",
        "warning",
        "server_lifetime = 0: every server connection is used once and closed",
        "Zero does not switch the timer off; nothing is pooled.",
        evidence=(s.said("server_lifetime"), _manual(s, "server_lifetime")),
        remedies=(Remedy(text="Keep servers for an hour.", commands=("server_lifetime = 3600",)),),
        refuted_by="SHOW SERVERS lists connections older than their last transaction.",
    )


def _waits_for_ever(s: Settings) -> Cause | None:
    if s.number("query_wait_timeout") != 0:
        return None
    return s.finding(
        "ClientsWaitForEver",
        "warning",
        "query_wait_timeout = 0: a client waits for a server without end",
        "A database that hangs lets clients pile up to max_client_conn, and nobody gets an error.",
        evidence=(
            s.said("query_wait_timeout", "max_client_conn"),
            _manual(s, "query_wait_timeout"),
        ),
        remedies=(Remedy(text="Bound the wait.", commands=("query_wait_timeout = 30",)),),
        refuted_by="Every client has a shorter timeout of its own.",
    )


def _reserve(s: Settings) -> Cause | None:
    size, after_s = s.count("reserve_pool_size"), s.number("reserve_pool_timeout") or 0
    wait_s = s.number("query_wait_timeout") or 0
    if size <= 0 or 0 < after_s < (wait_s or after_s + 1):
        return None
    why = (
        "reserve_pool_timeout = 0 switches it off"
        if after_s == 0
        else (f"clients give up after {seconds(wait_s)}, it opens after {seconds(after_s)}")
    )
    return s.finding(
        "ReserveNeverOpens",
        "warning",
        f"The reserve of {size} connections never helps: {why}",
        "The reserve opens for a client that waited longer than reserve_pool_timeout.",
        evidence=(s.said("reserve_pool_size", "reserve_pool_timeout", "query_wait_timeout"),),
        remedies=(Remedy(text="Open it early.", commands=("reserve_pool_timeout = 3",)),),
        refuted_by="SHOW POOLS shows more servers than the pool's size.",
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
        f"min_pool_size = {least}{whose} is more than a pool may have ({most:.0f})",
        "It is capped at the pool's size: every pool is held full.",
        evidence=(s.said("min_pool_size", "default_pool_size"), _manual(s, "min_pool_size")),
        remedies=(Remedy(text="Keep fewer warm.", commands=(f"min_pool_size = {most // 4:.0f}",)),),
        refuted_by="The databases have a larger pool_size of their own."
        if not whose
        else "SHOW DATABASES shows a pool_size above its min_pool_size.",
    )


def _transactions_for_ever(s: Settings) -> Cause | None:
    if not _shares(s) or (s.number("idle_transaction_timeout") or 0) > 0:
        return None
    return s.finding(
        "IdleTransactionsPinServers",
        "note",
        "idle_transaction_timeout = 0: a client that forgets a transaction keeps its server for ever",
        f"In {_mode(s)} mode {s.count('default_pool_size')} such clients stop a whole pool.",
        evidence=(s.said("pool_mode", "idle_transaction_timeout", "default_pool_size"),),
        remedies=(Remedy(text="Bound it.", commands=("idle_transaction_timeout = 60",)),),
        refuted_by="The server has idle_in_transaction_session_timeout.",
    )


def _nothing_shared(s: Settings) -> Cause | None:
    clients = s.count("max_client_conn")
    sizes = [pool_size(s, database) for database in s.config.databases if database.name != "*"]
    if not sizes or not s.is_set("max_client_conn") or sum(sizes) < clients:
        return None
    servers = (
        f"{sum(sizes):,.0f} servers it may open" if isfinite(sum(sizes)) else "its pools may open"
    )
    return s.finding(
        "NothingShared",
        "note",
        f"max_client_conn = {clients} is not more than the {servers}",
        "Every client can have a server of its own: the pooler spares no connection.",
        evidence=(s.said("max_client_conn", "default_pool_size"),),
        remedies=(
            Remedy(text="Take more clients than servers.", commands=("max_client_conn = 1000",)),
        ),
        refuted_by="It is there to keep connections open, not to spare them.",
    )


def _sum(s: Settings, usable: int | None) -> Cause | None:
    """Return the least there can be at once: one user for each database that has none of its own."""
    whole = next(iter(opened(s)), None)
    if whole is None or usable is None or whole.most <= usable:
        return None
    servers = len(opened(s))
    where = f" to {whole.server}" if servers > 1 and whole.server else ""
    is_bounded = isfinite(whole.most)
    told = f"{whole.most:,.0f}" if is_bounded else "any number of"
    each = max(usable // len(whole.databases), 1)
    return s.finding(
        "PoolsExceedMaxConnections",
        "critical",
        f"The pools may open {told} connections{where}, the server takes {usable:,}",
        f"{_terms(whole)}{_further(s, whole)} Beyond it PgBouncer's logins fail, and clients wait"
        " server_login_retry.",
        evidence=(
            s.said(
                "default_pool_size",
                "reserve_pool_size",
                "max_db_connections",
                "max_user_connections",
            ),
            Evidence(
                kind="connections",
                text=f"{told} against {usable:,} usable connections",
                value=whole.most if is_bounded else None,
                reference=float(usable),
            ),
        ),
        remedies=(
            Remedy(
                text="Bound each database, whatever the number of users.",
                commands=(f"max_db_connections = {each}",),
                expected=f"At most {each * len(whole.databases):,} connections{where}, of {usable:,}.",
            ),
        ),
        refuted_by="The databases are on different servers."
        if servers == 1 and len(whole.databases) > 1
        else "SHOW POOLS has fewer servers at the busiest hour, and no client waits.",
    )


def _terms(whole: Opened) -> str:
    if not isfinite(whole.most):
        names = [
            d.name
            for d, size in zip(whole.databases, whole.sizes, strict=True)
            if not isfinite(size)
        ]
        return f"A pool_size of 0 is no bound: {', '.join(names[:8])}."
    terms = " + ".join(f"{size:.0f}" for size in whole.sizes)
    terms = terms if len(whole.sizes) <= 8 else f"{len(whole.sizes)} databases"
    bounded = ", as max_user_connections bounds it" if whole.most < sum(whole.sizes) else ""
    return f"{terms} = {whole.most:,.0f}, with one user each{bounded}."


def _further(s: Settings, whole: Opened) -> str:
    """Return what the least leaves out: further users, those with pools of their own size by name."""
    if all(database.user for database in whole.databases):
        return ""
    own = [f"{user.name} ({user.size_max})" for user in s.config.users if user.size_max]
    told = f"; of their own size have {', '.join(own[:8])}" if own else ""
    return f" Every further user of a database has a pool of the same size again{told}."


def _users_too_new(s: Settings) -> Cause | None:
    """Return a release that does not know a setting of [users] refuses the whole configuration."""
    if s.version is None:
        return None
    told = [
        (user.name, setting, since)
        for user in s.config.users
        for setting, value, since in (
            ("pool_size", user.size_max, "1.23"),
            ("reserve_pool_size", user.reserve, "1.24"),
        )
        if value is not None and version_of(s.version) < version_of(since)
    ]
    if not told:
        return None
    name, setting, since = max(told, key=lambda one: version_of(one[2]))
    return s.finding(
        "UserSettingTooNew",
        "warning",
        f"{s.product} does not know {setting} of a user, as of {name}: it came with {since}",
        "A configuration with a setting that is not known is refused, at the start and at RELOAD.",
        evidence=(
            Evidence(kind="setting", text=f"{setting} of {name} in [users]"),
            Evidence(
                kind="documentation",
                text="source: PgBouncer changelog, 1.23.0 and 1.24.0, read 2026-11-20",
            ),
        ),
        remedies=(
            Remedy(text=f"Upgrade to {since} or later, or give the size to the database instead."),
        ),
        refuted_by="RELOAD in the admin console says nothing of it.",
    )


def _contradictions(s: Settings) -> list[Cause]:
    """Return pairs of timeouts of which the first is never reached before the second."""
    # janitor.c of 1.18: query_timeout counts from the client's request, so it also ends a wait and a
    # transaction that lies idle; client_idle_timeout spares clients that have a server.
    pairs = (
        ("server_idle_timeout", "server_lifetime", "a free server is closed by age first"),
        ("query_wait_timeout", "query_timeout", "the time of a query includes its wait"),
        ("idle_transaction_timeout", "query_timeout", "it also ends a transaction that lies idle"),
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
                evidence=(s.said(inner, outer),),
                remedies=(
                    Remedy(
                        text="Let the inner one be the shorter.",
                        commands=(f"{inner} = {b / 2:.0f}",),
                    ),
                ),
                refuted_by="Both are meant for different databases or users.",
            )
        )
    return found


def _mode(s: Settings) -> str:
    return next(mode for mode in ("statement", "transaction") if mode in modes(s))


def _manual(s: Settings, setting: str) -> Evidence:
    default = s.facts.pooler_default("pgbouncer", setting)
    assert default is not None
    return Evidence(
        kind="documentation",
        text=f"source: {default.origin.source}, {setting}, read {default.origin.read_on}",
    )
