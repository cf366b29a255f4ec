"""Plan what a sweep measures, within its bounds on time, bytes and requests in flight."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.units import GIB, MIB, format_bytes, kib
from plimsoll_lab.model.sweep import Direction, Pattern, SweepPoint

# 384 KiB is between two multiples of the unit by which SSD volumes count, so it reveals the unit.
SIZES_BYTES = tuple(int(kib(size)) for size in (4, 8, 16, 32, 64, 128, 256, 384, 512, 1024))
# Far above every accounting unit; some systems split such requests anyway.
SIZE_MAX_BYTES = 16 * MIB

# Enough for 6 ms of latency at 5,000 requests per second (Little's law); more would only wait longer.
DEPTH = 32
DEPTH_MAX = 1024
# Long enough for sixteen parts of a third of a second; their scatter gives the error.
FOR_EACH_S = 5
# Limits the wear of the disk, and the load on others who use it.
MAX_BYTES = 20 * GIB

# With fewer requests a point says little: a single request changes its rate too much.
REQUESTS_MIN = 30

# Every third size is also measured with a single request, for a shorter time: that shows the latency.
ALONE_EVERY = 3
ALONE_S = 1.0

ShowProgress = Callable[[str], None]
"""Shows a line of progress."""


class SweepPlan(Struct, frozen=True, kw_only=True):
    """Describe which points to measure."""

    sizes_bytes: tuple[int, ...] = SIZES_BYTES
    patterns: tuple[Pattern, ...] = (Pattern.SCATTERED, Pattern.SEQUENTIAL)
    directions: tuple[Direction, ...] = (Direction.READ,)
    for_each_s: float = FOR_EACH_S
    max_bytes: int = MAX_BYTES
    """Most bytes that the whole sweep reads and writes."""
    depth: int = DEPTH
    """Requests in flight."""

    def steps(self) -> list["Step"]:
        """
        Return every point in the order of measurement.

        A server keeps part of what it read. Cached blocks of an earlier step would split the requests of
        the next. So sequential steps come before scattered ones, large sizes before small ones, and sizes
        that are no power of two come first of all. Single requests, which show latency, come last.
        """
        sizes = sorted(self.sizes_bytes, key=lambda size: (size & (size - 1) == 0, -size))
        patterns = sorted(self.patterns, reverse=True)
        steps = [
            Step(size_bytes=size, pattern=pattern, direction=direction, depth=self.depth,
                 length_s=self.for_each_s)
            for direction in self.directions
            for pattern in patterns
            for size in sizes
        ]  # fmt: skip
        return steps + [
            Step(size_bytes=size, pattern=pattern, direction=direction, depth=1,
                 length_s=min(ALONE_S, self.for_each_s), is_alone=True)
            for direction in self.directions
            for pattern in patterns
            for size in reversed(sorted(self.sizes_bytes)[::ALONE_EVERY])
        ]  # fmt: skip


class Step(Struct, frozen=True, kw_only=True):
    """Describe one point to measure."""

    size_bytes: int
    pattern: Pattern
    direction: Direction
    depth: int
    length_s: float
    is_alone: bool = False

    @property
    def name(self) -> str:
        """Return its name for progress: `64 KiB, scattered reads, 32 in flight`."""
        flight = "alone" if self.is_alone else f"{self.depth} in flight"
        return f"{format_bytes(self.size_bytes)}, {self.pattern.value} {self.direction.value}s, {flight}"


class ByteBudget:
    """Share the bytes that may still be moved evenly among the remaining steps."""

    def __init__(self, plan: SweepPlan, steps: Sequence[Step]) -> None:
        """Start with all of the plan's bytes."""
        self._left_bytes = plan.max_bytes
        self._left_steps = len(steps)

    def share(self, size_bytes: int) -> int:
        """Return what the next step may move: whole requests of its size, at least one."""
        even = self._left_bytes // max(self._left_steps, 1)
        return max(even // size_bytes, 1) * size_bytes

    def spend(self, moved_bytes: float) -> None:
        """Subtract the bytes of a finished step."""
        self._left_bytes = max(self._left_bytes - int(moved_bytes), 0)
        self._left_steps -= 1


def check_plan(plan: SweepPlan) -> None:
    """
    Check that a plan can be measured.

    Raises:
        UsageError: the first problem of the plan.
    """
    if not plan.sizes_bytes:
        raise UsageError("no I/O size was given", "Give sizes, for example --sizes 8KiB,64KiB,1MiB.")
    for size in plan.sizes_bytes:
        if size < 512 or size % 512 or size > SIZE_MAX_BYTES:
            raise UsageError(
                f"an I/O size of {size:,} bytes is not possible",
                f"Give multiples of 512 bytes up to {format_bytes(SIZE_MAX_BYTES)}.",
            )
    if not 2 <= plan.depth <= DEPTH_MAX:
        raise UsageError(
            f"{plan.depth} requests in flight are not possible",
            f"Give 2 to {DEPTH_MAX}: a single request never waits, and a limit only shows in waiting.",
        )
    if not 1 <= plan.for_each_s <= 3600:
        raise UsageError(f"{plan.for_each_s:g} s for each size are not possible", "Give 1s up to 1h.")
    steps = plan.steps()
    least = sum(REQUESTS_MIN * step.size_bytes for step in steps)
    if plan.max_bytes < least:
        raise UsageError(
            f"--max-bytes of {format_bytes(plan.max_bytes)} is too little: {REQUESTS_MIN} requests of each"
            f" of {len(steps)} kinds are {format_bytes(least)}",
            "Give more --max-bytes, or fewer or smaller --sizes.",
        )


def point_line(point: SweepPoint) -> str:
    """Format the result of a step for progress."""
    return f"{point.bytes_per_s / 1e6:,.1f} MB/s, {point.ops_per_s:,.0f} IOPS"
