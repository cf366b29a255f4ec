"""
What the phases of every experiment are played on: a filled PostgreSQL behind a gate, and a double of AWS.

Rule 1: the database is filled before the gate is mounted: no limit applies then, and no credits are spent.
Rule 2: whatever was started ends when the stack closes, in the opposite order.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from plimsoll.catalog.load import Catalog
from plimsoll.model.instance import Instance
from plimsoll.units import MIB
from plimsoll_lab.experiments.account import ExperimentAccount
from plimsoll_lab.experiments.phases import with_version
from plimsoll_lab.gate.config import MAX_BACKGROUND, GateSetup
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.load.dataset import LOADING
from plimsoll_lab.servers.cloudwatch import AwsDouble
from plimsoll_lab.servers.postgres import Postgres
from plimsoll_lab.servers.server import KeptServer

# RDS gives a quarter of the memory to PostgreSQL's buffers (see sessions/postgres.py).
_BUFFERS_SHARE = 4
_REGION = "us-east-1"
# What a client lost in a stall is made up within this time. The gate's own 50 ms would be a twentieth of an emulated
# minute, and its samples would scatter as CloudWatch's do not.
_SLACK_S = 0.02


class Ground(Struct, frozen=True, kw_only=True):
    """What the phases are played on."""

    gate: Gate
    setup: GateSetup
    """Of the gate at the beginning."""
    server: Postgres
    account: ExperimentAccount
    versions: str
    """The servers, in words."""


class ExperimentFolder:
    """The folder of an experiment: the disk of its database, and the server that fills it."""

    def __init__(self, folder: Path) -> None:
        """Make the disk; no server is started yet."""
        self.path = folder
        self._disk = folder / "disk"
        self.loader = Postgres(LOADING, data_directory=self._disk / "data", also_remove=(self.path,))
        self._disk.mkdir(mode=0o711)
        self.loader.account.own(self._disk)

    def behind_gate(
        self, setup: GateSetup, settings: Mapping[str, str], facts: Catalog, stack: ExitStack
    ) -> tuple[Gate, Postgres]:
        """
        Mount a gate over the disk of a database that has stopped, and start a server behind it.

        Raises:
            UsageError: FUSE is missing, or there is nothing to emulate.
            SourceError: the gate or the server did not start.
        """
        mount = self.path / "mount"
        gate = Gate(setup, self._disk, mount, facts=facts, also_remove=(self.path,))
        stack.enter_context(gate)
        server = self.loader.relocated(mount / "data", settings)
        stack.enter_context(server)
        return gate, server


def setup_of(
    instance: Instance, *, clock: float, scale: float, memory_bytes: int, max_background: int = MAX_BACKGROUND
) -> GateSetup:
    """Return the setup of an experiment's gate; a part of the memory is PostgreSQL's buffers."""
    return GateSetup(
        instance=instance,
        clock=clock,
        scale=scale,
        memory_bytes=memory_bytes - buffers_bytes(memory_bytes),
        slack_s=_SLACK_S,
        max_background=max_background,
    )


def buffers_bytes(memory_bytes: int) -> int:
    """Return what PostgreSQL's buffers get of the memory, whole MiB."""
    return memory_bytes // _BUFFERS_SHARE // MIB * MIB


def common_settings(memory_bytes: int) -> dict[str, str]:
    """Return the settings of PostgreSQL that every experiment has."""
    return {
        "shared_buffers": f"{buffers_bytes(memory_bytes) // MIB}MB",
        "max_connections": "60",
        "shared_preload_libraries": "pg_stat_statements",
        "track_io_timing": "on",
        # Half an emulated hour; the least that PostgreSQL takes.
        "checkpoint_timeout": "30s",
        # A server that has run for a while recycles its WAL files (PostgreSQL, wal_init_zero).
        "wal_init_zero": "off",
    }


def account_of(double: AwsDouble, instance: Instance, version: str) -> ExperimentAccount:
    """Return an account in which the instance exists."""
    account = ExperimentAccount(double.address, _REGION)
    account.describe(with_version(instance, version))
    return account


def start_all(servers: Sequence[KeptServer], stack: ExitStack) -> None:
    """Start servers at the same time, and end them when the stack closes."""
    for server in servers:
        stack.callback(server.stop)
    with ThreadPoolExecutor(max_workers=len(servers)) as pool:
        started: list[Future[KeptServer]] = [pool.submit(one.__enter__) for one in servers]
        for future in started:
            future.result()
