"""
Options of the functions of `app`: the instance behind a target, the window, access, what is compared or recorded.

Each field is declared once, with its name on the command line; its docstring is the help text.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Struct

from plimsoll.app.targets import LIVE, Target, target_of

INSTANCE_PANEL = "Instance"
WINDOW_PANEL = "Window"
LIVE_PANEL = "Live targets"
_STATEMENTS_PANEL = "Statements"
_EXECUTION_PANEL = "Execution"


class Option(NamedTuple):
    """How a field is given on a command line; its docstring is the help, its default the default."""

    names: str
    """`-o --output FILE`: the names and a word for the value; an argument has the word alone."""
    panel: str | None = None
    """Heading in the help."""
    min: float | None = None
    """Bounds of a number; `{min}` and `{max}` in a docstring stand for them."""
    max: float | None = None
    envvar: str | None = None
    """Environment variable in place of the option."""
    shows_default: bool = True
    parse: Callable[[str], Any] | None = None
    """Makes the value of a field that is no text or number."""


class InstanceOptions(Struct, frozen=True, kw_only=True):
    """What the caller states about the instance; None keeps what the source says."""

    identifier: Annotated[str | None, Option("--identifier NAME", INSTANCE_PANEL)] = None
    """Select one instance of a target that holds several, for example orders."""
    instance_file: Annotated[Path | None, Option("--instance FILE", INSTANCE_PANEL)] = None
    """Read class and storage from an answer of 'aws rds describe-db-instances'."""
    db_class: Annotated[str | None, Option("--class CLASS", INSTANCE_PANEL)] = None
    """Instance class, for example db.r5.2xlarge."""
    engine: Annotated[str | None, Option("--engine ENGINE", INSTANCE_PANEL)] = None
    """Engine, for example postgres or oracle-ee."""
    storage: Annotated[str | None, Option("--storage TYPE", INSTANCE_PANEL)] = None
    """Storage type: gp2, gp3, io1, io2 or standard."""
    size_gib: Annotated[float | None, Option("--size-gib GIB", INSTANCE_PANEL)] = None
    """Allocated storage in GiB."""
    iops: Annotated[float | None, Option("--iops N", INSTANCE_PANEL)] = None
    """Provisioned IOPS."""
    throughput_mibps: Annotated[float | None, Option("--throughput-mibps MIBPS", INSTANCE_PANEL)] = None
    """Provisioned throughput in MiB/s."""
    launched: Annotated[str | None, Option("--launched DATE", INSTANCE_PANEL)] = None
    """Launch date, for example 2019-06-01. An old instance may have legacy limits."""


class ReadOptions(Struct, frozen=True, kw_only=True):
    """Window of a target and access to it; None and empty values select the defaults."""

    last: Annotated[str | None, Option("--last TIME", WINDOW_PANEL)] = None
    """Length of the window, for example 3h or 14d (default for live targets: 24h; for plan: 14d)."""
    since: Annotated[str | None, Option("--from DATE", WINDOW_PANEL)] = None
    """Start of the window, for example 2026-11-20T08:00Z."""
    until: Annotated[str | None, Option("--to DATE", WINDOW_PANEL)] = None
    """End of the window, exclusive (default: now)."""
    counts: Annotated[tuple[Path, ...], Option("--counts FILE", WINDOW_PANEL)] = ()
    """
    Add what an application counted in the same window, such as arrivals_per_s or waiting_work_count: an export or a
    snapshot. Repeatable.
    """
    profile: Annotated[str | None, Option("--profile NAME", LIVE_PANEL)] = None
    """Profile of the AWS configuration."""
    region: Annotated[str | None, Option("--region REGION", LIVE_PANEL)] = None
    """AWS region, for example eu-central-1."""
    role_arn: Annotated[str | None, Option("--role ARN", LIVE_PANEL)] = None
    """AWS role to assume first, for example arn:aws:iam::123456789012:role/plimsoll."""
    max_api_calls: Annotated[int, Option("--max-api-calls N", LIVE_PANEL, min=1, max=1_000_000)] = 1000
    """Send at most N requests to AWS."""
    match: Annotated[tuple[str, ...], Option("--match LABEL=VALUE", LIVE_PANEL)] = ()
    """Prometheus: select series, for example dbidentifier=orders-primary. Repeatable."""
    headers: Annotated[tuple[str, ...], Option("--header NAME:VALUE", LIVE_PANEL)] = ()
    """
    Prometheus: send this header with every request, for example X-Scope-OrgID:shop. Repeatable. Keep secrets in
    PLIMSOLL_PROM_TOKEN, or in PLIMSOLL_PROM_USER and PLIMSOLL_PROM_PASSWORD.
    """


class Split(Struct, frozen=True, kw_only=True):
    """How one target is split into the two sides of a comparison."""

    at: Annotated[str | None, Option("--at DATE", WINDOW_PANEL)] = None
    """Split one target at the change, for example 2026-11-20T10:00Z."""
    window_a: Annotated[str | None, Option("--window-a INTERVAL", WINDOW_PANEL)] = None
    """Window before the change, for example 2026-11-01/2026-11-08."""
    window_b: Annotated[str | None, Option("--window-b INTERVAL", WINDOW_PANEL)] = None
    """Window after the change, for example 2026-11-10/P7D."""


class PaceTarget(Struct, frozen=True, kw_only=True):
    """A target to pace by, and how it is read."""

    target: str | Target
    """`rds:NAME`, `prom:URL`, or a file or folder of metrics."""
    instance: InstanceOptions = InstanceOptions()
    read_options: ReadOptions = ReadOptions()
    dsn: str | None = None
    """The PostgreSQL server that the batch loads; None if it is not asked."""

    @property
    def is_live(self) -> bool:
        """Return whether the target has newer metrics each minute."""
        return isinstance(target_of(self.target), LIVE)


class StatementChoice(Struct, frozen=True, kw_only=True):
    """Which statements to explain, and how."""

    statements: Annotated[tuple[str, ...], Option("--statement SQL", _STATEMENTS_PANEL)] = ()
    """Record this statement. Repeatable."""
    file: Annotated[Path | None, Option("--statements FILE", _STATEMENTS_PANEL)] = None
    """Record the statements in this file, which are separated by semicolons."""
    top: Annotated[int | None, Option("--top N", _STATEMENTS_PANEL, min=1, max=100)] = None
    """
    Record the N statements that took the most time, by pg_stat_statements. Takes only statements that read.
    """
    log: Annotated[tuple[Path, ...], Option("--log FILE", _STATEMENTS_PANEL)] = ()
    """Read the plans of auto_explain from this log instead of a server. Repeatable."""
    watched: Annotated[str | None, Option("--for TIME", _STATEMENTS_PANEL)] = None
    """With --top: count executions for this long, for example 60s."""
    parameters: Annotated[tuple[str, ...], Option("--param VALUE", _EXECUTION_PANEL)] = ()
    """
    Value for $1, then for $2 and so on. Repeatable. A statement without its values is planned, not run.
    """
    parameter_file: Annotated[Path | None, Option("--params FILE", _EXECUTION_PANEL)] = None
    """Read values from a JSON file: {"QUERY ID OR STATEMENT": ["value", null]}."""
    is_generic: Annotated[bool, Option("--generic", _EXECUTION_PANEL)] = False
    """Plan without parameter values, like a prepared statement that is used often."""
    timeout: Annotated[str, Option("--timeout TIME", _EXECUTION_PANEL)] = "30s"
    """Cancel a statement after this time."""
    runs: Annotated[int, Option("--runs N", _EXECUTION_PANEL, min=1, max=20)] = 1
    """Run each statement N times."""
    allows_writes: Annotated[bool, Option("--allow-writes", _EXECUTION_PANEL)] = False
    """
    Also run INSERT, UPDATE, DELETE and MERGE, and roll them back. They still take locks, write WAL, fire triggers and
    leave dead rows.
    """
