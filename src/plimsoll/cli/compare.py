"""`plimsoll compare`: read two windows, compare them and print the comparison."""

from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import asdict, replace

from plimsoll.app.options import InstanceOptions, Option, ReadOptions, Split
from plimsoll.app.targets import Target, target_of
from plimsoll.cli.option_groups import OptionGroup, expand
from plimsoll.cli.options import BOUGHT, INSTANCE, READ
from plimsoll.cli.output import OutputOfPairs
from plimsoll.cli.progress import TERMINAL

_OF_SIDE = BOUGHT.without("engine")


class CompareOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    before: Annotated[Target, Option("BEFORE", parse=target_of)]
    """Target, as for diagnose. A single target is split into windows."""
    after: Annotated[Target | None, Option("[AFTER]", parse=target_of)] = None
    """Target to compare it with, of any kind."""
    split: Split
    common: Annotated[InstanceOptions, INSTANCE.only("identifier", "instance_file", "engine")]
    of_a: Annotated[InstanceOptions, _OF_SIDE._replace(suffix="-a", panel="Instance before")]
    of_b: Annotated[InstanceOptions, _OF_SIDE._replace(suffix="-b", panel="Instance after")]
    read: Annotated[ReadOptions, READ.without("counts")]
    output: Annotated[OutputOfPairs, OptionGroup(OutputOfPairs)]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("compare")(expand(compare))


def compare(options: CompareOptions) -> int:
    """
    Compare two windows: limits, throughput, latency, headroom.

    Exit status: 0 the second is not worse, 1 it is worse (a heavier verdict, or more time at a ceiling), 2
    unknown or bad input.
    """
    from plimsoll.app.compare import compare_snapshots, read_sides
    from plimsoll.cli.next_command import plan_after
    from plimsoll.model.comparison import LimitsOutcome, StepResult

    targets, read = (options.before, options.after), options.read
    sides = _of_side(options.common, options.of_a), _of_side(options.common, options.of_b)
    snapshots = read_sides(targets, options.split, sides, read, TERMINAL)
    comparison = compare_snapshots(*snapshots)
    if comparison.step is StepResult.NOT_ENOUGH:
        following = plan_after(snapshots[1], targets[1] or targets[0], sides[1], read)
        if following is not None:
            comparison = replace(comparison, next_command=following.command, next_where=following.where)
    options.output.write(comparison, "comparison")
    return {LimitsOutcome.WORSE: 1, LimitsOutcome.UNKNOWN: 2}.get(comparison.outcome, 0)


def _of_side(common: InstanceOptions, side: InstanceOptions) -> InstanceOptions:
    """Return the options of both sides with those of one side applied."""
    return replace(common, **{name: value for name, value in asdict(side).items() if value is not None})
