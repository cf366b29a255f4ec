"""
Read PgBouncer through its admin console.

Source: PgBouncer manual, "Admin console"; columns are taken by name, since releases add some.
"""

from plimsoll.model.database import PoolerReading, PoolRow
from plimsoll.model.pooler import PooledDatabase, PooledUser
from plimsoll.sources.pooler.console import Answer, Console, number
from plimsoll.sources.postgres.statements import poolers

_OWN = "pgbouncer"  # the console itself is a database of this name
_NONE = "0"

# The rest of SHOW CONFIG that names users, files of users, or queries for passwords.
_SECRETS = ("auth", "pass", "user", "key", "hash")
_KEPT = ("max_user_connections", "max_user_client_connections")


def read_pgbouncer(console: Console, time_s: float) -> PoolerReading:
    """
    Read the current state of PgBouncer.

    Raises:
        SourceError: the server is not PgBouncer, or refused a command.
    """
    version = console.show(poolers.PGBOUNCER_VERSION)
    config = console.show(poolers.CONFIG)
    databases = console.show(poolers.DATABASES)
    settings = _settings(config)
    users = _users(console.show(poolers.USERS), settings)
    pools = console.show(poolers.POOLS)
    lists = {row.get("list", ""): number(row.get("items")) for row in console.show(poolers.LISTS)}
    clients = lists.get("used_clients")
    return PoolerReading(
        kind="pgbouncer",
        place=console.place,
        # "PgBouncer 1.18.0"
        version=next(iter(version[0].values())).split()[-1] if version else "",
        time_s=time_s,
        settings=settings,
        pools=_pools(pools, databases, users),
        clients=max(clients - 1, 0) if clients is not None else None,
        databases=_databases(databases),
        users=users,
    )


def _settings(config: Answer) -> dict[str, str]:
    return {
        row["key"]: row["value"]
        for row in config
        if row["key"] in _KEPT or not any(word in row["key"] for word in _SECRETS)
    }


def _pools(pools: Answer, databases: Answer, users: tuple[PooledUser, ...]) -> tuple[PoolRow, ...]:
    sizes = {row["name"]: number(row.get("pool_size")) for row in databases}
    own = {user.name: user.size_max for user in users if user.size_max is not None}
    return tuple(
        PoolRow(
            database=row["database"],
            user=row["user"],
            clients_active=int(row["cl_active"]),
            clients_waiting=int(row["cl_waiting"]),
            servers_active=int(row["sv_active"]),
            servers_idle=int(row["sv_idle"]),
            servers_used=int(row["sv_used"]),
            longest_wait_s=int(row["maxwait"]) + int(row.get("maxwait_us") or _NONE) / 1e6,
            mode=row.get("pool_mode", ""),
            size_max=own.get(row["user"], sizes.get(row["database"])),
        )
        for row in pools
        if row["database"] != _OWN
    )


def _databases(databases: Answer) -> tuple[PooledDatabase, ...]:
    return tuple(
        PooledDatabase(
            name=row["name"],
            user=row.get("force_user") or None,
            size_max=number(row.get("pool_size")),
            reserve=number(row.get("reserve_pool_size") or row.get("reserve_pool")),
            mode=row.get("pool_mode") or None,
            servers_max=number(row.get("max_connections")),
            size_min=number(row.get("min_pool_size")),
            server=f"{row.get('host') or ''}:{row['port']}" if row.get("port") else None,
        )
        for row in databases
        if row["name"] != _OWN
    )


def _users(users: Answer, settings: dict[str, str]) -> tuple[PooledUser, ...]:
    """Return those with settings of their own; a bound that is everybody's is shown with each."""
    everybodys = number(settings.get("max_user_connections"))
    found = []
    for row in users:
        bound = number(row.get("max_user_connections"))
        user = PooledUser(
            name=row["name"],
            size_max=number(row.get("pool_size")),
            reserve=number(row.get("reserve_pool_size")),
            mode=row.get("pool_mode") or None,
            servers_max=None if bound == everybodys else bound,
        )
        if user != PooledUser(name=user.name):
            found.append(user)
    return tuple(found)
