"""
Start the whole service on this machine, in the background, or end it: `service.py up`, `service.py down`.

Rule 1: a server is started only if no SEARCH_ variable names one; those that are named are left alone.
Rule 2: only what was started here is ended: by its process id, if that process began when ours did.
"""

import argparse
import json
import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from search_service.errors import ServiceError
from search_service.settings import Settings, settings_of

VARIABLES = {
    "postgres": "SEARCH_DATABASE_URL",
    "kafka": "SEARCH_KAFKA",
    "opensearch": "SEARCH_ENGINE_URL",
    "elasticsearch": "SEARCH_ENGINE_URL",
}
"""By server that can be started, the variable that names one instead."""
ENGINES = ("opensearch", "elasticsearch")
HOST = "127.0.0.1"
START_S = 900.0
"""Servers are downloaded once, on a slow line perhaps."""
READY_S = 180.0
END_S = 60.0
ENDING = (signal.SIGINT, signal.SIGTERM)
PRODUCTS = 200


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

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> Path:
        """Start a program, and return its log."""
        with uninterrupted(), self.log(name).open("w") as log:
            started = subprocess.Popen(  # noqa: S603 - our own commands
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
            self._all.append((name, started.pid, beginning(started.pid)))
            self._file.write_text(json.dumps(self._all))
        return self.log(name)

    def wait(self, names: Sequence[str], what: str, is_so: Callable[[], bool], timeout_s: float) -> None:
        """
        Wait for programs.

        Raises:
            ServiceError: one of them ended, or they did not do it within the time.
        """
        end = time.monotonic() + timeout_s
        while not is_so():
            running = self.running
            ended = [name for name in names if name not in running]
            if ended or time.monotonic() > end:
                log = self.log(ended[0] if ended else names[-1])
                sentence, hint = reason_of(log.read_text().splitlines())
                raise ServiceError(f"{what}: {sentence}", f"{hint} The log is {log}.".strip())
            time.sleep(0.1)

    def end(self, *, is_keeping_logs: bool = False) -> list[str]:
        """End all, the last first, and return the names of those that ran; the folder goes, or all but its logs."""
        ended = []
        for name, pid, begun in reversed(self._all):
            for number, patience_s in ((signal.SIGTERM, END_S), (signal.SIGKILL, END_S)):
                if not is_running(pid, begun):
                    break
                os.kill(pid, number)
                ended.append(name)
                limit = time.monotonic() + patience_s
                while is_running(pid, begun) and time.monotonic() < limit:
                    time.sleep(0.05)
        self._file.unlink(missing_ok=True)
        if not is_keeping_logs:
            shutil.rmtree(self.folder, ignore_errors=True)
        return list(dict.fromkeys(ended))


def reason_of(lines: Sequence[str]) -> tuple[str, str]:
    """Return the sentence and the hint with which a program ended, from the end of its log."""
    last = [line for line in lines if line.strip()][-2:] or ["it gave no reason"]
    sentence, *rest = last
    for prefix in ("error: ", "search-service: "):
        if sentence.startswith(prefix):
            return sentence.removeprefix(prefix), " ".join(rest).removeprefix("hint: ")
    return last[-1].removeprefix("error: ").removeprefix("search-service: "), ""


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


def interrupt(*_: object) -> None:
    """Interrupt what is done, once: whoever is impatient presses Ctrl-C again while we end what was started."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


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


def up(programs: Programs, engine: str) -> None:
    """Start servers, with that search engine, the indexer and the API, with a few products."""
    if programs.running:
        raise ServiceError("the service runs already", "End it first: make down.")
    # What is wrong with the settings is said before servers are started for minutes.
    _check(settings_of())
    shutil.rmtree(programs.folder, ignore_errors=True)
    programs.folder.mkdir(mode=0o700, parents=True)
    try:
        environment = {**os.environ, **_servers(programs, engine)}
        environment.setdefault("SEARCH_API_TOKENS", secrets.token_urlsafe(18))
        settings = settings_of(environment)
        _commands(programs, environment, settings)
    except ServiceError:
        programs.end(is_keeping_logs=True)
        raise
    except BaseException:
        programs.end()
        raise
    _say(programs, environment, settings)


def _check(settings: Settings) -> None:
    """Refuse ports that are taken."""
    for name in ("api_port", "metrics_port"):
        with socket.socket() as probe:
            # As servers do it: a port is not taken because a connection has just ended.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, getattr(settings, name)))
            except OSError as error:
                raise ServiceError(
                    f"SEARCH_{name.upper()} is {getattr(settings, name)}, which cannot be used: {error.strerror}",
                    "Give another port.",
                ) from None


def _servers(programs: Programs, engine: str) -> dict[str, str]:
    """Start the servers that no variable names, and return the variables that name them."""
    wanted = [name for name in VARIABLES if name not in ENGINES or name == engine]
    missing = [name for name in wanted if not os.environ.get(VARIABLES[name])]
    if not missing:
        return {}
    words = shlex.split(os.environ.get("PLIMSOLL", "plimsoll"))
    if shutil.which(words[-1] if words[0] == "env" else words[0]) is None:
        raise ServiceError(
            f"{VARIABLES[missing[0]]} is not set, and there is no {words[0]} that starts a server",
            "Set it to the address of one that runs.",
        )
    sys.stderr.write(f"starting {', '.join(missing)}; the first time they are downloaded\n")
    options = [word for name in missing for word in ("--start", name)]
    log = programs.start("servers", [*words, "lab", "servers", *options], os.environ)

    def addresses() -> dict[str, str]:
        lines = [line for line in log.read_text().splitlines() if " answers at " in line]
        return {VARIABLES[line.partition(" ")[0]]: line.rpartition(" ")[2] for line in lines}

    programs.wait(("servers",), "the servers did not start", lambda: len(addresses()) == len(missing), START_S)
    return addresses()


def _commands(programs: Programs, environment: Mapping[str, str], settings: Settings) -> None:
    service = [sys.executable, "-m", "search_service"]
    for words in (("setup",), ("load", "--products", str(PRODUCTS), "--seed-only")):
        done = subprocess.run(  # noqa: S603 - our own commands
            [*service, *words], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ServiceError(*reason_of(done.stderr.splitlines()))
    programs.start("indexer", [*service, "indexer"], environment)
    programs.start("api", [*service, "api"], environment)

    def is_found() -> bool:
        try:
            answer = httpx.get(
                f"http://{HOST}:{settings.api_port}/v1/search",
                headers={"Authorization": f"Bearer {min(settings.tokens)}"},
            )
        except httpx.TransportError:
            return False
        return answer.status_code == 200 and answer.json()["total"] >= PRODUCTS

    # Both end by themselves if a setting is wrong.
    names = ("indexer", "api")
    programs.wait(names, "the first products cannot be searched", is_found, READY_S)


def _say(programs: Programs, environment: Mapping[str, str], settings: Settings) -> None:
    names = [name for name in environment if name.startswith("SEARCH_")]
    kept = programs.folder / "settings"
    kept.touch(mode=0o600)
    kept.write_text("".join(f"export {name}={shlex.quote(environment[name])}\n" for name in sorted(names)))
    place = os.path.relpath(programs.folder)
    sys.stdout.write(
        f"The search service answers at http://127.0.0.1:{settings.api_port} with {PRODUCTS} products.\n"
        f"Its addresses and its token: . {place}/settings\n"
        f"Its logs: {place}/*.log\n"
        "End it: make down\n"
    )


def main() -> int:
    """Run; an error is one sentence and a hint, and status 2."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("up", "down"))
    parser.add_argument("--folder", type=Path, default=Path("run"), help="of logs and addresses (run)")
    parser.add_argument("--engine", choices=ENGINES, default=ENGINES[0], help="the search engine to start (opensearch)")
    arguments = parser.parse_args()
    programs = Programs(arguments.folder.absolute())
    for number in ENDING:
        signal.signal(number, interrupt)
    try:
        if arguments.action == "up":
            up(programs, arguments.engine)
        else:
            ended = programs.end()
            sys.stdout.write(f"ended: {', '.join(ended)}\n" if ended else "nothing was running\n")
    except ServiceError as error:
        sys.stderr.write(f"error: {error.sentence}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
