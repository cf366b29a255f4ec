"""
Drive the services of the pooled cluster from outside, by their commands `fill` and `run`.

Rule 1: nothing of the system is imported. It is a program in a folder with a Makefile.
Rule 2: what is started here is ended here, by process id. The services end when their input ends, so also if this
        process is killed.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import IO, Self

import msgspec
from msgspec import Struct

from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.experiments.packages import PYTHON
from plimsoll_lab.servers.server import HOST

_MODULE = "pooled_cluster.services"
# The JVMs end at once when their input ends.
_END_S = 20.0
# Of their errors: the sentence and the hint with which they end, and what came before.
_LOG_BYTES = 1 << 20


class ServiceLatency(Struct, frozen=True, kw_only=True):
    """A histogram of business transactions: how many took at most so long."""

    bounds_s: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    total: int = 0
    """With those above the last bound."""

    def since(self, earlier: "ServiceLatency") -> "ServiceLatency":
        """Return those that were done after an earlier reading."""
        before = earlier.counts or (0,) * len(self.counts)
        return ServiceLatency(
            bounds_s=self.bounds_s,
            counts=tuple(now - then for now, then in zip(self.counts, before, strict=True)),
            total=self.total - earlier.total,
        )

    def quantile_s(self, share: float) -> float | None:
        """Return the upper bound of the step that a quantile lies in; None if it is above the last, or nothing was."""
        if self.total <= 0:
            return None
        wanted = share * self.total
        reached = (b for b, n in zip(self.bounds_s, self.counts, strict=True) if n >= wanted)
        return next(reached, None)


class ServiceNow(Struct, frozen=True, kw_only=True):
    """What is so at one moment, at all instances together."""

    connections: int = 0
    active: int = 0
    idle: int = 0
    waiting: int = 0
    """Requests that wait for a connection of a pool."""
    queued: int = 0


class ServiceCounts(Struct, frozen=True, kw_only=True):
    """What the services have counted since they were started."""

    arrivals: int = 0
    done: int = 0
    failed: dict[str, int] = {}
    """Business transactions that were given up, by reason."""
    attempts_failed: dict[str, int] = {}
    late: int = 0
    retries: int = 0
    queries: int = 0
    queries_useful: int = 0
    """Of them, those of business transactions that were done while the client waited."""
    connections_opened: int = 0
    connections_closed: int = 0
    connections_failed: dict[str, int] = {}
    """Connections that could not be opened, by reason."""
    latency: ServiceLatency = ServiceLatency()
    now: ServiceNow = ServiceNow()
    last_errors: dict[str, str] = {}


class _Line(Struct, frozen=True, kw_only=True):
    """A line of the services' output: the first one has the processes, each other one the counts."""

    time_s: float = 0.0
    counts: ServiceCounts | None = None
    pids: tuple[int, ...] = ()


class Fleet(Struct, frozen=True, kw_only=True):
    """How many services there are, and with which pools they start."""

    services: int
    instances: int
    """Of each service."""
    pool: int
    """Connections of each instance, at most."""
    settings: Mapping[str, object] = {}
    """Other settings, as the services name them: `think_ms`, `retry` …"""

    @property
    def pool_count(self) -> int:
        """Return the number of pools."""
        return self.services * self.instances

    @property
    def connections(self) -> int:
        """Return the most connections that all pools may open."""
        return self.pool_count * self.pool


class PooledSystem:
    """The system in its folder; use it in a `with` block."""

    def __init__(self, folder: Path) -> None:
        """
        Keep where the system is.

        Raises:
            UsageError: there is no such system in the folder.
        """
        if not (folder / "Makefile").is_file() or not (folder / "pyproject.toml").is_file():
            raise UsageError(
                f"there is no pooled cluster in '{folder}'",
                "Clone the repository of Plimsoll, which has it in systems/pooled-cluster, or name its folder with "
                "--system.",
            )
        self._folder = folder
        self._running: list[RunningServices] = []

    def __enter__(self) -> Self:
        """Return the system itself; nothing is started yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the services."""
        for one in self._running:
            one.end()

    def fill(self, port: int, password: str, **sizes: int) -> None:
        """
        Create the tables of the order domain, and fill them with simulated data.

        Args:
            port: of the server that takes writes.
            password: of the role `orders`.
            sizes: `customers`, `products`, `orders`.

        Raises:
            UsageError: the services cannot use what was given, in their own words.
            SourceError: they failed.
        """
        options = [word for name, count in sizes.items() for word in (f"--{name}", str(count))]
        done = subprocess.run(  # noqa: S603 - the system's own command
            [*self._command, "fill", "--port", str(port), *options],
            env=self._environment(password),
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            raise failure_of(done.stderr, "fill")

    def start(self, fleet: Fleet, port: int, password: str, *, is_preparing: bool = True) -> "RunningServices":
        """
        Start services; no business transaction arrives before a rate is set.

        Args:
            fleet: how many, and their first settings.
            port: of the pooler.
            password: of the role `orders`.
            is_preparing: whether the driver prepares statements on the server, as it does by default. A pooler in
                transaction mode moves a client to another backend, which has not prepared them.

        Raises:
            UsageError: there is no Java or Maven, or a setting cannot be used.
            SourceError: the services did not start.
        """
        words = [f"--set={name}={value}" for name, value in fleet.settings.items()]
        for name in ("services", "instances", "pool"):
            words += [f"--{name}", str(getattr(fleet, name))]
        if not is_preparing:
            words += ["--prepare-threshold", "0"]
        command = [*self._command, "run", "--follow", "--port", str(port), *words]
        services = RunningServices(command, self._environment(password))
        self._running.append(services)
        services.await_start()
        return services

    @property
    def _command(self) -> list[str]:
        return [str(self._folder / PYTHON), "-m", _MODULE]

    @staticmethod
    def _environment(password: str) -> dict[str, str]:
        ours = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "PYTHON"))}
        return {**ours, "PGPASSWORD": password}


class RunningServices:
    """Services that run; each line that they write replaces the counts."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start them."""
        # A file without a name: nothing is left of it, even if this process is killed.
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - open for as long as they run
        self._program = subprocess.Popen(  # noqa: S603 - the system's own command
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            # Ctrl-C in the terminal reaches us; we end them.
            start_new_session=True,
        )
        self.pids: tuple[int, ...] = ()
        self.counts = ServiceCounts()
        """The last that they wrote."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._input: IO[bytes] = self._program.stdin
        self._output: IO[bytes] = self._program.stdout
        self._reader = Thread(target=self._read, daemon=True)

    def await_start(self) -> None:
        """
        Wait until all services run.

        Raises:
            UsageError: they cannot use what was given, in their own words.
            SourceError: they ended.
        """
        first = self._output.readline()
        if not first:
            self._program.wait()
            raise self._failure()
        self.pids = msgspec.json.decode(first, type=_Line).pids
        self._reader.start()

    def order(self, **changes: object) -> None:
        """Change settings while they run, for example `rate=40`, `pool=5`."""
        # Services that have ended are found by `check`, with their reason.
        with suppress(BrokenPipeError):
            self._input.write(msgspec.json.encode(changes) + b"\n")
            self._input.flush()

    def check(self) -> None:
        """
        Check that they run.

        Raises:
            SourceError: they have ended; the message has their words.
        """
        if self._program.poll() is not None:
            raise self._failure()

    def end(self) -> None:
        """End them, with their JVMs."""
        with suppress(BrokenPipeError):
            self._input.close()
        try:
            self._program.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._program.kill()
            self._program.wait()
        if self._reader.is_alive():
            self._reader.join()
        self._output.close()
        self._log.close()

    def _read(self) -> None:
        for line in self._output:
            # A last line may be cut by the end.
            with suppress(msgspec.DecodeError):
                found = msgspec.json.decode(line, type=_Line)
                if found.counts is not None:
                    self.counts = found.counts

    def _failure(self) -> SourceError | UsageError:
        # Not by `read`, which would move the place at which they write.
        errors = os.pread(self._log.fileno(), _LOG_BYTES, 0)
        return failure_of(errors.decode(errors="replace"), "run")


def failure_of(errors: str, command: str) -> SourceError | UsageError:
    """Return the failure of a command of the services, in its own words."""
    lines = [line for line in errors.splitlines() if line.strip()] or ["it gave no reason"]
    said = next((x.partition(": ")[2] for x in lines if x.startswith("error: ")), "")
    hint = next((x.partition(": ")[2] for x in lines if x.startswith("hint: ")), "")
    if said and hint:
        return UsageError(said, hint)
    return SourceError(
        f"the services' command '{command}' failed: {said or lines[-1]}",
        f"See the README of the pooled cluster; its address is always {HOST}.",
    )
