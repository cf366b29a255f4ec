"""
What is wrong with a pooler's settings, from these alone: no pooler and no server is asked.

Rule 1: a rule that hangs on a version says which releases have it, with the source; where the version
        is not known it says so, and is one step milder than where it is known to be affected.
Rule 2: settings as shipped give nothing above a note, but for what `max_connections` makes of them.
"""

from msgspec import Struct

from plimsoll.catalog.load import Catalog
from plimsoll.lint.pgbouncer import pgbouncer_rules
from plimsoll.lint.pgpool import pgpool_rules
from plimsoll.lint.settings import Settings
from plimsoll.model.cause import Cause
from plimsoll.model.pooler import PoolerConfig


class ServerRoom(Struct, frozen=True, kw_only=True):
    """How many connections each server behind the pooler takes."""

    connection_max: int | None = None
    """`max_connections`; None where it is not known."""
    reserved: int = 3
    """`superuser_reserved_connections`, 3 by default, and `reserved_connections` since 16."""

    @property
    def usable(self) -> int | None:
        """For everybody who is no superuser."""
        return None if self.connection_max is None else max(self.connection_max - self.reserved, 0)


def unknown_of(config: PoolerConfig, room: ServerRoom | None = None) -> tuple[str, ...]:
    """Return what no rule could look at, and what would let it; sentences without a stop."""
    told = []
    if room is None or room.usable is None:
        told.append("the total of the pools was not checked: give --max-connections")
    if config.version is None:
        told.append("the release is unknown: give --version")
    return tuple(told)


def lint(config: PoolerConfig, facts: Catalog, room: ServerRoom | None = None) -> tuple[Cause, ...]:
    """Return what is wrong with the settings, the gravest first; nothing for settings that are sound."""
    settings = Settings(config=config, facts=facts)
    rules = {"pgpool": pgpool_rules, "pgbouncer": pgbouncer_rules}[config.kind]
    # Rules stand in the order in which they matter.
    order = ("critical", "warning", "note")
    found = rules(settings, (room or ServerRoom()).usable)
    return tuple(sorted(found, key=lambda cause: order.index(cause.severity)))
