"""
Where the servers of an experiment keep their data, and whether this machine has room for them.

An experiment's data are needed for minutes. In memory they do not depend on this machine's disk, whose pauses of a
tenth of a second would be minutes of emulated time.
"""

import os
import shutil
from pathlib import Path

from plimsoll.errors import UsageError
from plimsoll.units import format_bytes
from plimsoll_lab.gate.class_group import host_memory_bytes
from plimsoll_lab.gate.place import disk_folder

_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - an experiment makes a folder of its own in it


def data_folder(data_bytes: int, server_bytes: int) -> Path:
    """
    Return the folder in which an experiment makes its own: in memory if there is enough, else on a disk.

    A folder that TMPDIR names is used in any case.

    Args:
        data_bytes: what the servers write, bytes.
        server_bytes: the memory that the servers themselves take, bytes.

    Raises:
        UsageError: there is too little memory for the servers, or too little space for their data.
    """
    available = host_memory_bytes("MemAvailable")
    if available < server_bytes:
        raise UsageError(
            f"only {format_bytes(available)} of memory are available, and the servers of this experiment take "
            f"{format_bytes(server_bytes)}",
            "End other programs, or use a machine with more memory.",
        )
    folder = disk_folder()
    in_memory = _free(_IN_MEMORY) >= data_bytes and available >= server_bytes + data_bytes
    if in_memory and not os.environ.get("TMPDIR"):
        return _IN_MEMORY
    if _free(folder) < data_bytes:
        raise UsageError(
            f"only {format_bytes(_free(folder))} are free in '{folder}', and this experiment writes "
            f"{format_bytes(data_bytes)}",
            "Set TMPDIR to a folder on a larger disk.",
        )
    return folder


def _free(folder: Path) -> int:
    """Return the bytes that may be written to a folder; 0 if it cannot be written to."""
    if not os.access(folder, os.W_OK):
        return 0
    return shutil.disk_usage(folder).free
