"""
Whatever a command is pointed at: `rds:NAME`, `prom:URL`, or a file or folder. One reader each.

A live target is read for a window, the last day unless told otherwise; a file is read whole, and
cut to a window only if one is asked for.
"""

from pathlib import Path

import msgspec
from msgspec import Struct

from plimsoll.cli.moments import window_of
from plimsoll.cli.wire import InstanceFlags, with_flags
from plimsoll.errors import DataError, UsageError
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import Snapshot, cut
from plimsoll.units import format_time

RDS = "rds:"
PROMETHEUS = "prom:"
DEFAULT_LAST = "24h"
_WILDCARDS = frozenset("*?[")


class Reach(Struct, frozen=True, kw_only=True):
    """How a target is reached and how far back; None and empty leave it to the defaults."""

    last: str | None = None
    since: str | None = None
    until: str | None = None
    profile: str | None = None
    region: str | None = None
    max_api_calls: int = 1000
    match: tuple[str, ...] = ()
    """`LABEL=VALUE`"""
    headers: tuple[str, ...] = ()
    """`NAME:VALUE`"""


def is_fleet(target: str) -> bool:
    """Whether the target names many instances: `rds:*`, `rds:orders-*`."""
    return target.startswith(RDS) and not _WILDCARDS.isdisjoint(target)


def read_target(target: str, flags: InstanceFlags, reach: Reach | None = None) -> Snapshot:
    """
    The snapshot of a target, with what the flags say about its instance.

    Args:
        target: `rds:NAME`, `prom:URL`, a recorded snapshot, or a file or folder of exported metrics.
        flags: overrides; every given flag wins over the source.
        reach: window and access.

    Raises:
        UsageError: the target does not exist, or a flag is not what it should be.
        SourceError: the source refuses, or does not answer.
        DataError: the target holds nothing that can be read.
    """
    reach = reach or Reach()
    with_flags(Instance(), flags)  # flags that cannot be are refused before anything is asked for
    if is_fleet(target):
        raise UsageError(
            f"'{target}' names many instances where one is needed",
            "Name one, as rds:orders-primary.",
        )
    snapshot = _read_file(target, flags, reach)
    return msgspec.structs.replace(snapshot, instance=with_flags(snapshot.instance, flags))


def _read_file(target: str, flags: InstanceFlags, reach: Reach) -> Snapshot:
    from plimsoll.sources import target as sources

    path = Path(target)
    if not path.exists():
        raise UsageError(
            f"target '{target}' does not exist",
            "Give rds:NAME, prom:URL, a recorded snapshot, or a file or folder of exported metrics.",
        )
    snapshot = sources.read(path, instance_file=flags.instance_file, identifier=flags.identifier)
    start, end = snapshot.window_s or (0, 0)
    # A file may be old: the last hours are the last of what it holds.
    window = window_of(reach.last, reach.since, reach.until, now_s=end, default=None)
    if window is None:
        return snapshot
    found = cut(snapshot, window)
    if snapshot.series and not found.series:
        raise DataError(
            f"'{target}' holds no sample of that window",
            f"It reaches from {format_time(start)} to {format_time(end)}.",
        )
    return found
