"""Options that `plimsoll gate` and `plimsoll lab` share: what is emulated."""

from typing import Annotated

import typer

EMULATION = "What is emulated"

WithCpu = Annotated[
    bool,
    typer.Option(
        "--with-cpu",
        help="Also limit CPU and memory to those of the class (cgroup v2).",
        rich_help_panel=EMULATION,
    ),
]
