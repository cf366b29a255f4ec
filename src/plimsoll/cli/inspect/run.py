"""Run `plimsoll inspect`: observe a database, find what causes its reads and writes, and print it."""

from msgspec import Struct

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.inspect import NO_CEILING, inspect_for_diagnosis, inspect_observation
from plimsoll.app.moments import seconds_of
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.read import read_target
from plimsoll.app.toast_samples import decode_seconds, with_samples
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.output import Output
from plimsoll.cli.waiting import TERMINAL
from plimsoll.cli.watching import observed
from plimsoll.errors import UsageError
from plimsoll.model.cause import Inspection


class InspectOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    duration: str
    poolers: tuple[str, ...]
    decode_toast: str | None
    target: str | None
    output: Output


def run_inspect(dsn: str | None, flags: InstanceOptions, read_options: ReadOptions, options: InspectOptions) -> int:
    """
    Observe a database, find what causes its reads and writes, and print it.

    Returns:
        Exit status: 0 nothing above a note, 1 something critical or a warning, 2 unknown.
    """
    target = options.target
    seconds = seconds_of(options.duration, "--for")
    sampled_s = decode_seconds(options.decode_toast)
    if not dsn:
        raise UsageError(
            "no database was given", "Give a DSN, for example 'host=db1 dbname=orders', or set PLIMSOLL_DSN."
        )
    if target is None and (flags != InstanceOptions() or read_options != ReadOptions()):
        raise UsageError(
            "options of an instance or a window need --against",
            "Give --against rds:NAME or a snapshot, or leave out --class, --last and the like.",
        )
    snapshot = None if target is None else read_target(target, flags, read_options, TERMINAL)
    diagnosis = None if snapshot is None else diagnose_snapshot(snapshot)
    observation = observed(dsn, seconds, options.poolers)
    if sampled_s is not None:
        with ended_like_ctrl_c():
            observation = with_samples(dsn, observation, sampled_s)
    if snapshot is None or diagnosis is None:
        found = inspect_observation(observation, NO_CEILING)
    else:
        found = inspect_for_diagnosis(diagnosis, observation, snapshot.credit_clock)
    options.output.write(found, "inspection")
    return status_of(found)


def status_of(found: Inspection) -> int:
    """Return the exit status: 1 for a critical cause or a warning, 2 if the verdict is unknown, else 0."""
    if any(cause.severity in {"critical", "warning"} for cause in found.causes):
        return 1
    return 2 if any(gap.hides == "verdict" for gap in found.missing) else 0
