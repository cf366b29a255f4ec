"""
The command that a report prints for the next step, complete: it can be copied and runs as it stands.

Rule 1: every printed `plimsoll plan` and `compare` is made here, with the target, the window and the flags that were given.
Rule 2: a secret that was typed once is not printed.
"""

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.plan import SHORT_WINDOW, could_plan, shows_a_day
from plimsoll.app.targets import PROMETHEUS, STANDARD_INPUT, is_live
from plimsoll.model.instance import Instance
from plimsoll.model.plan import AFTER, MOMENT
from plimsoll.model.shell import command_line
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import MIB, format_time

# Prices differ by region; a command that is printed must run, so it names one to be replaced.
_SOME_REGION = "us-east-1"
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
_BOUGHT = ("db_class", "storage", "size_gib", "iops", "throughput_mibps")
_SEVERAL = {"match": "--match", "headers": "--header", "beside": "--beside"}


def plan_command(
    target: str, flags: InstanceOptions, reach: ReadOptions, *, keeps_window: bool = True
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
    return command_line(parts)


def check_command(
    target: str, flags: InstanceOptions, reach: ReadOptions, *, before: Instance, after: Instance
) -> str:
    """
    Return the command that compares the days around a step; empty where it could not run again.

    A live target is read again on both sides of `MOMENT`; a file is compared with another, `AFTER`.

    Args:
        target: as it was given.
        flags: as they were given.
        reach: as it was given.
        before: the instance as it is now: after the change a live source no longer knows it.
        after: the instance after the step; what was typed of the present one is printed of it too.
    """
    if target == STANDARD_INPUT or not _is_open(target, reach):
        return ""
    access = {name: _OF_REACH[name] for name in ("profile", "region")}
    several = {name: _SEVERAL[name] for name in ("match", "headers")}
    if is_live(target):
        parts = ["plimsoll", "compare", target, "--at", MOMENT, *_side("a", before, _BOUGHT)]
        common = {name: _OF_FLAGS[name] for name in ("identifier", "instance_file", "engine")}
        parts += [*_given(common, flags), *_given(access, reach), *_repeated(several, reach)]
        return command_line(parts)
    typed = [name for name in _BOUGHT if getattr(flags, name) is not None]
    parts = ["plimsoll", "compare", target, AFTER]
    parts += [*_side("a", before, typed), *_side("b", after, typed)]
    common = {name: _OF_FLAGS[name] for name in ("identifier", "engine")}
    return command_line([*parts, *_given(common, flags)])


def _side(side: str, instance: Instance, names: Iterable[str]) -> Iterator[str]:
    """Yield what was bought, as options of one side of a comparison: `--class-a db.t3.xlarge`."""
    storage = instance.storage
    rate = storage.provisioned_bytes_per_s
    bought = {
        "db_class": instance.db_class,
        "storage": storage.kind,
        "size_gib": storage.size_gib,
        "iops": storage.provisioned_ops_per_s,
        "throughput_mibps": None if rate is None else rate / MIB,
    }
    for name in names:
        value = bought[name]
        if value is not None:
            yield f"{_OF_FLAGS[name]}-{side}"
            yield f"{value:.12g}" if isinstance(value, float) else str(value)


class PlanCommand(Struct, frozen=True, kw_only=True):
    """A command that plans, and what a reader has to replace in it."""

    command: str
    where: str
    """`, with the prices of your region in place of us-east-1`; empty where nothing is to be replaced."""


def answered_plan(
    snapshot: Snapshot,
    target: str,
    flags: InstanceOptions,
    reach: ReadOptions,
    *,
    keeps_window: bool = True,
) -> PlanCommand | None:
    """
    Return the command that plans for a snapshot; None where it could not answer.

    A plan needs an instance that is known, a region, and something that can be read again.

    Args:
        snapshot: what was read.
        target: as it was given; likewise `flags` and `reach`.
        flags: as for `plan_command`; likewise `reach` and `keeps_window`.
    """
    placed = snapshot.instance.region is not None or reach.region is not None
    known = reach if placed else replace(reach, region=_SOME_REGION)
    if not could_plan(snapshot, target, known):
        return None
    command = plan_command(target, flags, known, keeps_window=keeps_window)
    if command is None:
        return None
    where = "" if placed else f", with the prices of your region in place of {_SOME_REGION}"
    return PlanCommand(command=command, where=where)


def plan_after(
    snapshot: Snapshot, target: str, flags: InstanceOptions, reach: ReadOptions
) -> PlanCommand | None:
    """
    Return the command that plans a further step from the window after one; None as `answered_plan`.

    Args:
        snapshot: the window after the step; nothing older is planned with.
        target: as for `answered_plan`; likewise `flags` and `reach`.
    """
    if snapshot.window_s is None:
        return None
    since, until = (format_time(moment) for moment in snapshot.window_s)
    found = answered_plan(
        snapshot, target, flags, replace(reach, last=None, since=since, until=until)
    )
    if found is None or shows_a_day(snapshot):
        return found
    return replace(found, command=f"{found.command} --allow {SHORT_WINDOW}")


def _given(names: dict[str, str], given: InstanceOptions | ReadOptions) -> Iterator[str]:
    for name, option in names.items():
        value = getattr(given, name)
        if value is not None:
            yield option
            yield f"{value:.12g}" if isinstance(value, float) else str(value)


def _repeated(names: dict[str, str], reach: ReadOptions) -> Iterator[str]:
    for name, option in names.items():
        for value in getattr(reach, name):
            yield option
            yield str(value)
    if reach.max_api_calls != ReadOptions().max_api_calls:
        yield "--max-api-calls"
        yield str(reach.max_api_calls)


def _is_open(target: str, reach: ReadOptions) -> bool:
    """Return whether nothing in it is a secret."""
    headers = (header.partition(":")[0].strip().lower() for header in reach.headers)
    if any(name not in _OPEN_HEADERS for name in headers):
        return False
    return not target.startswith(PROMETHEUS) or "@" not in urlsplit(target[5:]).netloc
