"""
Run clients against a PostgreSQL: pgbench's transactions or selects, endless scans, saved documents, or the
user's own statements.

All workloads use pgbench: one way to start and end clients, one format of progress.
"""

import os
import re
from contextlib import suppress
from math import ceil
from pathlib import Path

from msgspec import Struct

from plimsoll.errors import SourceError, UsageError
from plimsoll.sources.host.child_command import ChildCommand
from plimsoll_lab.load.dataset import SCAN_TABLE, TableKind
from plimsoll_lab.servers.postgres import Postgres

NAMES = ("tpcb", "select", "scan", "toast", "toast-fixed")

# More sessions than PostgreSQL runs well on a laptop; beyond it pgbench's threads would be the limit.
CLIENTS_MAX = 500
# More than any server answers; a larger number is probably a typing error.
RATE_MAX = 1e6

_SCAN = f"select count(*) from {SCAN_TABLE}:client_id\n"  # noqa: S608 - our own names

# An application that loads a document, changes its status and saves it. "toast" saves the whole row, as an
# ORM without change tracking does; "toast-fixed" saves the changed column only. Values are sent as
# parameters, as a driver does.
_LOAD = """\
\\set id random(1, :documents)
\\set status random(0, 9)
select title, body, note from documents where id = :id \\gset
"""
_SAVE_ALL = """\
update documents set title = :title, status = :status, body = :body, note = :note where id = :id;
"""
_SAVE_CHANGED = """\
update documents set status = :status where id = :id;
"""
_SAVES = {"toast": _LOAD + _SAVE_ALL, "toast-fixed": _LOAD + _SAVE_CHANGED}

# "progress: 5.0 s, 1234.5 tps, lat 3.211 ms stddev 1.204, 0 failed" (pgbench, printProgressReport);
# without a transaction in the second, "lat 0.000" or "lat NaN".
_PROGRESS = re.compile(r"^progress: [\d.]+ s, ([\d.]+) tps, lat ([\d.]+)", re.MULTILINE)
_SUMMARY = re.compile(r"^(?:tps = ([\d.]+)(?! .*including)|latency average = ([\d.]+) ms)", re.MULTILINE)

# "pgbench: error: client 2 script 0 aborted in command 0 query 0: ERROR:  relation …"
_PREFIX = r"^.*?(?:ERROR|FATAL): +|^pgbench: error: +"

# The progress of a second is some hundred bytes; messages of clients may stand between the lines.
_TAIL_BYTES = 4000


class Workload(Struct, frozen=True, kw_only=True):
    """Describe what the clients ask of the database."""

    name: str
    """One of `NAMES`, or the name of the user's file."""
    script: Path | None = None
    """The user's own statements, in pgbench's format."""
    clients: int = 16
    rate_per_s: float | None = None
    """Transactions of all clients together; None for as many as possible."""

    @property
    def tables(self) -> TableKind:
        """Return the kind of tables it uses."""
        if self.script is None and self.name in _SAVES:
            return "toast"
        return "scan" if self.is_scan else "pgbench"

    @property
    def is_scan(self) -> bool:
        """Return whether one statement may take too long to wait for its end."""
        return self.script is None and self.name == "scan"


class LoadPace(Struct, frozen=True, kw_only=True):
    """Measure what the clients completed."""

    transactions_per_s: float
    latency_s: float | None
    """Mean latency of a transaction; None if none ended."""


def workload_of(text: str, *, clients: int, rate_per_s: float | None = None) -> Workload:
    """
    Return the workload for a command line.

    Args:
        text: one of `NAMES`, or the path of a file of statements.
        clients: connections at work at once, 1 ≤ x ≤ CLIENTS_MAX.
        rate_per_s: transactions of all clients together, 0 < x ≤ RATE_MAX; None for as many as possible.

    Raises:
        UsageError: neither a name nor a readable file, or a number of clients or transactions that is
            not possible.
    """
    if not 1 <= clients <= CLIENTS_MAX:
        raise UsageError(f"{clients} clients are not possible", f"Give --clients 1 to {CLIENTS_MAX}.")
    if rate_per_s is not None and not 0 < rate_per_s <= RATE_MAX:
        raise UsageError(
            f"{rate_per_s:g} transactions a second are not possible", f"Give --rate above 0 and up to {RATE_MAX:,.0f}."
        )
    if text in NAMES:
        return Workload(name=text, clients=clients, rate_per_s=rate_per_s)
    script = Path(text)
    if not script.is_file():
        raise UsageError(
            f"workload '{text}' is neither a known name nor a file",
            f"Use {', '.join(NAMES)}, or a file of statements for pgbench -f.",
        )
    if not os.access(script, os.R_OK):
        raise UsageError(f"unable to read workload '{text}'", "Check the permissions of the file.")
    return Workload(name=script.name, script=script.absolute(), clients=clients, rate_per_s=rate_per_s)


class Clients:
    """Run the clients of one workload, from their start to their end."""

    def __init__(
        self, workload: Workload, postgres: Postgres, *, duration_s: float, folder: Path, document_count: int = 0
    ) -> None:
        """
        Prepare the clients; nothing runs yet.

        Args:
            workload: statements of the clients.
            postgres: server with the tables of the workload.
            duration_s: how long the clients work.
            folder: folder for their output.
            document_count: number of documents, for a workload on documents.

        Raises:
            UsageError: pgbench is not installed.
        """
        self._workload = workload
        self._output, self._progress = folder / "workload.out", folder / "workload.progress"
        script = workload.script
        if workload.is_scan:
            script = folder / "scan.sql"
            script.write_text(_SCAN)
        elif workload.tables == "toast":
            script = folder / "documents.sql"
            script.write_text(_SAVES[workload.name])
        self._argv = [
            str(postgres.program("pgbench")),
            *_arguments(workload, script, duration_s),
            *(("-D", f"documents={document_count}") if workload.tables == "toast" else ()),
        ]
        self._environment = postgres.environment
        self._command: ChildCommand | None = None

    def start(self) -> None:
        """
        Start the clients.

        Raises:
            UsageError: the system cannot run pgbench.
        """
        with self._output.open("w") as output, self._progress.open("w") as progress:
            self._command = ChildCommand(self._argv, environment=self._environment, output=output, errors=progress)
            self._command.start()

    def pace(self) -> LoadPace | None:
        """Return the rate of the last second; None before the first second is over."""
        found = _PROGRESS.findall(_tail(self._progress))
        if not found:
            return None
        per_s, milliseconds = found[-1]
        return LoadPace(
            # pgbench prints zero if no transaction ended.
            transactions_per_s=float(per_s),
            latency_s=float(milliseconds) / 1e3 or None,
        )

    def is_over(self) -> bool:
        """Return whether the clients have ended by themselves."""
        return self._command is not None and self._command.is_over()

    def failure(self) -> SourceError:
        """Return the error that ended the clients early."""
        lines = [
            line
            for line in _tail(self._progress).splitlines()
            if line.strip() and not line.startswith(("progress:", "pgbench: hint:"))
        ]
        # The server's error is the cause; errors of clients are its consequences.
        errors = [line for line in lines if "ERROR:" in line or "FATAL:" in line] or lines
        cause = re.sub(_PREFIX, "", errors[0]) if errors else ""
        return SourceError(
            f"the workload '{self._workload.name}' ended early: {cause or 'no reason given'}",
            "Try its statements in psql; its tables are those of 'pgbench -i'.",
        )

    def end(self, patience_s: float) -> LoadPace | None:
        """
        End the clients, after waiting for those that are about to end.

        Returns:
            The rate over the whole time; None if it was cut short, which scans always are.
        """
        if self._command is None:
            return None
        if not self._workload.is_scan:
            self._command.wait(patience_s)
        self._command.stop()
        text = _tail(self._output)
        numbers = _SUMMARY.findall(text)
        per_s = next((float(tps) for tps, _ in numbers if tps), None)
        latency = next((float(ms) / 1e3 for _, ms in numbers if ms), None)
        return None if per_s is None else LoadPace(transactions_per_s=per_s, latency_s=latency)


def _arguments(workload: Workload, script: Path | None, duration_s: float) -> list[str]:
    # More threads than processors would only take turns, and take time from the server.
    jobs = min(workload.clients, os.cpu_count() or 1)
    arguments = ["-n", "-c", str(workload.clients), "-j", str(jobs), "-P", "1"]
    # Clients still work when their time is over, and end by themselves soon after. A scan takes too long
    # to wait for, and is stopped.
    arguments += ["-T", str(ceil(duration_s) + (3600 if workload.is_scan else 1))]
    # pgbench's schedule (--rate) is open loop: requests arrive at this rate even if earlier ones wait.
    if workload.rate_per_s is not None:
        arguments += ["-R", f"{workload.rate_per_s:g}"]
    if script is not None:
        # The extended protocol sends values as parameters; the user's statements run unchanged.
        return [*arguments, *(("-M", "prepared") if workload.tables == "toast" else ()), "-f", str(script)]
    # Prepared statements keep their plans, so the clients' time goes to the disk and not to planning.
    return [*arguments, "-M", "prepared", "-b", "tpcb-like" if workload.name == "tpcb" else "select-only"]


def _tail(path: Path) -> str:
    with suppress(FileNotFoundError), path.open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - _TAIL_BYTES, 0))
        return file.read().decode(errors="replace")
    return ""
