"""
The servers and files of the experiment: a double of AWS, a PostgreSQL that is filled and put behind a gate, three files.

Rule: the files stand for objects in S3, so they are not on the database's disk, and reading them costs it nothing.
"""

from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from plimsoll.catalog.load import Catalog
from plimsoll.units import GIB, MIB, format_bytes
from plimsoll_lab.experiments.claims_pipeline import story
from plimsoll_lab.experiments.claims_pipeline.claims import claim_lines
from plimsoll_lab.experiments.claims_pipeline.database import PRESENT, ClaimsDatabase, organisations
from plimsoll_lab.experiments.claims_pipeline.story import ClaimsPhase
from plimsoll_lab.experiments.ground import ExperimentFolder, Ground, account_of, common_settings, setup_of, start_all
from plimsoll_lab.experiments.phases import CLOCK
from plimsoll_lab.experiments.room import data_folder
from plimsoll_lab.servers.cloudwatch import AwsDouble
from plimsoll_lab.sessions.session import PrintLine, new_folder

# The double of AWS, PostgreSQL and what its connections take; measured, with a margin of two.
_SERVER_BYTES = 1 * GIB
# Of the database for each byte of its files: tables, indexes, WAL, views and what sorts write; the same margin.
_DATA_RATIO = 14
# Of the history, for each organisation: together twice the memory, so the application's queries reach the disk.
_HISTORY_BYTES = 40 * MIB
# Requests for readahead and writeback in flight. Half of the gate's own: a part of the load has fewer of them, and each
# waits for all others.
_IN_FLIGHT = 8
# PostgreSQL gives the kernel what it wrote in pieces of this size. The kernel would send up to 1 MiB at once, which is a
# quarter of what a 20th of the baseline lets through in a second, and the samples would scatter as CloudWatch's do not.
_FLUSH = "64kB"


class ClaimsPlan(Struct, frozen=True, kw_only=True):
    """How the experiment is played."""

    phases: tuple[ClaimsPhase, ...]
    file_bytes: float = story.QUICK_FILE_BYTES
    """Of one file, in emulated time and of the whole load."""
    scale: float = story.SCALE
    clock: float = CLOCK
    memory_bytes: int = 80 * MIB
    """For the database's buffers and the page cache together: less than the history needs."""

    @property
    def played_bytes(self) -> int:
        """Return the size of the file that stands for one."""
        return int(self.file_bytes / self.scale / self.clock)


class ClaimsGround(Ground, frozen=True, kw_only=True):
    """What the phases are played on."""

    files: tuple[tuple[int, Path], ...]
    """Organisation and file."""
    worker_folder: Path
    """The disk of the worker."""


def prepare(plan: ClaimsPlan, facts: Catalog, print_line: PrintLine, stack: ExitStack) -> ClaimsGround:
    """
    Write the files, start the servers, fill the database without limits, and put it behind the gate.

    Args:
        plan: how the experiment is played.
        facts: the documented limits.
        print_line: called with a sentence before each step.
        stack: ends everything when it closes.

    Raises:
        UsageError: FUSE or the server is missing, or there is too little memory or space.
        SourceError: a server did not start.
    """
    data_bytes = _DATA_RATIO * (story.ORGANISATIONS * (plan.played_bytes + _HISTORY_BYTES))
    place = data_folder(data_bytes, _SERVER_BYTES)
    folder = ExperimentFolder(new_folder(stack, keeps=False, place=place))
    loader, double = folder.loader, AwsDouble()
    versions = f"PostgreSQL {loader.version} and a double of AWS (moto {double.version})"
    print_line(f"starting {versions}")
    start_all([double, loader], stack)
    size = format_bytes(plan.played_bytes)
    print_line(f"filling the database and writing {story.ORGANISATIONS} files of {size}; no limit yet")
    with ClaimsDatabase(loader.dsn) as database:
        database.create(_HISTORY_BYTES)
        database.count_statements()
    files = tuple(_written(folder.path / "files", plan))
    loader.stop()
    instance = plan.phases[0].instance
    setup = setup_of(
        instance, clock=plan.clock, scale=plan.scale, memory_bytes=plan.memory_bytes, max_background=_IN_FLIGHT
    )
    gate, server = folder.behind_gate(setup, _settings(plan), facts, stack)
    worker_folder = folder.path / "worker"
    worker_folder.mkdir()
    return ClaimsGround(
        gate=gate,
        setup=setup,
        server=server,
        account=account_of(double, instance, loader.version),
        versions=versions,
        files=files,
        worker_folder=worker_folder,
    )


def history_bytes() -> int:
    """Return the size of the history of one organisation."""
    return _HISTORY_BYTES


def _written(folder: Path, plan: ClaimsPlan) -> list[tuple[int, Path]]:
    folder.mkdir(mode=0o711)
    files = []
    for org in organisations():
        path = folder / f"claims-{org}.csv"
        with path.open("wb") as file:
            for part in claim_lines(org, PRESENT, size_bytes=plan.played_bytes):
                file.write(part)
        # The server's account reads it.
        path.chmod(0o644)
        files.append((org, path))
    return files


def _settings(plan: ClaimsPlan) -> dict[str, str]:
    return {
        **common_settings(plan.memory_bytes),
        # All I/O of a phase is that of its jobs and of the application.
        "autovacuum": "off",
        "backend_flush_after": _FLUSH,
        "bgwriter_flush_after": _FLUSH,
        "checkpoint_flush_after": _FLUSH,
        "wal_writer_flush_after": _FLUSH,
        # WAL as well: each time that it has a tenth of what the baseline lets through in a minute, or sooner.
        "wal_buffers": "256kB",
        "wal_writer_delay": "10ms",
        # Sorts and groups stay in memory; what the kernel writes of temporary files nobody can cut into pieces.
        "work_mem": "64MB",
        # A checkpoint for each part of WAL, as a server has with files of this size at full scale.
        "max_wal_size": "96MB",
        "max_parallel_workers_per_gather": "0",
    }
