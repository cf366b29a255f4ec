"""
Estimate what the vacuums in the glances read and wrote.

Sources of the bytes:

1. a vacuum that began and ended between the readings: `pg_stat_io` (16 and later), at most what the relation
   itself counts as read, divided by blocks if several ran;
2. before 16 a manual VACUUM that began and ended between the readings: `pg_stat_statements`;
3. any other, and before 16: blocks from the progress view, at most what cost limits allow, and for an ended
   one at most the pages that all processes wrote. A process adds to `pg_stat_io` only when its vacuum ends
   (observed on 18): a running one is missing there, and an ended one may include hours before the window;
4. several of one relation, of which the last still runs: the sum of both, over the whole window.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from plimsoll.causes.budget import rates_of
from plimsoll.causes.named import is_named
from plimsoll.causes.statements.statements import is_vacuum, work_between
from plimsoll.causes.vacuum.pace import VacuumPace, pace_of
from plimsoll.causes.vacuum.toast_options import options_of
from plimsoll.model.database import IoRow, Observation, Relation, VacuumRun
from plimsoll.model.postgres import CHUNKS_PER_PAGE

_Ends = tuple[tuple[float, VacuumRun], tuple[float, VacuumRun]]
"""The first and the last state of a vacuum that were seen, each with its time in epoch seconds."""


class ObservedVacuum(Struct, frozen=True, kw_only=True):
    """The vacuums of one relation that were seen between the readings; mostly one."""

    last: VacuumRun
    """The last state that was seen."""
    spans: tuple[tuple[float, float], ...]
    """Of each vacuum, its start and the time when it was seen last, epoch seconds."""
    seen_s: float
    """Seconds between the first and the last glance at each vacuum, summed."""
    scanned_blocks: float
    vacuumed_blocks: float
    """Blocks of the second pass in that time; `scanned_blocks` are those of the first pass."""
    current: "ObservedVacuum | None"
    """If there were several, the one that still runs, by itself."""
    relation: Relation | None
    owner: Relation | None
    """The table, if the relation is its TOAST relation."""
    is_running: bool
    """Whether the last glance still saw it."""

    @property
    def end_s(self) -> float:
        """The time when it was seen last, epoch seconds."""
        return max(end_s for _, end_s in self.spans)

    @property
    def blocks(self) -> float:
        """Blocks of both passes."""
        return self.scanned_blocks + self.vacuumed_blocks

    @property
    def subject(self) -> str:
        """The table's name, with `(TOAST)` for its TOAST relation."""
        return f"{self.owner.name} (TOAST)" if self.owner is not None else self.last.relation

    @property
    def progress(self) -> float | None:
        """Share of the phase that is done, 0–1; None in phases that count nothing."""
        done = self._done
        return min(done / self.last.total_blocks, 1.0) if done is not None else None

    @property
    def left_s(self) -> float | None:
        """Seconds until the phase ends at the observed rate; None if no blocks were processed."""
        done = self._done
        if done is None or self.blocks <= 0 or self.seen_s <= 0:
            return None
        return max(self.last.total_blocks - done, 0) * self.seen_s / self.blocks

    @property
    def _done(self) -> int | None:
        if not self.last.total_blocks:
            return None
        counts = {"scanning heap": self.last.scanned_blocks, "vacuuming heap": self.last.vacuumed_blocks}
        return counts.get(self.last.phase)


class Bytes(Struct, frozen=True, kw_only=True):
    """What a vacuum read and wrote, bytes/s; None if unknown."""

    read: float | None
    written: float | None
    is_counted: bool
    how: str
    mean: float | None = None
    """Reads and writes together, over the whole window and not only while it ran."""
    uncounted: float = 0.0
    """The part of `mean` that the server will count only when the vacuum ends."""

    @property
    def mean_written(self) -> float:
        """Mean of writes over the whole window; 0 if unknown."""
        return (self.written or 0.0) * (self.mean or 0.0) / self.moved if self.moved else 0.0

    @property
    def moved(self) -> float | None:
        """Reads and writes together."""
        return None if self.read is None or self.written is None else self.read + self.written


def runs_of(observation: Observation) -> tuple[ObservedVacuum, ...]:
    """Return the vacuums that glances saw, by relation, in the order in which they were seen."""
    seen: dict[tuple[int, bool], dict[int, list[tuple[float, VacuumRun]]]] = {}
    for glance in observation.glances:
        for vacuum in glance.vacuums:
            of_relation = seen.setdefault((vacuum.relation_oid, vacuum.is_automatic), {})
            of_relation.setdefault(vacuum.pid, []).append((glance.time_s, vacuum))
    relations = {relation.oid: relation for relation in observation.last.relations}
    last_s = observation.glances[-1].time_s if observation.glances else 0.0
    found = []
    for by_process in seen.values():
        ends = [(moments[0], moments[-1]) for moments in by_process.values()]
        run = _run(ends, relations, last_s)
        # The counters include a vacuum that ended after the last glance.
        is_over = run.is_running and _ended(observation, run) >= len(ends)
        found.append(msgspec.structs.replace(run, current=None, is_running=False) if is_over else run)
    return tuple(found)


def _ended(observation: Observation, run: ObservedVacuum) -> int:
    """Return how many vacuums of the relation ended between the readings."""
    before = {relation.oid: relation for relation in observation.first.relations}
    if run.relation is None or run.relation.oid not in before:
        return 0
    then = before[run.relation.oid]
    if run.last.is_automatic:
        return run.relation.autovacuum_count - then.autovacuum_count
    return run.relation.vacuum_count - then.vacuum_count


def _run(ends: Sequence[_Ends], relations: Mapping[int, Relation], last_s: float) -> ObservedVacuum:
    """Combine the vacuums of one relation from the first and last state of each."""
    end_s, last = max((end for _, end in ends), key=lambda end: end[0])
    relation = relations.get(last.relation_oid)
    owner_oid = relation.owner_oid if relation is not None else None
    running = [pair for pair in ends if pair[1][0] == last_s]
    return ObservedVacuum(
        last=last,
        spans=tuple((first[0] - first[1].running_s, end[0]) for first, end in ends),
        seen_s=sum(end[0] - first[0] for first, end in ends),
        scanned_blocks=_grown(ends, lambda vacuum: vacuum.scanned_blocks),
        vacuumed_blocks=_grown(ends, lambda vacuum: vacuum.vacuumed_blocks),
        current=_run(running, relations, last_s) if 0 < len(running) < len(ends) else None,
        relation=relation,
        owner=relations.get(owner_oid) if owner_oid is not None else None,
        is_running=end_s == last_s,
    )


def bytes_of(observation: Observation, run: ObservedVacuum, runs: Sequence[ObservedVacuum]) -> Bytes:
    """Return what one of the observed vacuums read and wrote while it was watched."""
    peers = [r for r in runs if r.last.is_automatic == run.last.is_automatic]
    is_inside = all(_is_inside(observation, peer) for peer in peers)
    if observation.seconds <= 0 or not is_inside:
        return _estimated(observation, run)
    if observation.last.io is None:
        return _by_statement(observation, run, peers) or _estimated(observation, run)
    if run.current is None:
        return _estimated(observation, run) if run.is_running else _counted(observation, run, peers)
    ended, current = _counted(observation, run, peers), _estimated(observation, run.current)
    if current.moved is None or current.mean is None or ended.moved is None:
        # The running vacuum has just begun, so the ended ones read and wrote nearly everything.
        return ended
    share = current.mean / current.moved if current.moved else 0.0
    read = (ended.read or 0.0) + (current.read or 0.0) * share
    written = (ended.written or 0.0) + (current.written or 0.0) * share
    return Bytes(
        read=read,
        written=written,
        is_counted=False,
        how=f"for the whole window: ended vacuums are {ended.how}; the running one is {current.how}",
        mean=read + written,
        uncounted=current.uncounted,
    )


def uncounted_by(observation: Observation) -> float:
    """Return bytes/s of running vacuums, which the server has not counted yet."""
    runs = runs_of(observation)
    return sum(bytes_of(observation, run, runs).uncounted for run in runs)


def _counted(observation: Observation, run: ObservedVacuum, peers: Sequence[ObservedVacuum]) -> Bytes:
    """Return the bytes of ended vacuums by `pg_stat_io`, which counts all `peers` together."""
    read, written = rates_of(observation, by_autovacuum if run.last.is_automatic else _by_manual_vacuum)
    if read is None or written is None:
        return _estimated(observation, run)
    blocks = sum(_ended_blocks(peer) for peer in peers)
    share = _ended_blocks(run) / blocks if blocks else 1 / len(peers)
    own = _blocks_read(observation, run)
    read *= share
    if own is not None:
        # Workers also read catalogs, and tables that they then do not vacuum.
        read = min(read, own * observation.server.block_bytes / observation.seconds)
    how = "counted by pg_stat_io" + (", divided by blocks" if len(peers) > 1 else "")
    return Bytes(read=read, written=written * share, is_counted=True, how=how, mean=read + written * share)


def _by_statement(observation: Observation, run: ObservedVacuum, peers: Sequence[ObservedVacuum]) -> Bytes | None:
    """Return the bytes of ended manual VACUUMs by `pg_stat_statements`; None if it did not count each."""
    # One statement may vacuum several tables, or one and its TOAST relation.
    is_shared = any(peer is not run and peer.last.pid == run.last.pid for peer in peers)
    if run.last.is_automatic or run.is_running or is_shared:
        return None
    works = work_between(observation.first.statements, observation.last.statements)
    own = [
        work.statement
        for work in works
        if is_vacuum(work.statement.text) and is_named(run.last.relation, work.statement.text)
    ]
    if sum(statement.calls for statement in own) != len(run.spans):
        return None
    read, written = (
        sum(blocks) * observation.server.block_bytes / observation.seconds
        for blocks in zip(*((s.read_blocks, s.written_blocks) for s in own), strict=True)
    )
    how = "counted by pg_stat_statements"
    return Bytes(read=read, written=written, is_counted=True, how=how, mean=read + written)


def _ended_blocks(run: ObservedVacuum) -> float:
    if run.current is not None:
        return run.blocks - run.current.blocks
    return 0.0 if run.is_running else run.blocks


def _is_inside(observation: Observation, run: ObservedVacuum) -> bool:
    """Return whether its ended vacuums began in the window, so that the counters include all of them."""
    ended = run.spans if not run.is_running else [s for s in run.spans if s[1] < run.end_s]
    return all(start_s >= observation.first.time_s for start_s, _ in ended)


def _estimated(observation: Observation, run: ObservedVacuum) -> Bytes:
    """
    Return an estimate by blocks and cost limits.

    Pages with dead rows are read and dirtied. The progress view counts skipped pages as scanned, although they
    cost nothing. So the estimate is at most what the cost limits allow.
    """
    why = (
        "since there is no pg_stat_io before 16"
        if observation.last.io is None
        else "since pg_stat_io counts a vacuum only when it ends"
    )
    how = f"estimated from blocks, dead rows and cost limits, {why}"
    if run.seen_s <= 0 or run.blocks <= 0:
        return Bytes(read=None, written=None, is_counted=False, how=f"unknown, {why}")
    dirty = _dirty_share(observation, run) * run.scanned_blocks + run.vacuumed_blocks
    pages, dirtied = run.blocks / run.seen_s, dirty / run.seen_s
    pace = pace_of_run(observation, run)
    if pace is not None and pace.cost_per_s is not None:
        cost = pages * pace.page_miss + dirtied * pace.page_dirty
        slower = min(pace.cost_per_s / cost, 1.0) if cost > 0 else 1.0
        pages, dirtied = pages * slower, dirtied * slower
    block_bytes = observation.server.block_bytes
    read, written = pages * block_bytes, dirtied * block_bytes
    share = min(run.seen_s / observation.seconds, 1.0) if observation.seconds > 0 else 0.0
    own = None if run.is_running else _blocks_read(observation, run)
    if own is not None and share > 0:
        # Pages that were in shared buffers were not read.
        read = min(read, own * block_bytes / observation.seconds / share)
    every = _pages_written(observation) if not run.is_running else None
    if every is not None and share > 0:
        # If both passes change a page before it is written, it is written once.
        written = min(written, every / observation.seconds / share)
    # Before 16 the server counts writes at once, but reads only when the vacuum ends.
    uncounted = read if observation.last.io is None else read + written
    return Bytes(
        read=read,
        written=written,
        is_counted=False,
        how=how,
        mean=(read + written) * share,
        uncounted=uncounted * share if run.is_running else 0.0,
    )


def _dirty_share(observation: Observation, run: ObservedVacuum) -> float:
    """Return the share of pages with dead rows; rows are at random places, chunks of a value together."""
    if run.relation is None or not run.last.total_blocks:
        return 1.0
    # An ended vacuum left no dead rows, so use those that it found.
    readings = (observation.first, observation.last)
    rows = max(one.dead_rows for reading in readings for one in reading.relations if one.oid == run.relation.oid)
    places = rows / (CHUNKS_PER_PAGE if run.owner is not None else 1)
    return -math.expm1(-places / run.last.total_blocks)


def _pages_written(observation: Observation) -> float | None:
    """Return bytes of pages that all processes wrote; None from 16 on, or if they were not counted."""
    names = ("backend_written_bytes", "checkpoint_written_bytes", "background_written_bytes")
    ends = [[getattr(reading.counters, name) for name in names] for reading in (observation.first, observation.last)]
    if observation.last.io is not None or None in (*ends[0], *ends[1]):
        return None
    return float(sum(ends[1]) - sum(ends[0]))


def _blocks_read(observation: Observation, run: ObservedVacuum) -> int | None:
    """Return blocks of the relation and its indexes that any process read; None if unknown or none."""
    before = {relation.oid: relation for relation in observation.first.relations}
    if run.relation is None or run.relation.oid not in before:
        return None
    then = before[run.relation.oid]
    heap = run.relation.heap_blocks_read - then.heap_blocks_read
    read = heap + run.relation.index_blocks_read - then.index_blocks_read
    return read if read > 0 else None


def pace_of_run(observation: Observation, run: ObservedVacuum) -> VacuumPace | None:
    """Return its cost limits; None if the settings could not be read."""
    options: Mapping[str, str] = {}
    if run.relation is not None:
        options = options_of(run.relation, run.owner or run.relation)
    return pace_of(
        observation.server.settings,
        options,
        block_bytes=observation.server.block_bytes,
        is_automatic=run.last.is_automatic,
    )


def _grown(ends: Sequence[_Ends], count: Callable[[VacuumRun], int]) -> float:
    return float(sum(max(count(end[1]) - count(first[1]), 0) for first, end in ends))


def by_autovacuum(row: IoRow) -> bool:
    """Return whether a row of `pg_stat_io` is of autovacuum workers."""
    return row.backend_type == "autovacuum worker"


def _by_manual_vacuum(row: IoRow) -> bool:
    return row.backend_type == "client backend" and row.context == "vacuum"
