"""`plimsoll lint`: find mistakes in a configuration file."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import WIDTH_OF_PAIRS, Output, output_options
from plimsoll.errors import UsageError


class PoolerName(StrEnum):
    """Poolers whose configuration can be checked."""

    PGPOOL = "pgpool"
    PGBOUNCER = "pgbouncer"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    group = typer.Typer(
        help="Find mistakes in a configuration file.",
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    group.callback()(_group)
    group.command("pooler")(expand(pooler, output=output_options(WIDTH_OF_PAIRS)))
    app.add_typer(group, name="lint")


def _group() -> None:
    """Find mistakes in a configuration file."""


def pooler(
    config: Annotated[
        Path, typer.Argument(metavar="FILE", help="Configuration: pgpool.conf or pgbouncer.ini.")
    ],
    *,
    output: Output,
    version: Annotated[
        str | None,
        typer.Option(
            "--version", metavar="VERSION", help="Version of the pooler, for example 4.1.3."
        ),
    ] = None,
    max_connections: Annotated[
        int | None,
        typer.Option(
            "--max-connections",
            metavar="N",
            min=1,
            help="max_connections of the server behind the pooler.",
        ),
    ] = None,
    reserved: Annotated[
        int,
        typer.Option(
            "--reserved",
            metavar="N",
            min=0,
            help="Number of these connections that are reserved for superusers.",
        ),
    ] = 3,
    kind: Annotated[
        PoolerName | None,
        typer.Option(
            "--kind",
            metavar="NAME",
            help="The pooler, pgpool or pgbouncer (default: by the settings in the file).",
        ),
    ] = None,
) -> None:
    """
    Check the settings of PgBouncer or Pgpool-II against the known faults of their releases.

    Exit status: 0 nothing above a note, 1 a warning or worse, 2 bad input.
    """
    from plimsoll.catalog.load import catalog
    from plimsoll.lint.pooler import ServerRoom, lint, unknown_of
    from plimsoll.model.lint import PoolerFindings
    from plimsoll.sources.pooler.config import read_pooler_config

    if version is not None and not re.fullmatch(r"\d{1,4}(\.\d{1,4}){1,3}", version):
        raise UsageError(
            f"--version '{version}' is not a version number", "Write it as 4.1.3 or 1.21.0."
        )
    found = read_pooler_config(config, kind=kind, version=version)
    room = ServerRoom(connection_max=max_connections, reserved=reserved)
    findings = PoolerFindings(
        config=found, causes=lint(found, catalog(), room), notes=unknown_of(found, room)
    )
    output.write(findings)
    raise typer.Exit(1 if any(c.severity != "note" for c in findings.causes) else 0)
