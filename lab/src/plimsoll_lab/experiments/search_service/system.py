"""
Drive the search service from outside: its own commands, its environment variables, its metrics over HTTP.

Rule 1: nothing of the service is imported. It is a program in a folder with a Makefile.
Rule 2: what is started here is ended here, by process id; the kernel ends it if this process is killed (setpriv(1)).
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.error import URLError
from urllib.request import urlopen

import msgspec
from msgspec import Struct

from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.experiments.histogram import CountedBuckets
from plimsoll_lab.experiments.packages import PYTHON
from plimsoll_lab.servers.server import ANSWER_S, HOST, free_ports

# An indexer that is stopped finishes its transaction, which takes seconds at a ceiling.
_END_S = 30.0
# `search_freshness_seconds_bucket{changed="product",le="0.5"} 17.0`
_BUCKET = re.compile(r'^search_freshness_seconds_bucket\{(?:[^}]*,)?le="([^"]+)"\} (\S+)$', re.MULTILINE)
_VALUE = r"^{}(?:\{{[^}}]*\}})? (\S+)$"


class ServiceCounters(Struct, frozen=True, kw_only=True):
    """What the indexer has counted since it was started."""

    read: float
    lag: float
    freshness: CountedBuckets


class SearchService:
    """The programs of the service; use it in a `with` block."""

    def __init__(self, folder: Path, log: Path) -> None:
        """
        Keep where the service is, and where its programs write what they say.

        Raises:
            UsageError: there is no service in the folder.
        """
        if not (folder / "Makefile").is_file() or not (folder / "pyproject.toml").is_file():
            raise UsageError(
                f"there is no search service in '{folder}'",
                "Clone the repository of Plimsoll, which has it in systems/search-service, or name its folder "
                "with --system.",
            )
        self._folder = folder
        self._log = log
        self.environment: dict[str, str] = {}
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        self._port = 0

    def __enter__(self) -> Self:
        """Return the service itself; nothing is started yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all programs."""
        for name in tuple(self._programs):
            self.end(name, signal.SIGKILL)

    def run(self, *words: str) -> str:
        """
        Run one of its commands to its end, and return what it printed.

        Raises:
            SourceError: it failed; the message has its own words.
        """
        with subprocess.Popen(  # noqa: S603 - the service's own command
            self._command(words),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as program:
            try:
                output, errors = program.communicate()
            except BaseException:
                program.kill()
                raise
        if program.returncode:
            raise SourceError(
                f"search-service {words[0]} failed: {(errors.splitlines() or ['it gave no reason'])[0]}",
                "See the README of the search service.",
            )
        return output

    def start_indexer(self, *, is_dirty_tracking: bool) -> None:
        """Start the indexer, in place of one that runs."""
        self.end("indexer", signal.SIGTERM)
        (self._port,) = free_ports(1)
        self.environment["SEARCH_DIRTY_TRACKING"] = "on" if is_dirty_tracking else "off"
        self.environment["SEARCH_METRICS_PORT"] = str(self._port)
        self._start("indexer", "indexer")

    def end_indexer(self) -> None:
        """End the indexer; it finishes its transaction."""
        self.end("indexer", signal.SIGTERM)

    def start_load(self, *options: str) -> None:
        """Start the writer of events; it writes none before `order`."""
        self._start("load", "load", "--no-seed", "--follow", *options)

    def order(self, **order: object) -> None:
        """Give the writer of events an order, for example `rate=40`."""
        line = msgspec.json.encode(order) + b"\n"
        orders = self._programs["load"].stdin
        assert orders is not None
        # A writer that has ended is found by `check`, with its reason.
        with suppress(BrokenPipeError):
            orders.write(line)
            orders.flush()

    def check(self) -> None:
        """
        Check that its programs run.

        Raises:
            SourceError: one has ended; the message has its last line.
        """
        for name, program in self._programs.items():
            if program.poll() is not None:
                lines = [x for x in self._log_of(name).read_text().splitlines() if x.strip()]
                raise SourceError(
                    f"the {name} of the search service ended: {(lines or ['it gave no reason'])[-1]}",
                    "Run the experiment again.",
                )

    def counters(self) -> ServiceCounters | None:
        """Return what the indexer has counted; None while it does not answer."""
        try:
            with urlopen(f"http://{HOST}:{self._port}/metrics", timeout=ANSWER_S) as answer:
                text = answer.read().decode()
        except (URLError, OSError):
            return None
        read, lag = _value(text, "search_events_read_total"), _value(text, "search_lag_events")
        if read is None or lag is None:
            return None
        buckets: dict[float, float] = {}
        for bound, count in _BUCKET.findall(text):
            buckets[float(bound)] = buckets.get(float(bound), 0.0) + float(count)
        freshness = CountedBuckets.of(sorted(buckets.items()))
        return ServiceCounters(read=read, lag=lag, freshness=freshness)

    def end(self, name: str, sign: signal.Signals) -> None:
        """End a program, if it runs."""
        program = self._programs.pop(name, None)
        if program is None:
            return
        if program.stdin is not None:
            # What is left in the pipe is for a program that is ended.
            with suppress(BrokenPipeError):
                program.stdin.close()
        program.send_signal(sign)
        try:
            program.wait(_END_S)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()

    def _start(self, name: str, *words: str) -> None:
        with self._log_of(name).open("ab") as log:
            self._programs[name] = subprocess.Popen(  # noqa: S603 - the service's own command
                self._command(words),
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                # Ctrl-C in the terminal reaches us; we end it.
                start_new_session=True,
            )

    def _log_of(self, name: str) -> Path:
        return self._log.with_name(f"{name}.log")

    def _command(self, words: Sequence[str]) -> list[str]:
        # Of util-linux, which every Debian has; without it a program outlives a killed experiment.
        ends = shutil.which("setpriv")
        with_us = [ends, "--pdeathsig", "KILL", "--"] if ends is not None else []
        return [*with_us, str(self._folder / PYTHON), "-m", "search_service", *words]

    @property
    def _environment(self) -> Mapping[str, str]:
        ours = {k: v for k, v in os.environ.items() if not k.startswith(("SEARCH_", "PYTHON"))}
        return {**ours, **self.environment}


def _value(text: str, name: str) -> float | None:
    """Return the sum of a metric over its labels; None if it is not there."""
    found = re.findall(_VALUE.format(re.escape(name)), text, re.MULTILINE)
    return sum(map(float, found)) if found else None
