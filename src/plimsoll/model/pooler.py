"""Published facts about connection poolers: defects by release, and defaults of settings."""

from typing import Annotated, Literal

from msgspec import Struct

from plimsoll.model.ceiling import Origin
from plimsoll.model.column import Day
from plimsoll.model.kept import Kept
from plimsoll.model.written import OneOf

Pooler = Literal["pgpool", "pgbouncer"]


class PoolerFix(Struct, frozen=True, kw_only=True):
    """The release of one branch that ended a defect."""

    pooler: Pooler
    defect: str
    """`life_time_under_serialize_accept`"""
    since: str | None = None
    """First version that had it; None for one that is as old as the setting."""
    branch: str
    """`4.1`"""
    fixed_in: str
    """`4.1.4`"""
    fixed_on: Day
    """ISO date of that release."""
    origin: Origin


class PoolerDefault(Struct, frozen=True, kw_only=True):
    """The default of a setting."""

    pooler: Pooler
    setting: str
    version_from: str = ""
    """First version that has it; empty for every older one."""
    value: str
    """As written in the pooler's configuration, times in seconds."""
    origin: Origin


class PooledDatabase(Kept, frozen=True, kw_only=True):
    """A database that PgBouncer offers: a line of its section `[databases]`."""

    name: str
    """`*` matches every other database."""
    user: str | None = None
    """Whom every client of it becomes at the server."""
    size_max: int | None = None
    """`pool_size`; null for `default_pool_size`."""
    reserve: int | None = None
    """`reserve_pool_size`; null for that of all databases."""
    mode: str | None = None
    """`pool_mode`; null for that of all databases."""
    servers_max: int | None = None
    """`max_db_connections`; null for that of all databases."""
    size_min: int | None = None
    """`min_pool_size`; null for that of all databases."""
    server: str | None = None
    """`db1:5432`; `:5432` is a socket of the pooler's machine."""


class PooledUser(Kept, frozen=True, kw_only=True):
    """A user with settings of its own in PgBouncer: a line of its section `[users]`."""

    name: str
    """As the pooler knows it."""
    size_max: int | None = None
    """`pool_size` of each of its pools; null for the database's."""
    reserve: int | None = None
    """`reserve_pool_size`; null for the database's."""
    mode: str | None = None
    """`pool_mode`; null for the database's."""
    servers_max: int | None = None
    """`max_user_connections`; null for that of all users."""


class PoolerConfig(Struct, frozen=True, kw_only=True):
    """The configuration of a pooler, from its file or its console; without passwords."""

    kind: Annotated[str, OneOf(("pgpool", "pgbouncer"))]
    """Whose configuration it is."""
    place: str
    """Name of the file."""
    version: str | None = None
    """The version given with --version."""
    settings: dict[str, str] = {}
    """Those that were set and are no secret, by the pooler's own names."""
    databases: tuple[PooledDatabase, ...] = ()
    """Of PgBouncer; empty for Pgpool-II."""
    users: tuple[PooledUser, ...] = ()
    """Of PgBouncer; empty for Pgpool-II."""
