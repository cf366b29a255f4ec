"""
The command that a report prints for the next step, complete: it can be copied and runs as it stands.

Rule 1: every printed `plimsoll plan` and `compare` is made here, with the target, the window and the flags that were given.
Rule 2: a secret that was typed once is not printed.
"""

import shlex
from collections.abc import Iterator
from urllib.parse import urlsplit

from plimsoll.cli.targets import PROMETHEUS, RDS, STANDARD_INPUT, Reach
from plimsoll.cli.wire import InstanceFlags
from plimsoll.model.instance import Instance
from plimsoll.units import MIB

# What a tenant is called is no secret; what else stands in a header may be one.
_OPEN_HEADERS = ("x-scope-orgid",)
_OF_FLAGS = {
    "identifier": "--identifier",
    "instance_file": "--instance",
    "db_class": "--class",
    "engine": "--engine",
    "storage": "--storage",
    "size_gib": "--size-gib",
    "iops": "--iops",
    "throughput_mibps": "--throughput-mibps",
    "launched": "--launched",
}
_OF_REACH = {
    "last": "--last",
    "since": "--from",
    "until": "--to",
    "profile": "--profile",
    "region": "--region",
}
MOMENT = "MOMENT"
"""What stands in a command for the time of a change."""
_SEVERAL = {"match": "--match", "headers": "--header", "beside": "--beside"}


def plan_command(
    target: str, flags: InstanceFlags, reach: Reach, *, keeps_window: bool = True
) -> str | None:
    """
    Return the command that plans what was diagnosed; None where it could not be run again.

    Args:
        target: as it was given.
        flags: as they were given.
        reach: as it was given.
        keeps_window: False for a window that is too short to plan for; a live target is then read
            for as long as `plan` reads it.
    """
    if target == STANDARD_INPUT or not _is_open(target, reach):
        return None
    parts = ["plimsoll", "plan", target, *_given(_OF_FLAGS, flags)]
    window = dict(_OF_REACH)
    if not keeps_window:
        if not is_live(target):
            return None
        for name in ("last", "since", "until"):
            del window[name]
    parts += [*_given(window, reach), *_repeated(_SEVERAL, reach)]
    return shlex.join(parts)


def check_command(target: str, flags: InstanceFlags, reach: Reach, before: Instance) -> str:
    """
    Return the command that compares the days around a change; empty for what is not read live.

    Args:
        target: as it was given.
        flags: as they were given.
        reach: as it was given.
        before: the instance as it is now: after the change a source no longer knows it.
    """
    if not is_live(target) or not _is_open(target, reach):
        return ""
    parts = ["plimsoll", "compare", target, "--at", MOMENT]
    storage = before.storage
    rate = storage.provisioned_bytes_per_s
    was = {
        "--class-a": before.db_class,
        "--storage-a": storage.kind,
        "--size-gib-a": storage.size_gib,
        "--iops-a": storage.provisioned_ops_per_s,
        "--throughput-mibps-a": None if rate is None else rate / MIB,
    }
    for option, value in was.items():
        if value is not None:
            parts += [option, f"{value:.12g}" if isinstance(value, float) else str(value)]
    common = {name: _OF_FLAGS[name] for name in ("identifier", "instance_file", "engine")}
    access = {name: _OF_REACH[name] for name in ("profile", "region")}
    several = {name: _SEVERAL[name] for name in ("match", "headers")}
    parts += [*_given(common, flags), *_given(access, reach), *_repeated(several, reach)]
    return shlex.join(parts)


def is_live(target: str) -> bool:
    """Return whether the target is read for a window up to now."""
    return target.startswith((RDS, PROMETHEUS))


def _given(names: dict[str, str], given: InstanceFlags | Reach) -> Iterator[str]:
    for name, option in names.items():
        value = getattr(given, name)
        if value is not None:
            yield option
            yield f"{value:.12g}" if isinstance(value, float) else str(value)


def _repeated(names: dict[str, str], reach: Reach) -> Iterator[str]:
    for name, option in names.items():
        for value in getattr(reach, name):
            yield option
            yield str(value)
    if reach.max_api_calls != Reach().max_api_calls:
        yield "--max-api-calls"
        yield str(reach.max_api_calls)


def _is_open(target: str, reach: Reach) -> bool:
    """Whether nothing in it is a secret."""
    headers = (header.partition(":")[0].strip().lower() for header in reach.headers)
    if any(name not in _OPEN_HEADERS for name in headers):
        return False
    return not target.startswith(PROMETHEUS) or "@" not in urlsplit(target[5:]).netloc
