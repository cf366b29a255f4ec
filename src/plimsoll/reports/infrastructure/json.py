"""
Findings on declared databases as JSON: the form `plimsoll.infrastructure/1`.

Rule: every field is always there; what is not known or not set is null. Keys are sorted, so equal findings
give equal bytes.
"""

from typing import ClassVar, Literal

from msgspec import Struct

from plimsoll.model.cause import Remedy
from plimsoll.model.infrastructure import DeclaredDatabase, DeclaredFinding, DeclaredState, InfrastructureFindings
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.written import Inline
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_bytes


class UnknownAttributeObject(Struct, frozen=True, kw_only=True):
    """A property that the file does not give."""

    attribute: str
    """`class`, `engine`, `standby`, `storage type`, `storage size`, `IOPS`, `throughput` and the like."""
    reason: str
    """Why it is not known."""


class DeclaredStateObject(Struct, frozen=True, kw_only=True):
    """A database as declared; null means not set, or not known where `unknown` lists it."""

    state: Inline[DeclaredState]
    unknown: tuple[UnknownAttributeObject, ...]
    """What is not known."""


class DeclaredDatabaseObject(Struct, frozen=True, kw_only=True):
    """A database of a file."""

    database: Inline[DeclaredDatabase]
    before: DeclaredStateObject | None
    """Before the change; null for a new database, and where the file does not say."""
    after: DeclaredStateObject
    """After the change."""


class InfrastructureDocument(Document, frozen=True, kw_only=True):
    """
    Plimsoll findings on databases that an infrastructure file declares.

    What `plimsoll lint terraform --format json` and `plimsoll lint cloudformation --format json` write. Every
    field is always present; null means not known or not set.
    """

    LEFT_OUT: ClassVar = {
        DeclaredDatabase: ("has_before",),
        DeclaredFinding: ("excess",),
        InfrastructureFindings: ("rules",),
        Remedy: ("settings",),
        Storage: ("additional",),
    }
    ONLY: ClassVar = {Instance: ("identifier", "db_class", "engine", "region", "multi_az", "storage")}

    schema: Literal["plimsoll.infrastructure/1"] = "plimsoll.infrastructure/1"
    """Name and version of this form."""
    found: Inline[InfrastructureFindings]
    databases: tuple[DeclaredDatabaseObject, ...]
    """Every database that they declare."""


def render_infrastructure_json(found: InfrastructureFindings) -> bytes:
    """Return declared databases and the findings on them as JSON."""
    databases = tuple(
        DeclaredDatabaseObject(
            database=one, before=None if one.before is None else _state(one.before), after=_state(one.after)
        )
        for one in found.databases
    )
    return json_bytes(InfrastructureDocument(found=found, databases=databases))


def _state(state: DeclaredState) -> DeclaredStateObject:
    unknown = tuple(
        UnknownAttributeObject(attribute=attribute.value, reason=reason) for attribute, reason in state.unknown.items()
    )
    return DeclaredStateObject(state=state, unknown=unknown)
