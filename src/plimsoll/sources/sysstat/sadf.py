"""
Read sysstat's binary files (/var/log/sysstat/saDD, /var/log/sa/saDD) with the installed sadf.

Their form changes with every version, and only sysstat itself reads all of it. So sadf runs as a child
process with a time limit. Files of older versions are first converted by `sadf -c`.
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
"""Activities to read: disks, their totals, processors, memory, swap, load, network."""

_HOW = f"Run 'sadf -j FILE -- {' '.join(ACTIVITIES)}' on the host that wrote it, and give its output."
# The first four bytes of a binary file, and the formats that current sadf reads or converts (sa.h).
_MAGIC = 0xD596
_FORMATS = range(0x2100, 0x2200)
# A judgement: sadf takes a few seconds for a day of samples every second, and minutes for a year.
_PATIENCE_S = 300.0
_CHUNK_BYTES = 1 << 20


def is_sysstat_file(head: bytes) -> bool:
    """Return whether the first bytes of a file are sysstat's binary form, in either byte order."""
    little = [int.from_bytes(head[at : at + 2], "little") for at in (0, 2)]
    big = [int.from_bytes(head[at : at + 2], "big") for at in (0, 2)]
    return any(magic == _MAGIC and form in _FORMATS for magic, form in (little, big))


def json_of_file(data: bytes, where: str) -> tuple[bytes, Gap | None]:
    """
    Return sadf's JSON of a binary file, and a gap for an error after which it still read a part.

    Args:
        data: the file's content.
        where: name of the file in messages.

    Raises:
        SourceError: sadf is not installed, or does not end.
        DataError: sadf does not read this file.
    """
    program = shutil.which("sadf")
    if program is None:
        raise SourceError(f"{where} is a binary file of sysstat, but sadf is not installed", _HOW)
    with tempfile.TemporaryDirectory(prefix="plimsoll-sadf-") as folder:
        file = Path(folder) / "sa"
        file.write_bytes(data)
        status, answer, complaint = _run(program, "-j", str(file), "--", *ACTIVITIES, where=where)
        if status != 0 and "sadf -c" in complaint:
            # `sadf -c` prints progress to standard error, so keep the first message.
            converted, newer, _ = _run(program, "-c", str(file), where=where)
            if converted == 0 and newer:
                file.write_bytes(newer)
                options = ("-j", str(file), "--", *ACTIVITIES)
                status, answer, complaint = _run(program, *options, where=where)
        if status != 0 or not answer.lstrip().startswith(b"{"):
            raise DataError(f"sadf cannot read {where}: {_complaint_of(complaint) or f'it ended with {status}'}", _HOW)
    if not _complaint_of(complaint):
        return answer, None
    return answer, Gap(metric="sysstat file", reason=f"sadf reported: {_complaint_of(complaint)}", remedy=_HOW)


def name_gap(host: str | None) -> Gap | None:
    """
    Return a gap for device names that sadf took from this machine for a file of another one.

    Binary files have only device numbers; sadf uses the names of the machine on which it runs.
    """
    if host is None or host == platform.node():
        return None
    return Gap(
        metric="device names",
        reason=f"the file is from {shown(host)}, but sadf used this machine's device names",
        remedy=_HOW,
    )


def _run(program: str, *options: str, where: str) -> tuple[int, bytes, str]:
    """Return status, standard output and standard error of sadf."""
    # Run sadf with English messages and decimal points, and without variables that change its output.
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
                        f"{where} is larger than 2 GiB as JSON",
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


def _complaint_of(complaint: str) -> str:
    """Return sadf's message about the file, without the name of our copy."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    kept = [
        line
        for line in lines
        if "plimsoll-sadf-" not in line and not line.startswith(("Try to", "You should", "Please"))
    ]
    whole = kept or (["it is not a system activity file"] if lines else [])
    return shown("; ".join(line[:1].lower() + line[1:] for line in whole[:2]), 200)
