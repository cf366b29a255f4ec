"""What live tests know of this machine: its disk, its counters, its variables."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from plimsoll.sources.host.device import choose, look

SECTOR_BYTES = 512

Run = Callable[..., subprocess.CompletedProcess]


def clean_environment() -> dict[str, str]:
    """Our variables without those that would name another database."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG") and name != "PLIMSOLL_DSN"}


def disk_folder() -> tuple[Path, str]:
    """
    A folder to write in whose device is counted on this machine, and that device.

    In a container the file system may be on no counted device; then it is the busiest disk, as
    `--device auto` would say.
    """
    places = [Path(p) for p in ("/var/tmp", ".", "/tmp") if os.access(p, os.W_OK)]
    for place in places:
        found = look(str(place))
        if found.holding is not None:
            return place, found.holding
    return places[0], choose("auto", look(None)).devices[0]


def disk_bytes(text: str, device: str) -> tuple[int, int]:
    """Bytes read and written by a device, out of a copy of /proc/diskstats."""
    fields = next(f for f in map(str.split, text.splitlines()) if f[2] == device)
    return int(fields[5]) * SECTOR_BYTES, int(fields[9]) * SECTOR_BYTES
