"""
Count the server connections that PgBouncer's pools may open, by database, user and server.

Rule 1: for the size of a pool the user's setting comes first, then the database's, then the general one.
        The limits of a database and of a user apply to all their pools together.
Rule 2: the result is a lower bound of the maximum: a database that forces no user counts as one pool.
Source: PgBouncer 1.25, server.c (pool_pool_size and its neighbours) and objects.c (launch_new_connection).
"""

import math

from msgspec import Struct

from plimsoll.catalog.load import version_of
from plimsoll.lint.settings import Settings
from plimsoll.model.pooler import PooledDatabase, PooledUser

# From this version on a pool_size of 0 means no limit (PgBouncer changelog).
_ZERO_IS_NO_BOUND = "1.24"


class ServerConnections(Struct, frozen=True, kw_only=True):
    """The connections that the pools may open to one server."""

    server: str | None
    databases: tuple[PooledDatabase, ...]
    sizes: tuple[float, ...]
    """Maximum of each database; infinite if nothing limits its pool."""
    most: float
    """Maximum of all together, with the limits of users."""


def user_of(s: Settings, name: str | None) -> PooledUser | None:
    """Return the settings of a user; None if it has none."""
    return next((user for user in s.config.users if user.name == name), None)


def pool_size(s: Settings, database: PooledDatabase) -> float:
    """
    Return the most server connections of one pool of a database, with its reserve.

    It is infinite if the pool has no limit: from 1.24 on a size of 0 means no limit.
    """
    user = user_of(s, database.user)
    size = _first(user.size_max if user else None, database.size_max, s.count("default_pool_size"))
    reserve = _first(user.reserve if user else None, database.reserve, s.count("reserve_pool_size"))
    whole = math.inf if size == 0 and _zero_is_no_limit(s) else float(size + reserve)
    return min(whole, _limit(database.servers_max, s.count("max_db_connections")), _user_limit(s, database))


def server_connections(s: Settings) -> tuple[ServerConnections, ...]:
    """Return the connections that the pools may open to each server, the largest first."""
    servers: dict[str | None, list[PooledDatabase]] = {}
    for database in s.config.databases:
        servers.setdefault(database.server, []).append(database)
    found = [
        ServerConnections(
            server=server,
            databases=tuple(databases),
            sizes=tuple(pool_size(s, database) for database in databases),
            most=_total(s, databases),
        )
        for server, databases in servers.items()
    ]
    return tuple(sorted(found, key=lambda one: -one.most))


def _total(s: Settings, databases: list[PooledDatabase]) -> float:
    by_user: dict[str | None, float] = {}
    bounds: dict[str | None, float] = {}
    for database in databases:
        by_user[database.user] = by_user.get(database.user, 0.0) + pool_size(s, database)
        # A database that forces no user may have a different user than each other database, so the limit
        # of one user does not bound their sum.
        bounds[database.user] = _user_limit(s, database) if database.user else math.inf
    return sum(min(size, bounds[user]) for user, size in by_user.items())


def _user_limit(s: Settings, database: PooledDatabase) -> float:
    user = user_of(s, database.user)
    return _limit(user.servers_max if user else None, s.count("max_user_connections"))


def _limit(own: int | None, general: int) -> float:
    """Return the own limit, else the general one; 0 means no limit in both."""
    return float(own or general or math.inf)


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)


def _zero_is_no_limit(s: Settings) -> bool:
    return s.version is None or version_of(s.version) >= version_of(_ZERO_IS_NO_BOUND)
