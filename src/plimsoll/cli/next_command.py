"""
Build the commands that a report prints for the next step, complete, so that they can be copied and run.

Rule 1: every printed `plimsoll plan` and `compare` is built here, with the given target, window and flags.
Rule 2: secrets are not printed.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.plan import SHORT_WINDOW, could_plan, in_region, shows_a_day
from plimsoll.app.targets import LIVE, Files, Prometheus, Target
from plimsoll.cli.option_groups import typed
from plimsoll.model.instance import Instance
from plimsoll.model.plan import AFTER, MOMENT
from plimsoll.model.shell import command_line
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import MIB, format_time

# Prices differ by region. A printed command must run, so it names a region for the reader to replace.
_SOME_REGION = "us-east-1"
# The name of a tenant is no secret (Grafana Mimir docs, X-Scope-OrgID); any other header may hold one.
PUBLIC_HEADERS = ("x-scope-orgid",)
_WINDOW = ("last", "since", "until")
_ACCESS = ("profile", "region", "role_arn")
_SERIES = ("match", "headers")
_BOUGHT = ("db_class", "storage", "size_gib", "iops", "throughput_mibps")


def plan_command(
    target: Target, flags: InstanceOptions, read_options: ReadOptions, *, keeps_window: bool = True
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
    if not _can_be_typed(target, read_options):
        return None
    if not keeps_window and not isinstance(target, LIVE):
        return None
    read = typed(read_options, *(_WINDOW if keeps_window else ()), *_ACCESS, *_SERIES, "counts", "max_api_calls")
    return command_line(["plimsoll", "plan", str(target), *typed(flags), *read])


def check_command(
    target: Target, flags: InstanceOptions, read_options: ReadOptions, *, before: Instance, after: Instance
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
    if not _can_be_typed(target, read_options):
        return ""
    if isinstance(target, LIVE):
        parts = ["plimsoll", "compare", str(target), "--at", MOMENT, *typed(_bought(before, _BOUGHT), suffix="-a")]
        parts += typed(flags, "identifier", "instance_file", "engine")
        return command_line([*parts, *typed(read_options, *_ACCESS, *_SERIES, "max_api_calls")])
    given = [name for name in _BOUGHT if getattr(flags, name) is not None]
    parts = ["plimsoll", "compare", str(target), AFTER]
    for suffix, instance in (("-a", before), ("-b", after)):
        parts += typed(_bought(instance, given), suffix=suffix)
    return command_line([*parts, *typed(flags, "identifier", "engine")])


def _bought(instance: Instance, names: Iterable[str]) -> InstanceOptions:
    """Return class and storage of an instance as options; those that are not named are left out."""
    storage = instance.storage
    rate = storage.provisioned_bytes_per_s
    bought = {
        "db_class": instance.db_class,
        "storage": storage.kind,
        "size_gib": storage.size_gib,
        "iops": storage.provisioned_ops_per_s,
        "throughput_mibps": None if rate is None else rate / MIB,
    }
    return InstanceOptions(**{name: bought[name] for name in names})  # type: ignore[arg-type]


class PlanCommand(Struct, frozen=True, kw_only=True):
    """A command that plans, and what the reader must replace in it."""

    command: str
    where: str
    """`, with the prices of your region in place of us-east-1`; empty if nothing must be replaced."""


def answerable_plan(
    snapshot: Snapshot, target: Target, flags: InstanceOptions, read_options: ReadOptions, *, keeps_window: bool = True
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
    if not could_plan(in_region(snapshot, target, known)):
        return None
    command = plan_command(target, flags, known, keeps_window=keeps_window)
    if command is None:
        return None
    where = "" if placed else f", with the prices of your region in place of {_SOME_REGION}"
    return PlanCommand(command=command, where=where)


def plan_after(
    snapshot: Snapshot, target: Target, flags: InstanceOptions, read_options: ReadOptions
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


def _can_be_typed(target: Target, read_options: ReadOptions) -> bool:
    """Return whether a target can be read again, and neither the headers nor the address hold a secret."""
    headers = (header.partition(":")[0].strip().lower() for header in read_options.headers)
    if any(name not in PUBLIC_HEADERS for name in headers):
        return False
    match target:
        case Files():
            return not target.is_standard_input
        case Prometheus():
            return "@" not in urlsplit(target.url).netloc
    return True
