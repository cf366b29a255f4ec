"""Databases that an infrastructure file declares, and the findings on them."""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from plimsoll.model.cause import Remedy
from plimsoll.model.instance import Instance
from plimsoll.model.severity import Severity
from plimsoll.model.written import Inline

InfrastructureTool = Literal["terraform", "cloudformation"]


class Attribute(StrEnum):
    """A property of a declared database that a rule needs."""

    DB_CLASS = "class"
    ENGINE = "engine"
    STANDBY = "standby"
    STORAGE_TYPE = "storage type"
    STORAGE_SIZE = "storage size"
    IOPS = "IOPS"
    THROUGHPUT = "throughput"
    MONITORING = "Enhanced Monitoring"
    INSIGHTS = "Database Insights"


class DatabaseKind(StrEnum):
    """The resource that declares a database."""

    INSTANCE = "instance"
    CLUSTER = "cluster"
    """A Multi-AZ DB cluster: class and storage are declared on the cluster."""
    AURORA_INSTANCE = "aurora_instance"
    """An instance of a cluster; its data is in the volume of the cluster."""


class ChangeEffect(StrEnum):
    """What the change that a plan describes does to a finding."""

    INTRODUCES = "introduces"
    """The finding does not apply before the change."""
    WORSENS = "worsens"
    """It applies before, with a smaller number."""
    KEEPS = "keeps"
    """It applies before with the same number or a larger one."""
    UNKNOWN = "unknown"
    """The state before is not known, for example in a CloudFormation template."""


class DeclaredState(Struct, frozen=True, kw_only=True):
    """A database as declared; what is not in `unknown` is known, and None means not set."""

    instance: Inline[Instance]
    monitoring_interval_s: int | None = None
    """Seconds between samples of Enhanced Monitoring; 0 or null is off."""
    has_insights: bool | None = None
    """Whether Performance Insights is on."""
    unknown: Mapping[Attribute, str] = {}
    """What is not known."""

    def knows(self, *attributes: Attribute) -> bool:
        """Return whether none of these is unknown."""
        return not any(attribute in self.unknown for attribute in attributes)


class DeclaredDatabase(Struct, frozen=True, kw_only=True):
    """One database in one file."""

    kind: DatabaseKind
    """`cluster` is a Multi-AZ DB cluster."""
    address: str
    """Address in the plan, or logical ID in the template."""
    file: str
    """The file that declares it."""
    line: int = 1
    """Line of the resource; 1 in a plan."""
    action: str = ""
    """`create`, `update`, `replace` or `no-op`; empty where the file does not say."""
    before: DeclaredState | None = None
    """Before the change; null for a new database, and where the file does not say."""
    has_before: bool = False
    """Whether the file says what there is before the change; None in `before` is then nothing."""
    after: DeclaredState
    """After the change."""


class SourcedFact(Struct, frozen=True, kw_only=True):
    """A documented fact that a finding rests on."""

    text: str
    """A sentence with number and unit."""
    source: str
    """Document or data set."""
    read_on: str
    """ISO date; empty if not known."""


class LintRule(Struct, frozen=True, kw_only=True):
    """A rule for declared databases."""

    code: str
    """For machines: `IOPSBeyondInstance`."""
    severity: Severity
    """The usual one."""
    summary: str
    """What it reports, in one sentence."""


class DeclaredFinding(Struct, frozen=True, kw_only=True):
    """One finding on a declared database."""

    code: str
    """For machines: `IOPSBeyondInstance` …."""
    severity: Severity
    """How grave it is."""
    address: str
    """The database."""
    file: str
    """The file that declares it."""
    line: int
    """Line of the resource; 1 in a plan."""
    title: str
    """One sentence."""
    text: str = ""
    """What it means."""
    facts: tuple[SourcedFact, ...] = ()
    """The documented facts that it rests on."""
    usd_per_month: Decimal | None = None
    """Price that `price_text` explains; null where a price has no place or is not known."""
    price_text: str = ""
    """The price, or why it is not known; empty where a price has no place."""
    excess: float = 0.0
    """How far the declared number is from one without a finding; compares before with after."""
    effect: ChangeEffect = ChangeEffect.UNKNOWN
    """What the change does to it; `unknown` where the state before is not known."""
    remedies: tuple[Remedy, ...] = ()
    """Actions to take."""


STANDARD_INPUT = "standard input"
"""What stands for the name of a file that was piped in."""


class InfrastructureFindings(Struct, frozen=True, kw_only=True):
    """The databases of one command line, and the findings on them."""

    tool: InfrastructureTool
    """Whose files they are."""
    files: tuple[str, ...]
    """The files that were checked."""
    databases: tuple[DeclaredDatabase, ...]
    """Every database that they declare."""
    findings: tuple[DeclaredFinding, ...]
    """The gravest first."""
    rules: tuple[LintRule, ...] = ()
    """Every rule, whether it found something or not."""
    notes: tuple[str, ...] = ()
    """What could not be checked, and why."""
