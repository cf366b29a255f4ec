"""Declare the options of `plimsoll compare` that describe the instance on one side."""

from typing import Annotated, Any

import typer

from plimsoll.app.options import InstanceOptions
from plimsoll.cli.option_groups import OptionGroup, SharedOption

# Field, its type, option, metavar, help.
_ROWS: tuple[tuple[str, Any, str, str, str], ...] = (
    ("db_class", str, "--class", "CLASS", "Instance class, for example db.t3.xlarge."),
    ("storage", str, "--storage", "TYPE", "Storage type: gp2, gp3, io1, io2 or standard."),
    ("size_gib", float, "--size-gib", "GIB", "Allocated storage in GiB."),
    ("iops", float, "--iops", "N", "Provisioned IOPS."),
    ("throughput_mibps", float, "--throughput-mibps", "MIBPS", "Provisioned throughput in MiB/s."),
    ("launched", str, "--launched", "DATE", "Launch date, for example 2019-06-01."),
)


def side_options(side: str, panel: str) -> OptionGroup:
    """
    Return the options of one side, which fill an `InstanceOptions`.

    Args:
        side: letter at the end of each option's name, for example the `a` of `--class-a`.
        panel: heading in the help.
    """
    return OptionGroup(
        InstanceOptions,
        {
            field: SharedOption(
                Annotated[
                    kind | None, typer.Option(f"{name}-{side}", metavar=metavar, help=text, rich_help_panel=panel)
                ]
            )
            for field, kind, name, metavar, text in _ROWS
        },
    )


def with_side(common: InstanceOptions, side: InstanceOptions) -> InstanceOptions:
    """Return the options of both sides with those of one side applied."""
    from msgspec.structs import asdict, replace

    given = {name: value for name, value in asdict(side).items() if value is not None}
    return replace(common, **given)
