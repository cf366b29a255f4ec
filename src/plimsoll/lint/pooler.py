"""
Check a pooler's settings without asking the pooler or its server.

Rule 1: a rule that depends on the version names the affected releases, with the source. If the version is
        unknown, the finding says so and is one severity lower.
Rule 2: default settings give nothing above a note, except where their total exceeds `max_connections`.
"""

from msgspec import Struct

from plimsoll.catalog.load import Catalog
from plimsoll.lint.pgbouncer import pgbouncer_rules
from plimsoll.lint.pgpool import pgpool_rules
from plimsoll.lint.settings import Settings
from plimsoll.model.cause import Cause
from plimsoll.model.pooler import PoolerConfig
from plimsoll.model.postgres import SUPERUSER_RESERVED


class ServerRoom(Struct, frozen=True, kw_only=True):
    """How many connections each server behind the pooler accepts."""

    connection_max: int | None = None
    """`max_connections`; None if unknown."""
    reserved: int = SUPERUSER_RESERVED
    """`superuser_reserved_connections` (default: 3), and from 16 on `reserved_connections`."""

    @property
    def usable(self) -> int | None:
        """Connections for users who are not superusers."""
        return None if self.connection_max is None else max(self.connection_max - self.reserved, 0)


def unknown_of(config: PoolerConfig, room: ServerRoom | None = None) -> tuple[str, ...]:
    """Return what could not be checked, and which option would change that; without a full stop."""
    found = []
    if room is None or room.usable is None:
        found.append("the total of the pools was not checked: give --max-connections")
    if config.version is None:
        found.append("the release is unknown: give --version")
    return tuple(found)


def lint(config: PoolerConfig, facts: Catalog, room: ServerRoom | None = None) -> tuple[Cause, ...]:
    """Return problems of the settings, the most severe first."""
    settings = Settings(config=config, facts=facts)
    # A snapshot of a newer version may have another kind.
    rules = {"pgpool": pgpool_rules, "pgbouncer": pgbouncer_rules}.get(config.kind, lambda *_: ())
    # Rules are listed by importance, and sorting keeps that order within a severity.
    order = ("critical", "warning", "note")
    found = rules(settings, (room or ServerRoom()).usable)
    return tuple(sorted(found, key=lambda cause: order.index(cause.severity)))
