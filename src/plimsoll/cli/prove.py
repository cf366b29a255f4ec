"""`plimsoll prove`: show on a server what is claimed of it."""

from typing import Annotated

import msgspec
import typer

from plimsoll.app.toast_samples import decode_seconds
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.output import Form, Format, Html, WideWidth, show, write_page
from plimsoll.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    group = typer.Typer(
        help="Show on a server what is claimed of it.",
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    group.callback()(_group)
    group.command("toast")(toast)
    app.add_typer(group, name="prove")


def _group() -> None:
    """Show on a server what is claimed of it."""


def toast(
    dsn: Annotated[
        str,
        typer.Argument(
            envvar="PLIMSOLL_DSN",
            show_envvar=True,
            help="A PostgreSQL server, as 'host=… dbname=… user=…'.",
        ),
    ],
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            help="Also send values again on a scratch copy of up to 20 rows of this table.",
        ),
    ] = None,
    decode: Annotated[
        str | None,
        typer.Option(
            "--decode",
            metavar="TIME",
            help="Also watch updates of the table by logical decoding, for at most 60 s or 64 MiB of "
            "WAL. Makes a temporary replication slot, and drops it.",
        ),
    ] = None,
    form: Form = Format.TEXT,
    width: WideWidth = None,
    html: Html = None,
) -> None:
    """
    Show that sending an unchanged value again writes it again.

    In a scratch schema, inside one transaction that is rolled back: rows, dead rows, WAL and buffers of
    every way to write a value out of line, by statement, size, storage and compression.
    """
    from plimsoll.sources.postgres.prove_toast import prove_toast
    from plimsoll.sources.postgres.sample_toast import sample_toast

    seconds = decode_seconds(decode, "--decode")
    if seconds is not None and table is None:
        raise UsageError(
            "--decode needs --table", "Name the table whose updates are to be watched."
        )
    with ended_like_ctrl_c():
        proof = prove_toast(dsn, table=table)
        if seconds is not None and table is not None:
            sample = sample_toast(dsn, table, seconds=seconds)
            notes = () if sample else (f"no update of {table} was seen while it was watched",)
            proof = msgspec.structs.replace(proof, sample=sample, notes=proof.notes + notes)
    show(proof, form, width)
    if html is not None:
        write_page(proof, html)
