"""
Findings on declared databases as JSON: the form `plimsoll.infrastructure/1`.

Rule: every field is always there; what is not known or not set is null. Keys are sorted, so equal findings
give equal bytes.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.model.infrastructure import DeclaredDatabase, DeclaredState, InfrastructureFindings
from plimsoll.reports.render.json_values import RemedyObject, StorageObject, json_bytes, same_fields


class UnknownAttributeObject(Struct, frozen=True, kw_only=True):
    """A property that the file does not give."""

    attribute: str
    """`class`, `engine`, `standby`, `storage type`, `storage size`, `IOPS`, `throughput` and the like."""
    reason: str
    """Why it is not known."""


class DeclaredStateObject(Struct, frozen=True, kw_only=True):
    """A database as declared; null means not set, or not known where `unknown` lists it."""

    identifier: str
    """Identifier in AWS; the address if the file does not give one."""
    db_class: str | None
    """Instance class, such as `db.r5.2xlarge`."""
    engine: str | None
    """Engine as RDS names it."""
    region: str | None
    """Region as AWS names it."""
    multi_az: bool | None
    """Whether there is a standby."""
    storage: StorageObject
    """The storage."""
    monitoring_interval_s: int | None
    """Seconds between samples of Enhanced Monitoring; 0 or null is off."""
    has_insights: bool | None
    """Whether Performance Insights is on."""
    unknown: tuple[UnknownAttributeObject, ...]
    """What is not known."""


class DeclaredDatabaseObject(Struct, frozen=True, kw_only=True):
    """A database of a file."""

    kind: Literal["instance", "cluster", "aurora_instance"]
    """`cluster` is a Multi-AZ DB cluster."""
    address: str
    """Address in the plan, or logical ID in the template."""
    file: str
    """The file that declares it."""
    line: int
    """Line of the resource; 1 in a plan."""
    action: str
    """`create`, `update`, `replace` or `no-op`; empty where the file does not say."""
    before: DeclaredStateObject | None
    """Before the change; null for a new database, and where the file does not say."""
    after: DeclaredStateObject
    """After the change."""


class SourcedFactObject(Struct, frozen=True, kw_only=True):
    """A documented fact."""

    text: str
    """A sentence with number and unit."""
    source: str
    """Document or data set."""
    read_on: str
    """ISO date; empty if not known."""


class DeclaredFindingObject(Struct, frozen=True, kw_only=True):
    """One finding."""

    code: str
    """For machines: `IOPSBeyondInstance` …."""
    severity: Literal["critical", "warning", "note"]
    """How grave it is."""
    address: str
    """The database."""
    file: str
    """The file that declares it."""
    line: int
    """Line of the resource; 1 in a plan."""
    effect: Literal["introduces", "worsens", "keeps", "unknown"]
    """What the change does to it; `unknown` where the state before is not known."""
    title: str
    """One sentence."""
    text: str
    """What it means."""
    usd_per_month: float | None
    """Price that `price_text` explains; null where a price has no place or is not known."""
    price_text: str
    """The price, or why it is not known; empty where a price has no place."""
    facts: tuple[SourcedFactObject, ...]
    """The documented facts that it rests on."""
    remedies: tuple[RemedyObject, ...]
    """Actions to take."""


class InfrastructureDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll findings on databases that an infrastructure file declares.

    What `plimsoll lint terraform --format json` and `plimsoll lint cloudformation --format json` write. Every
    field is always present; null means not known or not set.
    """

    schema: Literal["plimsoll.infrastructure/1"] = "plimsoll.infrastructure/1"
    """Name and version of this form."""
    tool: Literal["terraform", "cloudformation"]
    """Whose files they are."""
    files: tuple[str, ...]
    """The files that were checked."""
    databases: tuple[DeclaredDatabaseObject, ...]
    """Every database that they declare."""
    findings: tuple[DeclaredFindingObject, ...]
    """The gravest first."""
    notes: tuple[str, ...]
    """What could not be checked, and why."""


def render_infrastructure_json(found: InfrastructureFindings) -> bytes:
    """Return declared databases and the findings on them as JSON."""
    return json_bytes(
        InfrastructureDocument(
            tool=found.tool,
            files=found.files,
            databases=tuple(_database(one) for one in found.databases),
            findings=tuple(same_fields(DeclaredFindingObject, one) for one in found.findings),
            notes=found.notes,
        )
    )


def _database(one: DeclaredDatabase) -> DeclaredDatabaseObject:
    return same_fields(
        DeclaredDatabaseObject, one, before=None if one.before is None else _state(one.before), after=_state(one.after)
    )


def _state(state: DeclaredState) -> DeclaredStateObject:
    return same_fields(
        DeclaredStateObject,
        state.instance,
        monitoring_interval_s=state.monitoring_interval_s,
        has_insights=state.has_insights,
        unknown=tuple(
            UnknownAttributeObject(attribute=attribute.value, reason=reason)
            for attribute, reason in state.unknown.items()
        ),
    )
