"""
A captured execution of a statement: its plan, and the blocks and the time of each node.

Blocks are counted as PostgreSQL counts them, times are seconds, rows are of all loops together.
"""

import re
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Struct

from plimsoll.model.written import OneOf

EXPLAIN_SCHEMA = "plimsoll.explain/1"


class Blocks(Struct, frozen=True, kw_only=True):
    """Numbers of blocks by kind of access, and the time that the system took to read and write them."""

    hit: int = 0
    """Found in the server's buffers."""
    read: int = 0
    """Read into them."""
    dirtied: int = 0
    """Changed for the first time since they were written."""
    written: int = 0
    """Written by this session to make room."""
    temp_read: int = 0
    """Read from temporary files."""
    temp_written: int = 0
    """Written to temporary files."""
    read_s: float | None = None
    """Null where the server does not time its I/O (`track_io_timing`)."""
    write_s: float | None = None
    """Likewise for writing."""

    @property
    def touched(self) -> int:
        """Return the blocks that were found in the server's buffers or read into them."""
        return self.hit + self.read

    @property
    def io_s(self) -> float | None:
        """Return the time of reads and writes together; None if there were some and they were not timed."""
        if self.read_s is None and self.write_s is None:
            return None if self.read or self.written or self.temp_read or self.temp_written else 0.0
        return (self.read_s or 0.0) + (self.write_s or 0.0)


class Node(Struct, frozen=True, kw_only=True):
    """One node of a plan, as EXPLAIN's text names it, with all below it."""

    label: str
    """`Parallel Seq Scan`, `Hash Left Join`, `Partial HashAggregate`."""
    relation: str = ""
    """Table, CTE or function with its alias; empty where there is none."""
    index: str = ""
    """Name of the index; empty where there is none."""
    role: str = ""
    """`InitPlan 1`, `SubPlan 2`, `CTE x`; empty for an ordinary child."""
    details: tuple[str, ...] = ()
    """What makes it this node: `Index Cond: (id = 7)`, `Sort Key: a`, in alphabetical order."""
    rows_planned: float | None = None
    """Of one loop, as planned."""
    rows: float | None = None
    """Of all loops together; null where it was not run."""
    loops: float | None = None
    """How often it was run; null where the plan was not run."""
    seconds: float | None = None
    """Of all loops together, with all below it; null where it was not timed."""
    blocks: Blocks | None = None
    """With all below it; null where they were not counted."""
    children: tuple["Node", ...] = ()
    """Nodes that it takes rows from, and plans of sub-selects."""


class Source(StrEnum):
    """Where a capture comes from."""

    EXPLAIN = "explain"
    AUTO_EXPLAIN = "auto_explain"
    PG_STAT_STATEMENTS = "pg_stat_statements"


class Capture(Struct, frozen=True, kw_only=True):
    """One execution of a statement; of `pg_stat_statements` all within a time, without plan."""

    statement: str
    """As it was given; one that was not given by the user has no literals."""
    source: Source
    """Where it comes from."""
    query_id: int | None = None
    """PostgreSQL's query identifier; null where the source does not have it."""
    time_s: float | None = None
    """Epoch seconds; null where the log does not have it."""
    plan: Node | None = None
    """Root of the plan; null for counters."""
    settings: dict[str, str] = {}
    """Settings that bear on plans and are not the server's defaults."""
    settings_known: bool = False
    """Whether the source has settings."""
    is_generic: bool = False
    """Planned without knowing its parameters."""
    was_run: bool = True
    """False where only the plan is known."""
    planning_s: float | None = None
    """Time for planning; null where the source does not have it."""
    execution_s: float | None = None
    """Of one execution; of `pg_stat_statements` the mean."""
    rows: float | None = None
    """Rows returned; of counters the mean of a call."""
    blocks: Blocks | None = None
    """Of one execution; of `pg_stat_statements` the mean, rounded."""
    calls: int = 1
    """Executions that the figures are the mean of."""


class UnrecordedStatement(Struct, frozen=True, kw_only=True):
    """A statement that was chosen and could not be captured."""

    statement: str
    """The statement."""
    reason: str
    """Why it was not captured."""
    remedy: str = ""
    """What would help; empty where nothing is known."""


class CaptureFile(Struct, frozen=True, kw_only=True):
    """The result of one recording of executions."""

    schema: Annotated[str, OneOf((EXPLAIN_SCHEMA,))] = EXPLAIN_SCHEMA
    """Name and version of this form."""
    made_by: str = ""
    """Program that made it."""
    place: str = ""
    """`127.0.0.1:5432/orders`, without user and password; of a log its name."""
    server_version: str = ""
    """Of PostgreSQL; empty for a log."""
    time_s: float | None = None
    """Epoch seconds of the recording; null for a log."""
    block_bytes: int = 8192
    """Size of a block."""
    captures: tuple[Capture, ...]
    """What was captured."""
    unrecorded: tuple[UnrecordedStatement, ...] = ()
    """Statements that could not be captured."""
    is_simulated: bool = False
    """Whether the figures are made up."""
    note: str = ""
    """A remark for the reader; or empty."""


class PairOutcome(StrEnum):
    """The kind of difference between two captures of one statement."""

    SAME = "same"
    NOT_THE_QUERY = "not_the_query"
    """The same plan over the same blocks; only the time differs."""
    CACHE = "cache"
    """The same plan over as many blocks; another part of them had to be read."""
    ROWS = "rows"
    """The same plan over other rows."""
    BLOCKS = "blocks"
    """The same plan and rows, another number of blocks."""
    PLAN = "plan"
    """Another plan."""
    UNKNOWN = "unknown"
    """The captures do not show it."""


class DiffLine(Struct, frozen=True, kw_only=True):
    """A node in both plans (` `), in the first (`-`) or in the second (`+`)."""

    sign: Literal["+", "-", " "]
    """Its side; a space for both."""
    depth: int
    """Levels below the root."""
    text: str
    """Node or condition, as EXPLAIN's text has it."""


class StatementPair(Struct, frozen=True, kw_only=True):
    """One statement on both sides, and the differences."""

    statement: str
    """The statement."""
    outcome: PairOutcome
    """The kind of difference."""
    title: str
    """One sentence: number, unit, comparison."""
    reasons: tuple[str, ...] = ()
    """The reasons, each a sentence."""
    first: Capture
    """The capture it is compared with."""
    second: Capture
    """The capture in question."""
    time_ratio: float | None = None
    """Execution time, second to first; null where either is not known or zero."""
    io_time_ratio: float | None = None
    """I/O time, likewise."""
    block_time_ratio: float | None = None
    """Time per block read, likewise."""
    settings: tuple[tuple[str, str, str], ...] = ()
    """Name, first, second, where they differ; empty for the server's default."""
    diff: tuple[DiffLine, ...] = ()
    """Of another plan both plans, line by line."""
    advice: str = ""
    """Where to look next, a sentence; empty where nothing differs."""
    refuted_by: str = ""
    """What would show that it is wrong; or empty."""
    counts: tuple[int, int] = (1, 1)
    """Executions that were captured on each side; the median one is compared."""


class ExplainComparison(Struct, frozen=True, kw_only=True):
    """Two files of captures, statement by statement."""

    first: str
    """The name of the first file."""
    second: str
    """The name of the second file."""
    pairs: tuple[StatementPair, ...]
    """The largest difference in time first."""
    only_first: tuple[str, ...] = ()
    """Statements that the second side does not have."""
    only_second: tuple[str, ...] = ()
    """Statements that the first side does not have."""
    notes: tuple[str, ...] = ()
    """Remarks for the reader."""


# In order: what begins like a comment, a string (with E'' and its backslashes, $tag$ quotes), a
# quoted name, which stays, and numbers that are not part of a name or a parameter.
_LITERALS = re.compile(
    r"""
    (?P<comment>/\*.*?(?:\*/|\Z)|--[^\n]*)
    |(?P<string>\b[eE]'(?:\\.|''|[^'\\])*(?:'|\Z)
        |\b[uU]&'(?:''|[^'])*(?:'|\Z)
        |(?:\b[bBxXnN])?'(?:''|[^'])*(?:'|\Z)
        |(?<![\w$])\$(?P<tag>[A-Za-z_]\w*|)\$.*?(?:\$(?P=tag)\$|\Z))
    |(?P<name>"(?:""|[^"])*(?:"|\Z))
    |(?P<parameter>\$\d+)
    |(?P<number>(?<![\w$.])(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    """,
    re.VERBOSE | re.DOTALL,
)


def without_literals(text: str) -> str:
    """Return a statement or condition with `?` for every literal and parameter, comments left out."""

    def masked(match: re.Match[str]) -> str:
        if match["name"] is not None:
            return match["name"]
        return " " if match["comment"] is not None else "?"

    return _LITERALS.sub(masked, text)


def likeness(statement: str) -> str:
    """
    Return a form that is equal for statements that differ only in literals, white space and letter case.

    A list of literals is one: `IN (1, 2, 3)` is like `IN (4)`.
    """
    text = " ".join(without_literals(statement).split()).rstrip("; ")
    text = re.sub(r"\(\s*\?(?:\s*,\s*\?)+\s*\)", "(?)", text)
    parts = re.split(r'("(?:""|[^"])*")', text)
    return "".join(part if part.startswith('"') else part.lower() for part in parts)
