"""Run `plimsoll compare`: read two windows, compare them and print the comparison."""

from msgspec.structs import replace

from plimsoll.app.compare import compare_snapshots
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.sides import Split, read_sides
from plimsoll.cli.next_command import plan_after
from plimsoll.cli.output import Output
from plimsoll.cli.waiting import TERMINAL
from plimsoll.model.comparison import LimitsOutcome, StepResult

EXIT = {LimitsOutcome.BETTER: 0, LimitsOutcome.SAME: 0, LimitsOutcome.WORSE: 1, LimitsOutcome.UNKNOWN: 2}


def run_compare(
    targets: tuple[str, str | None],
    split: Split,
    flags: tuple[InstanceOptions, InstanceOptions],
    read_options: ReadOptions,
    *,
    output: Output,
) -> int:
    """
    Read both sides, compare them and print the comparison.

    Returns:
        Exit status: 0 the second window is not worse, 1 it is worse, 2 unknown.
    """
    snapshots = read_sides(targets, split, flags, read_options, TERMINAL)
    comparison = compare_snapshots(*snapshots)
    if comparison.step is StepResult.NOT_ENOUGH:
        following = plan_after(snapshots[1], targets[1] or targets[0], flags[1], read_options)
        if following is not None:
            comparison = replace(comparison, next_command=following.command, next_where=following.where)
    output.write(comparison, "comparison")
    return EXIT[comparison.outcome]
