"""
The formatter as a pipeline of programs: an object of S3 goes in, rows and quarantined lines come out.

Rule 1: nothing is written to a disk of ours here; both outputs are pipes.
Rule 2: the end of an output is believed only when every program ended well. A truncated stream is an error, no end.
Rule 3: who fails first is believed. The programs are ended then, and what fails because of that says nothing.
"""

import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Any, Self

import msgspec

from claims_pipeline.database.merge import Counts, Work
from claims_pipeline.errors import ClaimsError
from claims_pipeline.programs import check, fetch_command, program_of, with_keys
from claims_pipeline.settings import Settings

LINGER_S = 10.0


class Formatting:
    """One file being formatted; use it in a `with` block."""

    def __init__(self, settings: Settings, work: Work, source: IO[bytes] | None, key: str) -> None:
        """Prepare; `source` is an open file with the raw records, None to read the object `key`."""
        self._settings, self._work, self._source, self._key = settings, work, source, key
        self._programs: list[subprocess.Popen[bytes]] = []
        self._names: list[str] = []
        self._summary = b""
        self._reading: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._checking = threading.Lock()

    def __enter__(self) -> Self:
        """Start the programs."""
        source: Any = self._source
        if source is None:
            sha256 = self._work.file.sha256
            fetch = self._start("claims-fetch", fetch_command(self._settings, self._key, sha256))
            source = fetch.stdout
        lines, lines_in = os.pipe()
        summary, summary_in = os.pipe()
        work, manifest = self._work, self._work.manifest
        command = [program_of(self._settings, "claims-format"), "--kind", work.file.kind]
        command += ["--organisation", manifest.organisation, "--file", work.file.name]
        command += ["--file-id", str(work.file_id), "--quarantine", f"/dev/fd/{lines_in}"]
        command += ["--summary", f"/dev/fd/{summary_in}"]
        try:
            formatter = self._start("claims-format", command, source, (lines_in, summary_in))
        finally:
            os.close(lines_in)
            os.close(summary_in)
            if self._source is None:
                source.close()
        assert formatter.stdout is not None
        self.rows: IO[bytes] = _Whole(formatter.stdout, self._check)  # type: ignore[assignment]
        self.lines: IO[bytes] = _Whole(os.fdopen(lines, "rb"), self._check)  # type: ignore[assignment]
        self._reading = threading.Thread(target=self._read_summary, args=(os.fdopen(summary, "rb"),))
        self._reading.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """End the programs if they still run."""
        if exception[0]:
            self._end()
        for stream in (self.rows, self.lines):
            stream.close()
        for program in self._programs:
            with suppress(subprocess.TimeoutExpired):
                program.wait(LINGER_S)
            program.kill()
            program.wait()
            if program.stderr is not None:
                program.stderr.close()
        if self._reading is not None:
            self._reading.join()

    def read(self, rows: Callable[[IO[bytes]], object], lines: Callable[[IO[bytes]], object]) -> Counts:
        """
        Read both outputs at the same time, and return what the formatter counted.

        Args:
            rows: reads the rows to their end.
            lines: reads the quarantined lines to their end, in a thread of its own.

        Raises:
            ClaimsError: a program failed.
            BaseException: what `rows` or `lines` raised, whichever was first.
        """
        with ThreadPoolExecutor(1) as other:
            reading = other.submit(self._read_or_end, lines, self.lines)
            self._read_or_end(rows, self.rows)
            reading.result()
        self._check()
        assert self._reading is not None
        self._reading.join()
        return msgspec.json.decode(self._summary, type=Counts)

    def _read_or_end(self, read: Callable[[IO[bytes]], object], stream: IO[bytes]) -> None:
        try:
            read(stream)
        except BaseException as error:
            # An output that nobody reads fills its pipe. The formatter waits then, and so does who reads the other one.
            self._failure = self._failure or error
            self._end()
            raise

    def _end(self) -> None:
        """Kill the programs, so that whoever reads an output comes to its end."""
        for program in self._programs:
            program.kill()

    def _start(
        self, name: str, command: Sequence[str], source: Any = None, keep: Sequence[int] = ()
    ) -> "subprocess.Popen[bytes]":
        program = subprocess.Popen(  # noqa: S603 - our own programs
            command,
            stdin=subprocess.DEVNULL if source is None else source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=keep,
            env=with_keys(),
        )
        self._programs.append(program)
        self._names.append(name)
        return program

    def _check(self) -> None:
        """Wait for the programs; raise the first failure, the same one for both outputs."""
        with self._checking:
            try:
                check(self._names, self._programs)
            except ClaimsError as error:
                self._failure = self._failure or error
        if self._failure is not None:
            raise self._failure

    def _read_summary(self, stream: IO[bytes]) -> None:
        with stream:
            self._summary = stream.read()


class _Whole:
    """A stream whose end is an error unless the programs behind it ended well."""

    def __init__(self, stream: IO[bytes], check_end: Callable[[], None]) -> None:
        self._stream, self._check_end = stream, check_end

    def read(self, length: int) -> bytes:
        """Return the next bytes, fewer than asked for at the end only."""
        found = self._stream.read(length)
        if len(found) < length:
            self._check_end()
        return found

    def close(self) -> None:
        """Close the stream; a program that still writes to it ends."""
        self._stream.close()
