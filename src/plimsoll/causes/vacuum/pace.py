"""
Compute the rate that cost limits allow a vacuum, and how long it takes at that rate.

A vacuum counts a cost for every page it finds in memory, reads or dirties, and sleeps `delay` whenever
the sum reaches `limit` (PostgreSQL documentation, "Cost-based Vacuum Delay" and "Automatic Vacuuming").
All autovacuum workers share one limit, except for tables with a limit of their own. WAL has no cost.
"""

from collections.abc import Mapping

from msgspec import Struct

_MS_PER_S = 1000.0

# The largest cost limit that PostgreSQL accepts, and the shortest delay that we recommend.
LIMIT_MAX = 10_000
DELAY_MS = 2


class VacuumPace(Struct, frozen=True, kw_only=True):
    """The cost limits of one vacuum."""

    limit: float
    """Sum of costs after which it sleeps."""
    delay_s: float
    """Duration of each sleep; 0 if it never sleeps."""
    page_hit: float
    page_miss: float
    page_dirty: float
    """Cost of a dirtied page. `page_hit` is for a page in memory, `page_miss` for one that is read."""
    block_bytes: int

    @property
    def cost_per_s(self) -> float | None:
        """Return the cost that it may spend per second; None if nothing limits it."""
        return self.limit / self.delay_s if self.delay_s > 0 else None

    def cost_per_byte(self, read_bytes: float, written_bytes: float) -> float:
        """Return the mean cost of a byte for this mix of reads and writes; for reads if both are 0."""
        moved = read_bytes + written_bytes
        if moved <= 0:
            return self.page_miss / self.block_bytes
        cost = read_bytes * self.page_miss + written_bytes * self.page_dirty
        return cost / moved / self.block_bytes

    def bytes_per_s_max(self, read_bytes: float = 0.0, written_bytes: float = 0.0) -> float | None:
        """Return the most bytes/s it can read and write in this mix; None if nothing limits it."""
        if self.cost_per_s is None:
            return None
        cost_per_byte = self.cost_per_byte(read_bytes, written_bytes)
        return self.cost_per_s / cost_per_byte if cost_per_byte > 0 else None

    def seconds_of(self, read_pages: float, dirty_pages: float) -> float:
        """Return the least time to read and dirty so many pages; 0 if nothing limits it."""
        if self.cost_per_s is None:
            return 0.0
        return (read_pages * self.page_miss + dirty_pages * self.page_dirty) / self.cost_per_s

    def limit_for(self, bytes_per_s: float, read_bytes: float, written_bytes: float) -> tuple[int, int]:
        """Return `cost_limit` and `cost_delay` (ms) that keep this mix at or below a rate, which is > 0."""
        cost_per_s = bytes_per_s * self.cost_per_byte(read_bytes, written_bytes)
        delay_ms = DELAY_MS
        # A limit below the cost of one page makes it sleep after each page, so use longer delays.
        while cost_per_s * delay_ms / _MS_PER_S < self.page_dirty and delay_ms < 100:
            delay_ms = min(delay_ms * 5, 100)
        return min(max(int(cost_per_s * delay_ms / _MS_PER_S), 1), LIMIT_MAX), delay_ms


def pace_of(
    settings: Mapping[str, str], options: Mapping[str, str], *, block_bytes: int, is_automatic: bool = True
) -> VacuumPace | None:
    """
    Return the cost limits of a vacuum; None if the settings could not be read.

    Args:
        settings: settings of the server, in their base units.
        options: storage parameters that apply to the relation.
        block_bytes: size of a page.
        is_automatic: whether autovacuum runs it; a manual VACUUM has no delay by default.
    """
    prefix = "autovacuum_vacuum_" if is_automatic else "vacuum_"
    delay_ms = _first(settings, options, f"{prefix}cost_delay", "vacuum_cost_delay")
    limit = _first(settings, options, f"{prefix}cost_limit", "vacuum_cost_limit")
    costs = [_number(settings, f"vacuum_cost_page_{name}") for name in ("hit", "miss", "dirty")]
    if delay_ms is None or limit is None or None in costs:
        return None
    hit, miss, dirty = (cost or 0.0 for cost in costs)
    return VacuumPace(
        limit=limit,
        delay_s=delay_ms / _MS_PER_S,
        page_hit=hit,
        page_miss=miss,
        page_dirty=dirty,
        block_bytes=block_bytes,
    )


def _first(settings: Mapping[str, str], options: Mapping[str, str], name: str, general: str) -> float | None:
    """Return the relation's own value, else the server's; −1 means the general setting."""
    for values, key in ((options, name), (settings, name), (settings, general)):
        found = _number(values, key)
        if found is not None and found >= 0:
            return found
    return None


def _number(values: Mapping[str, str], name: str) -> float | None:
    try:
        return float(values[name])
    except (KeyError, ValueError):
        return None
