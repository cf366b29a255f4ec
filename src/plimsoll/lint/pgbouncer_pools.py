"""
How many servers PgBouncer's pools may open, by database, user and server.

Rule 1: of a pool the user's own size holds before the database's, and that before the general one; the
        bounds of a database and of a user are of all their pools together.
Rule 2: the least is counted that may be open at once: a database that forces no user has one pool.
Source: PgBouncer 1.25, server.c, pool_pool_size and the functions beside it, objects.c, launch_new_connection.
"""

import math

from msgspec import Struct

from plimsoll.catalog.load import version_of
from plimsoll.lint.settings import Settings
from plimsoll.model.pooler import PooledDatabase, PooledUser

_ZERO_IS_NO_BOUND = "1.24"


class Opened(Struct, frozen=True, kw_only=True):
    """What the pools to one server may open."""

    server: str | None
    databases: tuple[PooledDatabase, ...]
    sizes: tuple[float, ...]
    """Of each database; infinite where nothing bounds its pool."""
    most: float
    """Of all together, bounds of users counted in."""


def user_of(s: Settings, name: str | None) -> PooledUser | None:
    """Return a user's own settings; None for one that has none."""
    return next((user for user in s.config.users if user.name == name), None)


def pool_size(s: Settings, database: PooledDatabase) -> float:
    """
    Return servers that one pool of a database may have, reserve included.

    Infinite where it has no bound: from 1.24 on a size of 0 is none.
    """
    user = user_of(s, database.user)
    size = _first(user.size_max if user else None, database.size_max, s.count("default_pool_size"))
    reserve = _first(user.reserve if user else None, database.reserve, s.count("reserve_pool_size"))
    whole = math.inf if size == 0 and _zero_is_no_bound(s) else float(size + reserve)
    return min(
        whole, _bound(database.servers_max, s.count("max_db_connections")), _of_user(s, database)
    )


def opened(s: Settings) -> tuple[Opened, ...]:
    """Return the counts by server, the most first."""
    servers: dict[str | None, list[PooledDatabase]] = {}
    for database in s.config.databases:
        servers.setdefault(database.server, []).append(database)
    found = [
        Opened(
            server=server,
            databases=tuple(databases),
            sizes=tuple(pool_size(s, database) for database in databases),
            most=_together(s, databases),
        )
        for server, databases in servers.items()
    ]
    return tuple(sorted(found, key=lambda one: -one.most))


def _together(s: Settings, databases: list[PooledDatabase]) -> float:
    by_user: dict[str | None, float] = {}
    bounds: dict[str | None, float] = {}
    for database in databases:
        by_user[database.user] = by_user.get(database.user, 0.0) + pool_size(s, database)
        # Clients of a database that forces nobody may be as many users as there are databases.
        bounds[database.user] = _of_user(s, database) if database.user else math.inf
    return sum(min(size, bounds[user]) for user, size in by_user.items())


def _of_user(s: Settings, database: PooledDatabase) -> float:
    user = user_of(s, database.user)
    return _bound(user.servers_max if user else None, s.count("max_user_connections"))


def _bound(own: int | None, general: int) -> float:
    """0 is no bound; an own one of 0 leaves the general one."""
    return float(own or general or math.inf)


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)


def _zero_is_no_bound(s: Settings) -> bool:
    return s.version is None or version_of(s.version) >= version_of(_ZERO_IS_NO_BOUND)
