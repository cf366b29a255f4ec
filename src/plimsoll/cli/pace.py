"""`plimsoll pace`: find how fast a batch may go now, and hold it to that rate."""

import errno
import re
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from plimsoll.app.moments import seconds_of
from plimsoll.app.options import InstanceOptions, PaceTarget, ReadOptions
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.option_groups import OptionGroup, SharedOption, expand
from plimsoll.cli.options import INSTANCE, READ
from plimsoll.cli.output import Output, output_options
from plimsoll.cli.streams import OutputError, ReaderGone
from plimsoll.cli.waiting import TERMINAL, progress_while
from plimsoll.errors import UsageError
from plimsoll.load.pace.law.terms import RESERVE_RATIO, PaceTerms, check_terms
from plimsoll.units import format_bytes, format_bytes_per_s

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.load.pace.pace import Pace

TERMS_PANEL = "Terms"
LOOPBACK = "127.0.0.1"
# The port of freno is 9777. Another one, so that both can run on a machine.
PORT = 9779

PaceDsn = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        metavar="DSN",
        envvar="PLIMSOLL_DSN",
        show_envvar=True,
        help="PostgreSQL server that the batch loads, for example 'host=db1 dbname=orders user=etl': its "
        "counters are read once a second (default: metrics alone).",
    ),
]


def _terms(reserve: int, finish_within: str | None) -> PaceTerms:
    deadline_s = None if finish_within is None else time.time() + seconds_of(finish_within, "--finish-within")
    return check_terms(PaceTerms(reserve_ratio=reserve / 100, deadline_s=deadline_s))


TERMS = OptionGroup(
    _terms,
    {
        "reserve": SharedOption(
            Annotated[
                int,
                typer.Option(
                    "--reserve",
                    metavar="PERCENT",
                    min=0,
                    max=99,
                    help="Credits that stay in every bucket, 0 to 99.",
                    rich_help_panel=TERMS_PANEL,
                ),
            ],
            round(100 * RESERVE_RATIO),
        ),
        "finish_within": SharedOption(
            Annotated[
                str | None,
                typer.Option(
                    "--finish-within",
                    metavar="TIME",
                    help="Spend the credits above the reserve evenly until then, for example 1h "
                    "(default: over 30 min).",
                    rich_help_panel=TERMS_PANEL,
                ),
            ]
        ),
    },
)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command = expand(
        pace,
        flags=INSTANCE,
        read_options=READ.without("last", "since", "until", "counts"),
        terms=TERMS,
        output=output_options(),
    )
    app.command("pace")(command)


def pace(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            envvar="PLIMSOLL_TARGET",
            show_envvar=True,
            help="rds:NAME, prom:URL, a recorded snapshot, or a file or folder of exported metrics.",
        ),
    ],
    *,
    flags: InstanceOptions,
    read_options: ReadOptions,
    terms: PaceTerms,
    output: Output,
    dsn: PaceDsn = None,
    is_pipe: Annotated[
        bool, typer.Option("--cat", help="Copy standard input to standard output at that rate, unchanged.")
    ] = False,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="[HOST:]PORT",
            help="Answer HTTP requests as freno does, until Ctrl-C: /check/APP/TYPE/NAME gives 200 (go on) or "
            f"429 (wait). The host is {LOOPBACK} unless you give another.",
        ),
    ] = None,
    deny: Annotated[
        list[str] | None,
        typer.Option("--deny", metavar="APP", help="With --listen: answer this app with 417. Repeatable."),
    ] = None,
) -> None:
    """
    Find how fast a batch may go now, and hold it to that rate.

    The rate is the baseline, plus the credits above the reserve over the time left, minus what others take, at
    every limit of the storage. Without recent metrics it is half of the baseline.

    Exit status: 0 done, 2 bad input.
    """
    wanted = PaceTarget(target=target, instance=flags, read_options=read_options, dsn=dsn)
    if is_pipe and listen is not None:
        raise UsageError("--cat and --listen cannot be used together", "Leave one of them out.")
    if deny and listen is None:
        raise UsageError("--deny needs --listen", "Add --listen, for example --listen 9779.")
    if is_pipe or listen is not None:
        _refuse_report("--cat" if is_pipe else "--listen", output)
    if listen is not None:
        _serve(wanted, terms, listen, deny or [])
    elif is_pipe:
        _cat(wanted, terms)
    else:
        from plimsoll.app.pace import pace_report

        output.write(pace_report(wanted, terms, TERMINAL), "allowance")


def _refuse_report(way: str, output: Output) -> None:
    """Refuse options of a report where none is made."""
    given = {"--format": output.format_given, "-o": output.file, "--html": output.html, "--width": output.width}
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise UsageError(
            f"{way} makes no report, so {', '.join(names)} cannot be used with it",
            f"Leave out {way} for the report, or the others.",
        )


def address_of(text: str) -> tuple[str, int]:
    """
    Return host and port of `9779`, `127.0.0.1:9779` or `[::1]:9779`.

    Raises:
        UsageError: not an address.
    """
    found = re.fullmatch(r"(?:(?P<host>[\w.-]+|\[[0-9A-Fa-f:]+\]):)?(?P<port>\d{1,5})", text.strip())
    if found is None or int(found["port"]) > 65_535:
        raise UsageError(f"--listen '{text}' is not an address", f"Write it as {PORT} or {LOOPBACK}:{PORT}.")
    return (found["host"] or LOOPBACK).strip("[]"), int(found["port"])


def _serve(target: PaceTarget, terms: PaceTerms, listen: str, denied: list[str]) -> None:
    from plimsoll.app.pace import named_pace
    from plimsoll.load.pace.http import CheckServer

    host, port = address_of(listen)
    with ended_like_ctrl_c():
        found, name = named_pace(target, terms, TERMINAL)
        server = CheckServer(found, store=name, denied=denied, host=host, port=port)
        try:
            with found:
                server.start()
                print(  # noqa: T201
                    f"listening on http://{server.address}/check/APP/TYPE/{name}", flush=True
                )
                with progress_while(lambda: _line(found)):
                    _until_ctrl_c()
        finally:
            server.close()


def _until_ctrl_c() -> None:
    while True:
        time.sleep(3600)


def _cat(target: PaceTarget, terms: PaceTerms) -> None:
    from plimsoll.app.pace import named_pace
    from plimsoll.load.pace.pipe import copy_paced

    if sys.stdin is None:
        # Its number may be that of another file by now.
        raise UsageError("standard input is closed", "Send the batch through a pipe to plimsoll pace --cat.")
    with ended_like_ctrl_c():
        found, _ = named_pace(target, terms, TERMINAL)
        with found, progress_while(lambda: _line(found)):
            try:
                copied = copy_paced(found, from_fd=0, to_fd=1)
            except OSError as error:
                if error.errno in (errno.EPIPE, errno.ECONNRESET):
                    raise ReaderGone("the reader of standard output has gone") from error
                reason = (error.strerror or str(error)).lower()
                raise OutputError(f"unable to copy standard input: {reason}", "Check both ends of the pipe.") from error
        if sys.stderr.isatty():
            sys.stderr.write(f"{format_bytes(copied)} copied\n")


def _line(found: "Pace") -> str:
    now = found.allowance()
    sent = format_bytes(found.sent_bytes)
    why = f"; {now.notes[0]}" if now.notes else ""
    return f"{sent} sent, {format_bytes_per_s(now.bytes_per_s, 3)} allowed{why}"
