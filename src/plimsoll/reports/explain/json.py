"""
Recorded executions as JSON, the form `plimsoll.explain/1`, and their comparison, the form
`plimsoll.explain-comparison/1`; both are described in docs/reference/explain-json.md.

Rule: every field is always there; what is not known is null.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.model.explain import CaptureFile, ExplainComparison, PairOutcome, Source
from plimsoll.reports.render.json_values import json_text, same_fields


class BlocksObject(Struct, frozen=True, kw_only=True):
    """Numbers of blocks by kind of access, and the time that the system took to read and write them."""

    hit: int
    """Found in the server's buffers."""
    read: int
    """Read into them."""
    dirtied: int
    """Changed for the first time since they were written."""
    written: int
    """Written by this session to make room."""
    temp_read: int
    """Read from temporary files."""
    temp_written: int
    """Written to temporary files."""
    read_s: float | None
    """Null where the server does not time its I/O (`track_io_timing`)."""
    write_s: float | None
    """Likewise for writing."""


class NodeObject(Struct, frozen=True, kw_only=True):
    """One node of a plan, as EXPLAIN's text names it, with all below it."""

    label: str
    """`Parallel Seq Scan`, `Hash Left Join`, `Partial HashAggregate`."""
    relation: str
    """Table, CTE or function with its alias; empty where there is none."""
    index: str
    """Name of the index; empty where there is none."""
    role: str
    """`InitPlan 1`, `SubPlan 2`, `CTE x`; empty for an ordinary child."""
    details: tuple[str, ...]
    """What makes it this node: `Index Cond: (id = 7)`, `Sort Key: a`, in alphabetical order."""
    rows_planned: float | None
    """Of one loop, as planned."""
    rows: float | None
    """Of all loops together; null where it was not run."""
    loops: float | None
    """How often it was run; null where the plan was not run."""
    seconds: float | None
    """Of all loops together, with all below it; null where it was not timed."""
    blocks: BlocksObject | None
    """With all below it; null where they were not counted."""
    children: tuple["NodeObject", ...]
    """Nodes that it takes rows from, and plans of sub-selects."""


class CaptureObject(Struct, frozen=True, kw_only=True):
    """One execution of a statement; of `pg_stat_statements` all within a time, without plan."""

    statement: str
    """As it was given; one that was not given by the user has no literals."""
    source: Source
    """Where it comes from."""
    query_id: int | None
    """PostgreSQL's query identifier; null where the source does not have it."""
    time_s: float | None
    """Epoch seconds; null where the log does not have it."""
    plan: NodeObject | None
    """Root of the plan; null for counters."""
    settings: dict[str, str]
    """Settings that bear on plans and are not the server's defaults."""
    settings_known: bool
    """Whether the source has settings."""
    is_generic: bool
    """Planned without knowing its parameters."""
    was_run: bool
    """False where only the plan is known."""
    planning_s: float | None
    """Time for planning; null where the source does not have it."""
    execution_s: float | None
    """Of one execution; of `pg_stat_statements` the mean."""
    rows: float | None
    """Rows returned; of counters the mean of a call."""
    blocks: BlocksObject | None
    """Of one execution; of `pg_stat_statements` the mean, rounded."""
    calls: int
    """Executions that the figures are the mean of."""


class DiffLineObject(Struct, frozen=True, kw_only=True):
    """A node in both plans (` `), in the first (`-`) or in the second (`+`)."""

    sign: Literal[" ", "-", "+"]
    """Its side; a space for both."""
    depth: int
    """Levels below the root."""
    text: str
    """Node or condition, as EXPLAIN's text has it."""


class PairObject(Struct, frozen=True, kw_only=True):
    """One statement on both sides, and the differences."""

    statement: str
    """The statement."""
    outcome: PairOutcome
    """The kind of difference."""
    title: str
    """One sentence: number, unit, comparison."""
    reasons: tuple[str, ...]
    """The reasons, each a sentence."""
    first: CaptureObject
    """The capture it is compared with."""
    second: CaptureObject
    """The capture in question."""
    time_ratio: float | None
    """Execution time, second to first; null where either is not known or zero."""
    io_time_ratio: float | None
    """I/O time, likewise."""
    block_time_ratio: float | None
    """Time per block read, likewise."""
    settings: tuple[tuple[str, str, str], ...]
    """Name, first, second, where they differ; empty for the server's default."""
    diff: tuple[DiffLineObject, ...]
    """Of another plan both plans, line by line."""
    advice: str
    """Where to look next, a sentence; empty where nothing differs."""
    refuted_by: str
    """What would show that it is wrong; or empty."""
    counts: tuple[int, int]
    """Executions that were captured on each side; the median one is compared."""


class UnrecordedObject(Struct, frozen=True, kw_only=True):
    """A statement that was chosen and could not be captured."""

    statement: str
    """The statement."""
    reason: str
    """Why it was not captured."""
    remedy: str
    """What would help; empty where nothing is known."""


class RecordingObject(Struct, frozen=True, kw_only=True):
    """The result of one recording of executions."""

    schema: Literal["plimsoll.explain/1"] = "plimsoll.explain/1"
    """Name and version of this form."""
    made_by: str
    """Program that made it."""
    place: str
    """`127.0.0.1:5432/orders`, without user and password; of a log its name."""
    server_version: str
    """Of PostgreSQL; empty for a log."""
    time_s: float | None
    """Epoch seconds of the recording; null for a log."""
    block_bytes: int
    """Size of a block."""
    captures: tuple[CaptureObject, ...]
    """What was captured."""
    unrecorded: tuple[UnrecordedObject, ...]
    """Statements that could not be captured."""
    is_simulated: bool
    """Whether the figures are made up."""
    note: str
    """A remark for the reader; or empty."""


class ExplainDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll comparison of executions.

    What `plimsoll explain compare --format json` writes; `recording` is what `plimsoll explain
    record` saves. Every field is always present; null means not known or does not apply. Seconds,
    blocks and ratios, unrounded.
    """

    schema: Literal["plimsoll.explain-comparison/1"] = "plimsoll.explain-comparison/1"
    """Name and version of this form."""
    first: str
    """The name of the first file."""
    second: str
    """The name of the second file."""
    pairs: tuple[PairObject, ...]
    """The largest difference in time first."""
    only_first: tuple[str, ...]
    """Statements that the second side does not have."""
    only_second: tuple[str, ...]
    """Statements that the first side does not have."""
    notes: tuple[str, ...]
    """Remarks for the reader."""


def render_captures(file: CaptureFile) -> str:
    """Return a recording as JSON."""
    return json_text(same_fields(RecordingObject, file))


def render_explain_json(comparison: ExplainComparison) -> str:
    """Return the comparison as JSON."""
    return json_text(same_fields(ExplainDocument, comparison))
