"""
Build the commands that a report prints for the next step, complete, so that they can be copied and run.

Rule 1: every printed `plimsoll plan` and `compare` is built here, with the given target, window and flags.
Rule 2: secrets are not printed.
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

# Prices differ by region. A printed command must run, so it names a region for the reader to replace.
_SOME_REGION = "us-east-1"
# The name of a tenant is no secret (Grafana Mimir docs, X-Scope-OrgID); any other header may hold one.
PUBLIC_HEADERS = ("x-scope-orgid",)
_INSTANCE_OPTIONS = {
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
_READ_OPTIONS = {
    "last": "--last",
    "since": "--from",
    "until": "--to",
    "profile": "--profile",
    "region": "--region",
    "role_arn": "--role",
}
_BOUGHT = ("db_class", "storage", "size_gib", "iops", "throughput_mibps")
_SEVERAL = {"match": "--match", "headers": "--header", "counts": "--counts"}


def plan_command(
    target: str, flags: InstanceOptions, read_options: ReadOptions, *, keeps_window: bool = True
) -> str | None:
    """
    Return the command that plans for a diagnosed target; None if the target cannot be read again.

    Args:
        target: target of the command line.
        flags: instance options of the command line.
        read_options: window and access of the command line.
        keeps_window: False for a window that is too short for a plan; a live target is then read for
            the default window of `plan`.
    """
    if target == STANDARD_INPUT or not _has_no_secret(target, read_options):
        return None
    parts = ["plimsoll", "plan", target, *_given(_INSTANCE_OPTIONS, flags)]
    window = dict(_READ_OPTIONS)
    if not keeps_window:
        if not is_live(target):
            return None
        for name in ("last", "since", "until"):
            del window[name]
    parts += [*_given(window, read_options), *_repeated(_SEVERAL, read_options)]
    return command_line(parts)


def check_command(
    target: str, flags: InstanceOptions, read_options: ReadOptions, *, before: Instance, after: Instance
) -> str:
    """
    Return the command that compares the days around a step; empty if the target cannot be read again.

    The command reads a live target on both sides of `MOMENT`; it compares a file with another, `AFTER`.

    Args:
        target: target of the command line.
        flags: instance options of the command line.
        read_options: window and access of the command line.
        before: the instance as it is now: after the change a live source no longer knows it.
        after: the instance after the step; the command repeats for it the options that were typed.
    """
    if target == STANDARD_INPUT or not _has_no_secret(target, read_options):
        return ""
    access = {name: _READ_OPTIONS[name] for name in ("profile", "region", "role_arn")}
    several = {name: _SEVERAL[name] for name in ("match", "headers")}
    if is_live(target):
        parts = ["plimsoll", "compare", target, "--at", MOMENT, *_side("a", before, _BOUGHT)]
        common = {name: _INSTANCE_OPTIONS[name] for name in ("identifier", "instance_file", "engine")}
        parts += [*_given(common, flags), *_given(access, read_options), *_repeated(several, read_options)]
        return command_line(parts)
    typed = [name for name in _BOUGHT if getattr(flags, name) is not None]
    parts = ["plimsoll", "compare", target, AFTER]
    parts += [*_side("a", before, typed), *_side("b", after, typed)]
    common = {name: _INSTANCE_OPTIONS[name] for name in ("identifier", "engine")}
    return command_line([*parts, *_given(common, flags)])


def _side(side: str, instance: Instance, names: Iterable[str]) -> Iterator[str]:
    """Yield class and storage as options of one side of a comparison: `--class-a db.t3.xlarge`."""
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
            yield f"{_INSTANCE_OPTIONS[name]}-{side}"
            yield f"{value:.12g}" if isinstance(value, float) else str(value)


class PlanCommand(Struct, frozen=True, kw_only=True):
    """A command that plans, and what the reader must replace in it."""

    command: str
    where: str
    """`, with the prices of your region in place of us-east-1`; empty if nothing must be replaced."""


def answerable_plan(
    snapshot: Snapshot, target: str, flags: InstanceOptions, read_options: ReadOptions, *, keeps_window: bool = True
) -> PlanCommand | None:
    """
    Return the command that plans for a snapshot; None if the plan could not answer.

    A plan needs a known instance, a region, and a target that can be read again.

    Args:
        snapshot: what was read.
        target: as for `plan_command`; likewise `flags`, `read_options` and `keeps_window`.
    """
    placed = snapshot.instance.region is not None or read_options.region is not None
    known = read_options if placed else replace(read_options, region=_SOME_REGION)
    if not could_plan(snapshot, target, known):
        return None
    command = plan_command(target, flags, known, keeps_window=keeps_window)
    if command is None:
        return None
    where = "" if placed else f", with the prices of your region in place of {_SOME_REGION}"
    return PlanCommand(command=command, where=where)


def plan_after(
    snapshot: Snapshot, target: str, flags: InstanceOptions, read_options: ReadOptions
) -> PlanCommand | None:
    """
    Return the command that plans a further step from the window after a step; None if it could not answer.

    Args:
        snapshot: the window after the step; the command uses nothing older.
        target: as for `plan_command`; likewise `flags` and `read_options`.
    """
    if snapshot.window_s is None:
        return None
    since, until = (format_time(moment) for moment in snapshot.window_s)
    found = answerable_plan(snapshot, target, flags, replace(read_options, last=None, since=since, until=until))
    if found is None or shows_a_day(snapshot):
        return found
    return replace(found, command=f"{found.command} --allow {SHORT_WINDOW}")


def _given(names: dict[str, str], given: InstanceOptions | ReadOptions) -> Iterator[str]:
    for name, option in names.items():
        value = getattr(given, name)
        if value is not None:
            yield option
            yield f"{value:.12g}" if isinstance(value, float) else str(value)


def _repeated(names: dict[str, str], read_options: ReadOptions) -> Iterator[str]:
    for name, option in names.items():
        for value in getattr(read_options, name):
            yield option
            yield str(value)
    if read_options.max_api_calls != ReadOptions().max_api_calls:
        yield "--max-api-calls"
        yield str(read_options.max_api_calls)


def _has_no_secret(target: str, read_options: ReadOptions) -> bool:
    """Return whether neither the headers nor the address hold a secret."""
    headers = (header.partition(":")[0].strip().lower() for header in read_options.headers)
    if any(name not in PUBLIC_HEADERS for name in headers):
        return False
    return not target.startswith(PROMETHEUS) or "@" not in urlsplit(target[5:]).netloc
