"""
Start the cluster and the services on this machine, in the background, or end them: `cluster.py up`, `cluster.py down`.

Rule 1: one PostgreSQL cluster under Patroni, Pgpool-II in front of it, and the services behind that; data is simulated.
Rule 2: only what was started here is ended: by its process id, if that process began when ours did.
"""

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pooled_cluster.services import fill
from pooled_cluster.services.errors import ServicesError, UnavailableError, UsageError

DATABASE = "orders"
SERVERS = ("patroni", "pgpool")
START_S = 900.0
"""Servers are downloaded once, on a slow line perhaps; so are the jars of the services."""
END_S = 60.0
ENDING = (signal.SIGINT, signal.SIGTERM)
# The pooler has 16 children, and each connection of a pool takes one.
FLEET = ("--services", "4", "--instances", "1", "--pool", "3")


class Programs:
    """Programs that run in the background, kept in a file."""

    def __init__(self, folder: Path) -> None:
        """Read what the folder says; it need not exist."""
        self.folder = folder
        self._file = folder / "programs.json"
        self._all: list[tuple[str, int, str]] = []
        if self._file.exists():
            self._all = [(name, pid, begun) for name, pid, begun in json.loads(self._file.read_text())]

    @property
    def running(self) -> list[str]:
        """Return the names of those that run."""
        return [name for name, pid, begun in self._all if is_running(pid, begun)]

    def log(self, name: str) -> Path:
        """Return the file with a program's output."""
        return self.folder / f"{name}.log"

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start a program; Ctrl-C waits until it is kept in the file."""
        with uninterrupted(), self.log(name).open("w") as log:
            started = subprocess.Popen(  # noqa: S603 - our own commands
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
            self._all.append((name, started.pid, beginning(started.pid)))
            self._file.write_text(json.dumps(self._all))

    def wait(self, name: str, what: str, is_so: Callable[[], bool]) -> None:
        """
        Wait until a program has done something.

        Raises:
            UnavailableError: it ended, or did not do it in time.
        """
        end = time.monotonic() + START_S
        while not is_so():
            if name not in self.running or time.monotonic() > end:
                log = self.log(name)
                sentence, hint = reason_of(log.read_text().splitlines())
                raise UnavailableError(f"{what}: {sentence}", f"{hint} The log is {log}.".strip())
            time.sleep(0.1)

    def end(self, *, is_keeping_logs: bool = False) -> list[str]:
        """End all, the last first, and return the names of those that ran; the folder goes, or all but its logs."""
        ended = []
        for name, pid, begun in reversed(self._all):
            for number in (signal.SIGTERM, signal.SIGKILL):
                if not is_running(pid, begun):
                    break
                os.kill(pid, number)
                ended.append(name)
                limit = time.monotonic() + END_S
                while is_running(pid, begun) and time.monotonic() < limit:
                    time.sleep(0.05)
        self._file.unlink(missing_ok=True)
        if not is_keeping_logs:
            shutil.rmtree(self.folder, ignore_errors=True)
        return list(dict.fromkeys(ended))


def reason_of(lines: Sequence[str]) -> tuple[str, str]:
    """Return the sentence and the hint with which a program ended, from the end of its log."""
    found = [line for line in lines if line.startswith("error: ")]
    hints = [line for line in lines if line.startswith("hint: ")]
    last = [line for line in lines if line.strip()] or ["it gave no reason"]
    sentence = found[-1].removeprefix("error: ") if found else last[-1]
    return sentence, hints[-1].removeprefix("hint: ") if hints else ""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the end of the block."""
    came: list[signal.Signals] = []
    keep = lambda number, _: came.append(signal.Signals(number))  # noqa: E731
    before = {number: signal.signal(number, keep) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        signal.raise_signal(came[0])


def beginning(pid: int) -> str:
    """Return when a process began, in ticks since the machine did; empty if it does not run (proc(5), stat)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    # A process that has ended and was not waited for is a zombie.
    return "" if fields[0] == "Z" else fields[19]


def is_running(pid: int, begun: str) -> bool:
    """Return whether the process that began then still runs; one that had ended at once began never."""
    return bool(begun) and beginning(pid) == begun


def up(programs: Programs, rate: float) -> None:
    """
    Start the servers, fill the database, and start the services.

    Args:
        programs: what is started is kept there.
        rate: business transactions that arrive per second.

    Raises:
        UsageError: something runs already, or there is no program that starts servers.
        UnavailableError: a server or a service did not start.
    """
    if programs.running:
        raise UsageError("the cluster runs already", "End it first: make down.")
    words = shlex.split(os.environ.get("PLIMSOLL", "plimsoll"))
    if not words or shutil.which(words[-1] if words[0] == "env" else words[0]) is None:
        raise UsageError(
            f"there is no '{' '.join(words)}', which starts the servers",
            "Set PLIMSOLL to the command of a Plimsoll that is installed.",
        )
    shutil.rmtree(programs.folder, ignore_errors=True)
    programs.folder.mkdir(mode=0o700, parents=True)
    try:
        addresses = _servers(programs, words)
        _fill(addresses["patroni"])
        pooler = conninfo_to_dict(addresses["pgpool"], dbname=DATABASE)
        _services(programs, pooler, rate)
    except ServicesError:
        programs.end(is_keeping_logs=True)
        raise
    except BaseException:
        programs.end()
        raise
    _say(programs, pooler, addresses["patroni"], rate)


def _servers(programs: Programs, words: Sequence[str]) -> dict[str, str]:
    """Start the servers, and return the address of each."""
    sys.stderr.write("starting PostgreSQL, Patroni, etcd and Pgpool-II; the first time they are downloaded\n")
    options = [word for name in SERVERS for word in ("--start", name)]
    programs.start("servers", [*words, "lab", "servers", *options], os.environ)

    def addresses() -> dict[str, str]:
        lines = programs.log("servers").read_text().splitlines()
        return {line.partition(" ")[0]: line.rpartition(" ")[2] for line in lines if " answers at " in line}

    programs.wait("servers", "the servers did not start", lambda: len(addresses()) == len(SERVERS))
    return addresses()


def _fill(address: str) -> None:
    """Create the database at the server that takes writes, and fill it."""
    try:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))
    except psycopg.Error as error:
        raise UnavailableError(f"the database was not created: {error}") from error
    fill(make_conninfo(address, dbname=DATABASE))


def _services(programs: Programs, pooler: Mapping[str, object], rate: float) -> None:
    """Start the services, which connect to the pooler."""
    command = [sys.executable, "-m", "pooled_cluster.services", "run", *FLEET, "--rate", str(rate)]
    for option, name in (("host", "host"), ("port", "port"), ("user", "user"), ("database", "dbname")):
        command += [f"--{option}", str(pooler[name])]
    environment = {**os.environ, "PGPASSWORD": str(pooler["password"])}
    programs.start("services", command, environment)
    log = programs.log("services")
    # The first line has their process ids, the second what they counted.
    programs.wait("services", "the services did not start", lambda: log.read_text().count('"counts"') > 0)


def _say(programs: Programs, pooler: Mapping[str, object], cluster: str, rate: float) -> None:
    names = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGPASSWORD": "password", "PGDATABASE": "dbname"}
    settings = {variable: str(pooler[name]) for variable, name in names.items()}
    settings["CLUSTER_URL"] = cluster
    kept = programs.folder / "settings"
    kept.touch(mode=0o600)
    kept.write_text("".join(f"export {name}={shlex.quote(value)}\n" for name, value in settings.items()))
    place = os.path.relpath(programs.folder)
    sys.stdout.write(
        f"The pooler answers at {pooler['host']}:{pooler['port']}, with {rate:g} business transactions per second.\n"
        f"Its address, and that of the cluster: . {place}/settings\n"
        f"What the services count, a line per second: {place}/services.log\n"
        "End it: make down\n"
    )


def interrupt(*_: object) -> None:
    """Interrupt what is done, once: whoever is impatient presses Ctrl-C again while we end what was started."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> int:
    """Run; an error is one sentence and a hint, and status 2."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("up", "down"))
    parser.add_argument("--folder", type=Path, default=Path("run"), help="of logs and addresses (run)")
    parser.add_argument("--rate", type=float, default=5.0, help="business transactions per second (5)")
    arguments = parser.parse_args()
    programs = Programs(arguments.folder.absolute())
    for number in ENDING:
        signal.signal(number, interrupt)
    try:
        if arguments.action == "up":
            up(programs, arguments.rate)
        else:
            ended = programs.end()
            sys.stdout.write(f"ended: {', '.join(ended)}\n" if ended else "nothing was running\n")
    except ServicesError as error:
        sys.stderr.write(f"error: {error.sentence}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
