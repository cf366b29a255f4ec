"""
Parse what captures of sysstat's programs share: numbers, steps, devices.

Rule 1: text that is not a number, or a negative number, is NaN.
Rule 2: a sample covers one step. A sample of a much longer or shorter time (the machine slept, or someone
        ran the collector by hand) is dropped with a gap, never spread or cut.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from plimsoll.errors import UsageError
from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray, Series
from plimsoll.model.snapshot import Gap
from plimsoll.sources.sysstat.dates import DATE, Date
from plimsoll.sources.values.shown import shown

AUTO = "auto"

# sar without -p, or run on another machine, names devices by number: devMAJOR-MINOR. These major numbers
# are fixed (Linux docs, admin-guide/devices.txt): 1 memory, 2 floppy, 7 loop, 11 optical, 9 RAID.
_NOT_DISKS = ("loop", "ram", "zram", "sr", "fd", "nbd", "dev1-", "dev2-", "dev7-", "dev11-")
_STACKED = ("dm-", "md", "dev9-")
_NUMBERED = re.compile(r"^dev\d+-\d+$")
_MOST_LISTED = 12

FIRST_LINES = 20
"""Lines within which a capture must be recognised; a login message of its host may come first."""

_HEADER = re.compile(
    rf"^Linux \S+ \((?P<host>[^)]*)\)\s+(?P<date>{DATE}|\S+)(?:\s+\S.*?)?"
    r"(?:\s*\((?P<cpus>\d{1,6}) CPU\))?\s*$"
)
# A longer line is not the first line of a capture, and matching it would take long.
_LONGEST_HEADER = 500
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_VALUE = re.compile(r"^\d+(?:[.,]\d+)?$")
# -h and --human print 17.1M in a column of kB/s: three digits and a unit of 1,024 (iostat(1), sar(1)).
_HUMAN = re.compile(r"^(\d+(?:[.,]\d+)?)([BkMGTP%])$")
_KB_OF = {"B": 1 / 1024, "k": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3, "P": 1024.0**4}

CUT = Gap(
    metric="end of the capture",
    reason="it ends in the middle of a report; complete reports are used",
    remedy="Give the capture a count, so that it ends by itself.",
)
ROUNDED = Gap(
    metric="rates", reason="the capture has rounded numbers of three digits (-h, --human)", remedy="Capture without -h."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line of output of iostat and sar."""

    host: str | None
    cpu_count: int | None
    date: Date | None
    """Start date of a run; None if its form is unknown."""
    written: str
    """The date as written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """The devices of a capture that are used."""

    names: tuple[str, ...]
    """One or more names; their rates are added."""
    disk_count: int
    """Number of whole disks in the capture."""
    is_busiest: bool
    """Whether the device was chosen for the most bytes, not named."""

    @property
    def label(self) -> str:
        """Devices for reports: `device sda (busiest of 2)`, `devices sda, sdb`."""
        plural = "s" if len(self.names) > 1 else ""
        of = f" (busiest of {self.disk_count})" if self.is_busiest and self.disk_count > 1 else ""
        return f"device{plural} {', '.join(shown(name) for name in self.names)}{of}"

    @property
    def volume_count(self) -> int | None:
        """Number of devices; None if one consists of others (LVM, RAID), whose number is unknown."""
        return None if any(n.startswith(_STACKED) for n in self.names) else len(self.names)


def header_of(line: str) -> Header | None:
    """Parse the first line of a run; None for any other line."""
    if not line.startswith("Linux ") or len(line) > _LONGEST_HEADER:
        return None
    match = _HEADER.match(line)
    if match is None:
        return None
    cpus = match["cpus"]
    return Header(
        host=shown(match["host"], 63) or None,
        cpu_count=int(cpus) or None if cpus else None,
        date=(match[3], match[4], match[5], match[6]) if match[3] else None,
        written=shown(match["date"]),
    )


def choose_devices(moved_bytes: Mapping[str, float], asked: str | None, where: str) -> Devices:
    """
    Return the devices to use.

    Args:
        moved_bytes: total amount read and written by every device of the capture, in any unit.
        asked: `auto` or None for the busiest whole disk, or names separated by commas, with or
            without `/dev/`.
        where: names the capture in messages.

    Raises:
        UsageError: the capture has no device of this name, or no name was given.
    """
    disks = [n for n in moved_bytes if not _is_no_disk(n) and not _is_part(n, moved_bytes)]
    disks = disks or list(moved_bytes)
    if asked is not None and asked.strip() != AUTO:
        named = dict.fromkeys(n for n in (part.strip() for part in asked.split(",")) if n)
        names = tuple(dict.fromkeys(name.removeprefix("/dev/") for name in named))
        if not names:
            raise UsageError("no device was named", "Use --device auto, or a name, for example nvme1n1.")
        for name in names:
            if name not in moved_bytes:
                raise UsageError(f"device '{shown(name)}' is not in {where}", _listing(moved_bytes))
        return Devices(names=names, disk_count=len(disks), is_busiest=False)
    # Devices on top of a disk (dm-0, md0) move the same bytes, so prefer the disk in a tie.
    busiest = max(disks, key=lambda n: (moved_bytes[n], not n.startswith(_STACKED), n))
    return Devices(names=(busiest,), disk_count=len(disks), is_busiest=True)


def _is_no_disk(name: str) -> bool:
    return name.startswith(_NOT_DISKS)


def _is_part(name: str, names: Mapping[str, float]) -> bool:
    stem = name.rstrip("0123456789")
    return stem != name and (stem in names or (stem.endswith("p") and stem[:-1] in names))


def _listing(names: Mapping[str, float]) -> str:
    first = ", ".join(shown(name) for name in sorted(names)[:_MOST_LISTED])
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    numbered = all(_NUMBERED.match(name) for name in names)
    how = "; 'ls -l /dev' shows both numbers of devMAJOR-MINOR" if numbered else ""
    return f"It has {first or 'none'}{more}{how}."


def is_one_step(length_s: int, step_s: int) -> bool:
    """
    Return whether a report of `length_s` seconds covers one step.

    Times are whole seconds, so a step may appear one second too long.
    """
    return 2 * length_s >= step_s and 0 < length_s <= step_s + max(1, step_s // 2)


def usual_length_s(lengths_s: Sequence[int]) -> int | None:
    """Return the median of the lengths above zero; None if there is none."""
    lengths = np.array(lengths_s, dtype=np.int64)
    lengths = lengths[lengths > 0]
    return int(np.median(lengths)) if lengths.size else None


def series_of(columns: Mapping[Metric, FloatArray], start_s: Sequence[int], step_s: int) -> dict[Metric, Series]:
    """
    Return the series of all columns that have a value.

    Args:
        columns: values, shape (n,); NaN if missing.
        start_s: start of each sample, epoch seconds, increasing, shape (n,).
        step_s: length of every sample, > 0.
    """
    time_s = np.array(start_s, dtype=np.int64)
    return {
        metric: Series(metric=metric, step_s=step_s, time_s=time_s, value=value)
        for metric, value in columns.items()
        if not np.isnan(value).all()
    }


def lines_of(data: bytes) -> tuple[list[str], bool]:
    """
    Return the lines of a capture without colours, and whether its last line was cut.

    A line without a line break may lack digits of a number, so it is dropped.
    """
    text = _COLOUR.sub("", data.decode(errors="replace"))
    lines = text.splitlines()
    if not text or text.endswith(("\n", "\r")) or not lines[-1].strip():
        return lines, False
    return lines[:-1], True


def value_of(word: object, column: str = "") -> float:
    """
    Parse a number as sysstat prints it in text or JSON; NaN for anything else.

    Args:
        word: `17.10`, `17,10`, `17.1M`, or a JSON number.
        column: name of its column; a unit in the word is converted to the column's kB or MB.
    """
    if isinstance(word, str):
        if not word.isascii():
            return nan
        if _VALUE.match(word):
            return float(word.replace(",", ".")) if len(word) < 30 else nan
        human = _HUMAN.match(word)
        if human is None or "sec" in column or len(word) > 30:
            return nan
        number = float(human[1].replace(",", "."))
        return number if human[2] == "%" else number * _KB_OF[human[2]] / _per_kb(column)
    if isinstance(word, (int, float)) and not isinstance(word, bool) and 0 <= word < 1e18:
        return float(word)
    return nan


def is_human(word: str) -> bool:
    """Return whether a word is a number in the rounded form of -h."""
    return word[-1:].isalpha() and _HUMAN.match(word) is not None


def _per_kb(column: str) -> float:
    return 1024.0 if "MB" in column else 1.0


def time_gaps(*, has_zone: bool, is_ambiguous: bool, remedy: str) -> list[Gap]:
    """Return gaps for unknown facts about a capture's times; `remedy` is the capture that has them."""
    gaps = []
    if not has_zone:
        gaps.append(
            Gap(metric="time zone", reason="the capture does not state it; its times are taken as UTC", remedy=remedy)
        )
    if is_ambiguous:
        gaps.append(
            Gap(
                metric="date",
                reason="the order of day and month is unknown; the month is taken as first",
                remedy=remedy,
            )
        )
    return gaps
