"""What inside the database, or its pooler, makes it read and write: observed, found, printed."""

from msgspec import Struct

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.inspect import NO_CEILING, found_for_diagnosis, found_in
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


def run_inspect(
    dsn: str | None, flags: InstanceOptions, reach: ReadOptions, wanted: InspectOptions
) -> int:
    """
    Observe a database, find what makes it read and write, and print it.

    Returns:
        Exit status: 0 nothing above a note, 1 something critical or a warning, 2 could not tell.
    """
    target = wanted.target
    seconds = seconds_of(wanted.duration, "--for")
    sampled_s = decode_seconds(wanted.decode_toast)
    if not dsn:
        raise UsageError(
            "no database is named", "Give a DSN, as 'host=db1 dbname=orders', or set PLIMSOLL_DSN."
        )
    if target is None and (flags != InstanceOptions() or reach != ReadOptions()):
        raise UsageError(
            "an instance or a window is described, and no --against says of what",
            "Give --against rds:NAME or a snapshot, or leave --class, --last and the like out.",
        )
    snapshot = None if target is None else read_target(target, flags, reach, TERMINAL)
    diagnosis = None if snapshot is None else diagnose_snapshot(snapshot)
    observation = observed(dsn, seconds, wanted.poolers)
    if sampled_s is not None:
        with ended_like_ctrl_c():
            observation = with_samples(dsn, observation, sampled_s)
    if snapshot is None or diagnosis is None:
        found = found_in(observation, NO_CEILING)
    else:
        found = found_for_diagnosis(diagnosis, observation, snapshot.credit_clock)
    wanted.output.write(found, "inspection")
    return status_of(found)


def status_of(found: Inspection) -> int:
    """Return the exit status: 1 where something is to be done, 2 where nothing could be told."""
    if any(cause.severity in {"critical", "warning"} for cause in found.causes):
        return 1
    return 2 if any(gap.hides == "verdict" for gap in found.missing) else 0
