"""Published facts about connection poolers: defects by release, and defaults of settings."""

from msgspec import Struct

from plimsoll.model.ceiling import Origin
from plimsoll.model.kept import Kept


class PoolerFix(Struct, frozen=True, kw_only=True):
    """The release of one branch that ended a defect."""

    pooler: str
    """`pgpool` or `pgbouncer`"""
    defect: str
    """`life_time_under_serialize_accept`"""
    since: str | None
    """First version that had it; None for one that is as old as the setting."""
    branch: str
    """`4.1`"""
    fixed_in: str
    """`4.1.4`"""
    fixed_on: str
    """ISO date of that release."""
    origin: Origin


class PoolerDefault(Struct, frozen=True, kw_only=True):
    """The default of a setting."""

    pooler: str
    setting: str
    value: str
    """As written in the pooler's configuration, times in seconds."""
    origin: Origin


class PooledDatabase(Kept, frozen=True, kw_only=True):
    """A database that PgBouncer offers: a line of its section `[databases]`."""

    name: str
    """`*` matches every other database."""
    user: str | None = None
    """The user that all its clients have at the server; None where each keeps its own name."""
    size_max: int | None = None
    """`pool_size`; None for `default_pool_size`."""
    reserve: int | None = None
    """`reserve_pool` or `reserve_pool_size`."""
    mode: str | None = None
    """`pool_mode` of this database."""
    servers_max: int | None = None
    """`max_db_connections`."""
    size_min: int | None = None
    """`min_pool_size`; None for the one of all databases."""
    server: str | None = None
    """`db1:5432`, `:5432` for a socket of the same machine; None where it is not known."""


class PooledUser(Kept, frozen=True, kw_only=True):
    """A user with settings of its own in PgBouncer: a line of its section `[users]`."""

    name: str
    size_max: int | None = None
    """`pool_size` of each of its pools (1.23 and later), before that of the database."""
    reserve: int | None = None
    """`reserve_pool_size` (1.24 and later), before that of the database."""
    mode: str | None = None
    """`pool_mode`, before that of the database."""
    servers_max: int | None = None
    """`max_user_connections`: of all its pools together."""


class PoolerConfig(Struct, frozen=True, kw_only=True):
    """The configuration of a pooler, from its file or its console; without passwords."""

    kind: str
    """`pgpool` or `pgbouncer`"""
    place: str
    version: str | None = None
    settings: dict[str, str] = {}
    """Only explicit settings, by the pooler's names; if a name is set twice, the last one applies."""
    databases: tuple[PooledDatabase, ...] = ()
    users: tuple[PooledUser, ...] = ()
    """Of PgBouncer, those with settings of their own."""
