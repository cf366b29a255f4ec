"""
Sweep the storage under a PostgreSQL server, by reading a large table with requests of each size.

`io_combine_limit` sets how many blocks a scan reads at once. Scans give sequential requests. Scattered
requests of exactly one size come from `pg_prewarm`, whose stream of blocks starts with full requests.
"""

from collections.abc import Callable
from contextlib import ExitStack

from msgspec.structs import replace

from plimsoll.errors import UsageError
from plimsoll.model.ceiling import Phase
from plimsoll.units import MIB, format_bytes
from plimsoll_lab.model.sweep import Pattern, Sweep, SweepPoint
from plimsoll_lab.sweep.plan import ByteBudget, ShowProgress, Step, SweepPlan, check_plan, point_line
from plimsoll_lab.sweep.server import VERSION_COUNTS, SweepServer, SweepServerFacts, SweepTable
from plimsoll_lab.sweep.streams import Streams

# More sessions only use memory and connections of the server. A volume with 0.7 ms of latency serves 16
# sessions at 23,000 requests a second (Little's law).
STREAMS = 16

# With large requests fewer sessions keep a disk busy, and then each statement ends sooner.
_IN_FLIGHT_BYTES = 8 * MIB
_STREAMS_MIN = 4
# Storage merges requests that follow one another, but must see them in a row. With many scans in parallel
# other requests would come between.
_SCANS_MAX = 6

# Others and we may need some connections.
_CONNECTIONS_SPARED = 3


def _do_nothing() -> None:
    """Prepare nothing before a point."""


def sweep_database(
    server: SweepServer,
    plan: SweepPlan,
    *,
    place: str,
    allow_writes: bool,
    table: str | None,
    show_progress: ShowProgress,
    phase: Phase = Phase.FIXED,
) -> Sweep:
    """
    Measure the storage under a server.

    Args:
        server: the server.
        plan: what to measure; sizes that the server cannot read at once are left out, with a note.
        place: name of the server for people, without secrets.
        allow_writes: whether a table may be created and dropped.
        table: table to read; None for the largest.
        show_progress: called with lines of progress.
        phase: phase of the storage's credits, if the caller knows it.

    Raises:
        UsageError: the server is too old, no table is large enough, or the plan is not possible.
        SourceError: the server refused or failed.
    """
    facts = server.facts()
    plan, notes = fit_to_server(plan, facts, has_prewarm=server.has_prewarm())
    check_plan(plan)
    with ExitStack() as stack:
        if allow_writes:
            if table is not None:
                raise UsageError(
                    "--allow-writes creates a table, but --table names an existing one", "Leave one of them out."
                )
            source = stack.enter_context(server.scratch_table(facts, show_progress))
        else:
            source = server.existing_table(facts, table)
        points, alone = measure(server, facts, source, plan, show_progress=show_progress, phase=phase)
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
    show_progress: ShowProgress,
    phase: Phase = Phase.FIXED,
    at_start: Callable[[], None] = _do_nothing,
    is_held: Callable[[], bool] | None = None,
) -> tuple[tuple[SweepPoint, ...], tuple[SweepPoint, ...]]:
    """
    Return all points of a plan, and those with a single request.

    Args:
        server: server with the table.
        facts: capabilities of the server.
        table: table to read.
        plan: what to measure, as `fit_to_server` returns it.
        show_progress: called with lines of progress.
        phase: phase of the storage's credits.
        at_start: called before each point, when nothing has been read for it.
        is_held: called after each point, if known; returns whether a limit throttled all the time. If
            none did, this machine may have stalled. A stall can only lower a rate, so the point is
            measured again and the faster result counts.

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
            show_progress(f"{number}/{len(steps)}  {step.name}: {point_line(point)}")
    finally:
        streams.close()
    return tuple(points), tuple(alone)


def _with_sessions(step: Step) -> Step:
    """Return the step with as many sessions as it needs."""
    if step.is_alone:
        return step
    enough = max(_IN_FLIGHT_BYTES // step.size_bytes, _STREAMS_MIN)
    if step.pattern == Pattern.SEQUENTIAL:
        enough = min(enough, _SCANS_MAX)
    return replace(step, depth=min(step.depth, enough))


def fit_to_server(plan: SweepPlan, facts: SweepServerFacts, *, has_prewarm: bool) -> tuple[SweepPlan, tuple[str, ...]]:
    """
    Return the plan as far as the server can execute it, and notes about the rest.

    Raises:
        UsageError: no size is left, or the server has too few free connections.
    """
    notes = []
    sizes = tuple(size for size in plan.sizes_bytes if _can_read(size, facts))
    if not sizes:
        raise UsageError(
            f"this server reads {format_bytes(facts.block_bytes)} to "
            f"{format_bytes(facts.largest_request_bytes)} at once, and the plan has none of these sizes",
            "Give --sizes that are multiples of its block; io_max_combine_limit is the largest.",
        )
    if sizes[-1] < plan.sizes_bytes[-1]:
        notes.append(
            f"This server reads at most {format_bytes(facts.largest_request_bytes)} at once; larger sizes "
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
            f"the server has only {facts.connections_left} free connections, too few for a sweep",
            "Try again when fewer clients are connected.",
        )
    return replace(plan, sizes_bytes=sizes, patterns=patterns, depth=min(depth, left)), tuple(notes)


def _can_read(size: int, facts: SweepServerFacts) -> bool:
    return size % facts.block_bytes == 0 and size <= facts.largest_request_bytes


def _notes(facts: SweepServerFacts, table: SweepTable) -> list[str]:
    notes = [
        "These numbers do not include other I/O of the server and of other programs.",
        "The storage's credits were neither known nor set: the results depend on how many were left.",
        "The reads replaced the content of the server's buffers.",
    ]
    if not facts.is_direct:
        notes.append(
            "The server reads through the system's page cache (debug_io_direct is off). Sizes are those "
            "it requested; the kernel may read ahead and merge, and cached data is not read from the "
            "disk."
        )
        if table.size_bytes < facts.cache_bytes:
            notes.append(
                f"The table ({format_bytes(table.size_bytes)}) is smaller than the server's setting for "
                f"all caches ({format_bytes(facts.cache_bytes)}), so parts of it came from memory."
            )
    if facts.version_number < VERSION_COUNTS:
        notes.append(
            f"PostgreSQL {facts.version} counts blocks, not requests: sizes are the requested ones, "
            "and blocks found in its buffers also count as read."
        )
    return notes
