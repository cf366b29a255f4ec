"""`plimsoll prove`: reproduce a claimed effect on a server."""

from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace

from plimsoll.app.options import Option
from plimsoll.app.toast_samples import decode_seconds
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import WIDTH_OF_PAIRS, Output, output_options
from plimsoll.errors import UsageError


class ToastOptions(Struct, frozen=True, kw_only=True):
    """The options of `prove toast`."""

    dsn: Annotated[str, Option("DSN", envvar="PLIMSOLL_DSN")]
    """PostgreSQL server, for example 'host=db1 dbname=orders user=dba'."""
    table: Annotated[str | None, Option("--table NAME")] = None
    """Also measure on a scratch copy of up to 20 rows of this table."""
    decode: Annotated[str | None, Option("--decode TIME")] = None
    """
    Also watch updates of the table by logical decoding, for at most 60 s or 64 MiB of WAL. Creates a temporary
    replication slot, and drops it.
    """
    output: Annotated[Output, output_options(WIDTH_OF_PAIRS)]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    group = typer.Typer(
        help="Reproduce a claimed effect on your server.",
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    group.callback()(_group)
    group.command("toast")(expand(toast))
    app.add_typer(group, name="prove")


def _group() -> None:
    """Reproduce a claimed effect on your server."""


def toast(options: ToastOptions) -> None:
    """
    Show that an update with an unchanged TOAST value writes the value again.

    Plimsoll works in a scratch schema, inside one transaction that it rolls back. It measures rows, dead rows,
    WAL and buffers by statement, size of the value, storage and compression.
    """
    from plimsoll.sources.postgres.prove_toast import prove_toast
    from plimsoll.sources.postgres.sample_toast import sample_toast

    dsn, table = options.dsn, options.table
    seconds = decode_seconds(options.decode, "--decode")
    if seconds is not None and table is None:
        raise UsageError("--decode needs --table", "Name the table whose updates to watch.")
    with ended_like_ctrl_c():
        proof = prove_toast(dsn, table=table)
        if seconds is not None and table is not None:
            sample = sample_toast(dsn, table, seconds=seconds)
            notes = () if sample else (f"no update of {table} was seen while decoding",)
            proof = replace(proof, sample=sample, notes=proof.notes + notes)
    options.output.write(proof)
