"""
A sweep of the storage under a PostgreSQL server, by reading a large table with requests of each size.

`io_combine_limit` says how many blocks a scan reads at once. Scans give sequential requests; scattered
ones of just one size come from `pg_prewarm`, whose stream of blocks begins with full requests.
"""

from collections.abc import Callable
from contextlib import ExitStack

from msgspec.structs import replace

from plimsoll.errors import UsageError
from plimsoll.lab.sweep.plan import ByteBudget, Step, SweepPlan, Told, check_plan, point_line
from plimsoll.lab.sweep.server import VERSION_COUNTS, SweepServer, SweepServerFacts, SweepTable
from plimsoll.lab.sweep.streams import Streams
from plimsoll.model.ceiling import Phase
from plimsoll.model.sweep import Pattern, Sweep, SweepPoint
from plimsoll.units import MIB, format_bytes

# More sessions only take memory and connections of a server; a volume of 0.7 ms answers 23,000 times a
# second to so many.
STREAMS = 16

# Of large requests fewer sessions are enough to keep a disk busy; then each statement is over sooner.
_IN_FLIGHT_BYTES = 8 * MIB
_STREAMS_MIN = 4
# Storage that merges what follows one another has to see it: between the requests of many scans side by
# side it would not.
_SCANS_MAX = 6

# We and others may need some.
_CONNECTIONS_SPARED = 3


def _nothing() -> None:
    """What is done before a point of storage that is what it is."""


def sweep_database(
    server: SweepServer,
    plan: SweepPlan,
    *,
    place: str,
    allow_writes: bool,
    table: str | None,
    tell: Told,
    phase: Phase = Phase.FIXED,
) -> Sweep:
    """
    Measure the storage under a server.

    Args:
        server: where it is.
        plan: what to measure; sizes that the server cannot read at once are left out and said.
        place: the server's name for people, without any secret.
        allow_writes: whether a table may be made and dropped.
        table: which table to read; None for the largest.
        tell: takes lines of progress.
        phase: which phase of the storage's credits this is, where the caller knows.

    Raises:
        UsageError: a server that is too old, no table that is large enough, or a plan that cannot be.
        SourceError: the server refused or failed.
    """
    facts = server.facts()
    plan, notes = fitted(plan, facts, has_prewarm=server.has_prewarm())
    check_plan(plan)
    with ExitStack() as stack:
        if allow_writes:
            if table is not None:
                raise UsageError(
                    "--allow-writes makes a table, and --table names one",
                    "Leave one of them out.",
                )
            source = stack.enter_context(server.scratch_table(facts, tell))
        else:
            source = server.existing_table(facts, table)
        points, alone = measure(server, facts, source, plan, tell=tell, phase=phase)
    return Sweep(
        subject=place,
        method=f"PostgreSQL {facts.version} reading {source.name}, {format_bytes(source.size_bytes)}, in "
        f"up to {plan.depth} sessions of one request each",
        points=points,
        alone=alone,
        notes=(*notes, *_notes(facts, source)),
    )


def measure(
    server: SweepServer,
    facts: SweepServerFacts,
    table: SweepTable,
    plan: SweepPlan,
    *,
    tell: Told,
    phase: Phase = Phase.FIXED,
    at_start: Callable[[], None] = _nothing,
    is_held: Callable[[], bool] | None = None,
) -> tuple[tuple[SweepPoint, ...], tuple[SweepPoint, ...]]:
    """
    Return all points of a plan, and those with one request alone.

    Args:
        server: where the table is.
        facts: what the server says of itself.
        table: what is read.
        plan: what to measure, as `fitted` returns it.
        tell: takes lines of progress.
        phase: of the storage's credits.
        at_start: called before each point, when nothing has been read for it.
        is_held: asked after each point whether a limit held requests back all along, where that can
            be known. If none did, this machine may have stalled; a stall takes from a rate and never
            adds, so the point is measured again and the faster one stands.

    Raises:
        SourceError: the server refused or failed.
    """
    steps = plan.steps()
    budget = ByteBudget(plan, steps)
    points, alone = list[SweepPoint](), list[SweepPoint]()
    streams = Streams(server, facts, table, plan.depth)
    try:
        for number, step in enumerate(steps, start=1):
            step = _with_sessions(step)  # noqa: PLW2901
            point = streams.measure(step, budget.share(step.size_bytes), phase, at_start)
            if is_held is not None and not step.is_alone and not is_held():
                again = streams.measure(step, budget.share(step.size_bytes), phase, at_start)
                point = max(point, again, key=lambda one: one.bytes_per_s)
            budget.spend(point.bytes_per_s * point.length_s)
            (alone if step.is_alone else points).append(point)
            tell(f"{number}/{len(steps)}  {step.name}: {point_line(point)}")
    finally:
        streams.close()
    return tuple(points), tuple(alone)


def _with_sessions(step: Step) -> Step:
    """Return the step with as many sessions as are enough for it."""
    if step.is_alone:
        return step
    enough = max(_IN_FLIGHT_BYTES // step.size_bytes, _STREAMS_MIN)
    if step.pattern == Pattern.SEQUENTIAL:
        enough = min(enough, _SCANS_MAX)
    return replace(step, depth=min(step.depth, enough))


def fitted(
    plan: SweepPlan, facts: SweepServerFacts, *, has_prewarm: bool
) -> tuple[SweepPlan, tuple[str, ...]]:
    """
    Return the plan as far as the server can carry it out, and sentences about what it cannot.

    Raises:
        UsageError: no size is left, or the server has too few connections left.
    """
    notes = []
    sizes = tuple(size for size in plan.sizes_bytes if _can_read(size, facts))
    if not sizes:
        raise UsageError(
            f"this server reads {format_bytes(facts.block_bytes)} to "
            f"{format_bytes(facts.largest_request_bytes)} at once, and none of the sizes is one of these",
            "Give --sizes that are multiples of its block; io_max_combine_limit bounds them.",
        )
    if sizes[-1] < plan.sizes_bytes[-1]:
        notes.append(
            f"This server reads {format_bytes(facts.largest_request_bytes)} at once at most; larger sizes "
            "were left out. "
            + (
                "PostgreSQL 18 can be started with io_max_combine_limit = 1MB."
                if facts.version_number < VERSION_COUNTS
                else "It can be started with io_max_combine_limit = 1MB."
            )
        )
    patterns = plan.patterns
    if not has_prewarm and Pattern.SCATTERED in patterns:
        patterns = (Pattern.SEQUENTIAL,)
        notes.append(
            "Only scans were measured: scattered requests need the extension pg_prewarm, which this "
            "database lacks (create extension pg_prewarm)."
        )
    depth = min(plan.depth, STREAMS)
    left = facts.connections_left - _CONNECTIONS_SPARED
    if left < 2:
        raise UsageError(
            f"the server has {facts.connections_left} connections left, too few for a sweep",
            "Try when fewer clients are connected.",
        )
    return replace(plan, sizes_bytes=sizes, patterns=patterns, depth=min(depth, left)), tuple(notes)


def _can_read(size: int, facts: SweepServerFacts) -> bool:
    return size % facts.block_bytes == 0 and size <= facts.largest_request_bytes


def _notes(facts: SweepServerFacts, table: SweepTable) -> list[str]:
    notes = [
        "Other I/O of the server and of other programs is not in these numbers.",
        "Credits of the storage were neither known nor set: what was measured is what it had left.",
        "Reading replaced what was in the server's buffers.",
    ]
    if not facts.is_direct:
        notes.append(
            "The server reads through the system's page cache (debug_io_direct is off): sizes are those "
            "it asked for, the kernel may read ahead and merge, and what is cached there is not read from "
            "the disk."
        )
        if table.size_bytes < facts.cache_bytes:
            notes.append(
                f"The table ({format_bytes(table.size_bytes)}) is smaller than what the server takes for "
                f"all caches ({format_bytes(facts.cache_bytes)}), so parts of it came from memory."
            )
    if facts.version_number < VERSION_COUNTS:
        notes.append(
            f"PostgreSQL {facts.version} counts blocks, not requests: sizes are those that were asked for, "
            "and blocks found in its buffers could not be told from those that were read."
        )
    return notes
