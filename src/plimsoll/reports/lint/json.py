"""
Findings on a pooler's settings as JSON: the form `plimsoll.lint/1`, described in docs/reference/lint-json.md.

Rule: every field is always there; what is not known or not set is null. Keys are sorted, so equal findings
give equal bytes.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.model.lint import PoolerFindings
from plimsoll.reports.render.json_values import EvidenceObject, RemedyObject, json_bytes, same_fields


class DatabaseObject(Struct, frozen=True, kw_only=True):
    """A database that PgBouncer offers: a line of its section `[databases]`."""

    name: str
    """`*` matches every other database."""
    user: str | None
    """Whom every client of it becomes at the server."""
    server: str | None
    """`db1:5432`; `:5432` is a socket of the pooler's machine."""
    size_max: int | None
    """`pool_size`; null for `default_pool_size`."""
    size_min: int | None
    """`min_pool_size`; null for that of all databases."""
    reserve: int | None
    """`reserve_pool_size`; null for that of all databases."""
    mode: str | None
    """`pool_mode`; null for that of all databases."""
    servers_max: int | None
    """`max_db_connections`; null for that of all databases."""


class UserObject(Struct, frozen=True, kw_only=True):
    """A user with settings of its own in PgBouncer: a line of its section `[users]`."""

    name: str
    """As the pooler knows it."""
    size_max: int | None
    """`pool_size` of each of its pools; null for the database's."""
    reserve: int | None
    """`reserve_pool_size`; null for the database's."""
    mode: str | None
    """`pool_mode`; null for the database's."""
    servers_max: int | None
    """`max_user_connections`; null for that of all users."""


class PoolerObject(Struct, frozen=True, kw_only=True):
    """The configuration that was checked."""

    kind: Literal["pgpool", "pgbouncer"]
    """Whose configuration it is."""
    place: str
    """Name of the file."""
    version: str | None
    """The version given with --version."""
    settings: dict[str, str]
    """Those that were set and are no secret, by the pooler's own names."""
    databases: tuple[DatabaseObject, ...]
    """Of PgBouncer; empty for Pgpool-II."""
    users: tuple[UserObject, ...]
    """Of PgBouncer; empty for Pgpool-II."""


class LintFindingObject(Struct, frozen=True, kw_only=True):
    """One finding."""

    code: str
    """For machines: `PoolsExceedMaxConnections` …."""
    severity: Literal["critical", "warning", "note"]
    """How grave it is."""
    title: str
    """One sentence."""
    text: str
    """What it means."""
    evidence: tuple[EvidenceObject, ...]
    """The facts from which it follows."""
    remedies: tuple[RemedyObject, ...]
    """Actions to take."""
    refuted_by: str
    """What would show that it is wrong."""


class LintDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll findings on a pooler's settings.

    What `plimsoll lint pooler --format json` writes. Every field is always present; null means not
    known or not set.
    """

    schema: Literal["plimsoll.lint/1"] = "plimsoll.lint/1"
    """Name and version of this form."""
    pooler: PoolerObject
    """The configuration that was checked."""
    findings: tuple[LintFindingObject, ...]
    """The gravest first; the exit status is 1 where one is above a note."""
    notes: tuple[str, ...]
    """What could not be checked, and what would allow it."""


def render_lint_json(found: PoolerFindings) -> bytes:
    """Return a checked configuration and its findings as JSON."""
    document = LintDocument(
        pooler=same_fields(PoolerObject, found.config),
        findings=tuple(same_fields(LintFindingObject, cause) for cause in found.causes),
        notes=found.notes,
    )
    return json_bytes(document)
