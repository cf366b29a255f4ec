"""`plimsoll lint`: what is wrong with a configuration, from the file alone."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from plimsoll.cli.output import Form, Format, Html, WideWidth, show, write_page
from plimsoll.errors import UsageError


class Kind(StrEnum):
    """Whose configuration it is."""

    PGPOOL = "pgpool"
    PGBOUNCER = "pgbouncer"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    group = typer.Typer(
        help="Find what is wrong with a configuration, from the file alone.",
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    group.callback()(_group)
    group.command("pooler")(pooler)
    app.add_typer(group, name="lint")


def _group() -> None:
    """Find what is wrong with a configuration, from the file alone."""


def pooler(
    config: Annotated[Path, typer.Argument(help="pgpool.conf or pgbouncer.ini.")],
    version: Annotated[
        str | None,
        typer.Option("--version", metavar="V", help="Version of the pooler, as 4.1.3."),
    ] = None,
    max_connections: Annotated[
        int | None,
        typer.Option("--max-connections", min=1, help="max_connections of the server behind it."),
    ] = None,
    reserved: Annotated[
        int,
        typer.Option(
            "--reserved", min=0, help="Connections of these that are reserved for superusers."
        ),
    ] = 3,
    kind: Annotated[
        Kind | None, typer.Option("--kind", help="Whose file it is, where it does not tell.")
    ] = None,
    form: Form = Format.TEXT,
    width: WideWidth = None,
    html: Html = None,
) -> None:
    """
    Check the settings of PgBouncer or Pgpool-II against what is known of their releases.

    Exit status: 0 nothing above a note, 1 a warning or worse, 2 bad input.
    """
    from plimsoll.catalog.load import catalog
    from plimsoll.lint.pooler import ServerRoom, lint, unknown_of
    from plimsoll.model.lint import PoolerFindings
    from plimsoll.sources.pooler.config import read_pooler_config

    if version is not None and not re.fullmatch(r"\d{1,4}(\.\d{1,4}){1,3}", version):
        raise UsageError(f"version '{version}' is not one", "Write it as 4.1.3 or 1.21.0.")
    found = read_pooler_config(config, kind=kind, version=version)
    room = ServerRoom(connection_max=max_connections, reserved=reserved)
    findings = PoolerFindings(
        config=found, causes=lint(found, catalog(), room), notes=unknown_of(found, room)
    )
    show(findings, form, width)
    if html is not None:
        write_page(findings, html)
    raise typer.Exit(1 if any(c.severity != "note" for c in findings.causes) else 0)
