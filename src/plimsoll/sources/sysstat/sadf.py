"""
sysstat's binary files (/var/log/sysstat/saDD, /var/log/sa/saDD) through the installed sadf.

Their form changes from version to version and only sysstat itself reads it all, so its own program
does, as a child with a time limit. Files of older versions are first converted by `sadf -c`.
Source: sa.h of sysstat 12.7.9 (SYSSTAT_MAGIC, FORMAT_MAGIC); sadf(1).
"""

import os
import platform
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

from plimsoll.errors import DataError, SourceError
from plimsoll.model.snapshot import Gap
from plimsoll.sources.files.bounds import MAX_BYTES
from plimsoll.sources.values.shown import shown

ACTIVITIES = ("-d", "-b", "-u", "-r", "-S", "-q", "-n", "DEV")
"""What is taken of a file: disks, their totals, processors, memory, swap, load, network."""

_HOW = (
    f"Run 'sadf -j FILE -- {' '.join(ACTIVITIES)}' on the host that wrote it, and give its output."
)
# The first four bytes of a binary file, and the forms that sadf of today reads or converts.
_MAGIC = 0xD596
_FORMATS = range(0x2100, 0x2200)
# A day of samples every second takes sadf a few seconds; a year of them a few minutes.
_PATIENCE_S = 300.0
_CHUNK_BYTES = 1 << 20


def is_sysstat_file(head: bytes) -> bool:
    """Return whether a file that begins so is one of sysstat's, from a machine of either byte order."""
    little = [int.from_bytes(head[at : at + 2], "little") for at in (0, 2)]
    big = [int.from_bytes(head[at : at + 2], "big") for at in (0, 2)]
    return any(magic == _MAGIC and form in _FORMATS for magic, form in (little, big))


def json_of_file(data: bytes, where: str) -> tuple[bytes, Gap | None]:
    """
    Return what sadf says of a binary file, and what it complained of although it read some.

    Args:
        data: the file's content.
        where: names the file in messages.

    Raises:
        SourceError: sadf is not installed, or does not end.
        DataError: sadf does not read this file.
    """
    program = shutil.which("sadf")
    if program is None:
        raise SourceError(f"{where} is a binary file of sysstat, and there is no sadf here", _HOW)
    with tempfile.TemporaryDirectory(prefix="plimsoll-sadf-") as folder:
        file = Path(folder) / "sa"
        file.write_bytes(data)
        status, answer, complaint = _run(program, "-j", str(file), "--", *ACTIVITIES, where=where)
        if status != 0 and "sadf -c" in complaint:
            # sadf tells its progress where it tells its complaints; the first one stays.
            converted, newer, _ = _run(program, "-c", str(file), where=where)
            if converted == 0 and newer:
                file.write_bytes(newer)
                options = ("-j", str(file), "--", *ACTIVITIES)
                status, answer, complaint = _run(program, *options, where=where)
        if status != 0 or not answer.lstrip().startswith(b"{"):
            raise DataError(
                f"sadf cannot read {where}: {_said(complaint) or f'it ended with {status}'}", _HOW
            )
    if not _said(complaint):
        return answer, None
    return answer, Gap(metric="sysstat file", reason=f"sadf said: {_said(complaint)}", remedy=_HOW)


def name_gap(host: str | None) -> Gap | None:
    """
    Return what to think of device names that sadf found on this machine for a file of another.

    Binary files have the numbers of devices; sadf gives them the names they have where it runs.
    """
    if host is None or host == platform.node():
        return None
    return Gap(
        metric="device names",
        reason=f"the file is of {shown(host)}; sadf gave its devices the names they would have here",
        remedy=_HOW,
    )


def _run(program: str, *options: str, where: str) -> tuple[int, bytes, str]:
    """Return status, standard output and standard error of sadf."""
    # Its own words in English, with points in numbers, and no variable that changes its form.
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(  # noqa: S603 - found on the path, given a file of ours
            [program, *options],
            env={**kept, "LC_ALL": "C", "TZ": "UTC", "S_TIME_FORMAT": "ISO"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process,
    ):
        assert process.stdout is not None
        timer = threading.Timer(_PATIENCE_S, process.kill)
        timer.start()
        try:
            parts: list[bytes] = []
            size = 0
            while chunk := process.stdout.read(_CHUNK_BYTES):
                parts.append(chunk)
                size += len(chunk)
                if size > MAX_BYTES:
                    raise DataError(
                        f"{where} is more than 2 GiB as JSON",
                        "Give a part of it: sadf -j -s 08:00:00 -e 10:00:00 FILE.",
                    )
            status = process.wait()
        finally:
            was_late = not timer.is_alive()
            timer.cancel()
            process.kill()
        if was_late:
            raise SourceError(f"sadf did not end within {_PATIENCE_S:.0f} s on {where}", _HOW)
        errors.seek(0)
        return status, b"".join(parts), errors.read(1 << 16).decode(errors="replace")


def _said(complaint: str) -> str:
    """Return the last thing sadf says that is about the file, without the name of our copy."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    kept = [
        line
        for line in lines
        if "plimsoll-sadf-" not in line and not line.startswith(("Try to", "You should", "Please"))
    ]
    whole = kept or (["it is not a system activity file"] if lines else [])
    return shown("; ".join(line[:1].lower() + line[1:] for line in whole[:2]), 200)
