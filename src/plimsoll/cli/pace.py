"""`plimsoll pace`: find how fast a batch may go now, and hold it to that rate."""

import errno
import re
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from plimsoll.app.moments import seconds_of
from plimsoll.app.options import InstanceOptions, Option, PaceTarget, ReadOptions
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.option_groups import expand, typed
from plimsoll.cli.options import ACCESS
from plimsoll.cli.output import Output, output_options
from plimsoll.cli.progress import TERMINAL, progress_while
from plimsoll.cli.streams import OutputError, ReaderGone
from plimsoll.errors import UsageError
from plimsoll.load.pace.law.terms import RESERVE_RATIO, PaceTerms, check_terms
from plimsoll.units import format_bytes, format_bytes_per_s

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.load.pace.pace import Pace

TERMS_PANEL = "Terms"
LOOPBACK = "127.0.0.1"
# The port of freno is 9777. Another one, so that both can run on a machine.
PORT = 9779


class TermsOptions(Struct, frozen=True, kw_only=True):
    """What a batch leaves to others, and until when it has to be done."""

    reserve: Annotated[int, Option("--reserve PERCENT", TERMS_PANEL, min=0, max=99)] = round(100 * RESERVE_RATIO)
    """Credits that stay in every bucket, 0 to 99."""
    finish_within: Annotated[str | None, Option("--finish-within TIME", TERMS_PANEL)] = None
    """Spend the credits above the reserve evenly until then, for example 1h (default: over 30 min)."""

    def terms(self) -> PaceTerms:
        """
        Return the terms, whose time begins now.

        Raises:
            UsageError: not a time, or terms that are not possible.
        """
        within = self.finish_within
        deadline_s = None if within is None else time.time() + seconds_of(within, "--finish-within")
        return check_terms(PaceTerms(reserve_ratio=self.reserve / 100, deadline_s=deadline_s))


class PaceOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    target: Annotated[str, Option("TARGET", envvar="PLIMSOLL_TARGET")]
    """rds:NAME, prom:URL, a recorded snapshot, or a file or folder of exported metrics."""
    dsn: Annotated[str | None, Option("--dsn DSN", envvar="PLIMSOLL_DSN")] = None
    """
    PostgreSQL server that the batch loads, for example 'host=db1 dbname=orders user=etl': its counters are read once a
    second (default: metrics alone).
    """
    is_pipe: Annotated[bool, Option("--cat")] = False
    """Copy standard input to standard output at that rate, unchanged."""
    listen: Annotated[str | None, Option("--listen [HOST:]PORT")] = None
    """
    Answer HTTP requests as freno does, until Ctrl-C: /check/APP/TYPE/NAME gives 200 (go on) or 429 (wait). The host is
    127.0.0.1 unless you give another.
    """
    deny: Annotated[tuple[str, ...], Option("--deny APP")] = ()
    """With --listen: answer this app with 417. Repeatable."""
    instance: InstanceOptions
    read: Annotated[ReadOptions, ACCESS]
    terms: TermsOptions
    output: Annotated[Output, output_options()]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("pace")(expand(pace))


def pace(options: PaceOptions) -> None:
    """
    Find how fast a batch may go now, and hold it to that rate.

    The rate is the baseline, plus the credits above the reserve over the time left, minus what others take, at
    every limit of the storage. Without recent metrics it is half of the baseline.

    Exit status: 0 done, 2 bad input.
    """
    wanted = PaceTarget(target=options.target, instance=options.instance, read_options=options.read, dsn=options.dsn)
    terms = options.terms.terms()
    if options.is_pipe and options.listen is not None:
        raise UsageError("--cat and --listen cannot be used together", "Leave one of them out.")
    if options.deny and options.listen is None:
        raise UsageError("--deny needs --listen", "Add --listen, for example --listen 9779.")
    if options.is_pipe or options.listen is not None:
        _refuse_report("--cat" if options.is_pipe else "--listen", options.output)
    if options.listen is not None:
        _serve(wanted, terms, options.listen, options.deny)
    elif options.is_pipe:
        _cat(wanted, terms)
    else:
        from plimsoll.app.pace import pace_report

        options.output.write(pace_report(wanted, terms, TERMINAL), "allowance")


def _refuse_report(way: str, output: Output) -> None:
    """Refuse options of a report where none is made."""
    names = [word for field in output.__struct_fields__ for word in typed(output, field)[:1]]
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


def _serve(target: PaceTarget, terms: PaceTerms, listen: str, denied: Sequence[str]) -> None:
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
