"""`plimsoll mcp`: serve the tools of the Model Context Protocol to an assistant."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from plimsoll.app.moments import seconds_of
from plimsoll.app.options import Option
from plimsoll.cli.option_groups import expand
from plimsoll.errors import ExtraMissing, UsageError

_DEFAULT_TIMEOUT = "55s"
"""Clients wait for a minute by default, and then say less than we do."""


class McpOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    root: Annotated[Path, Option("--root DIR", shows_default=False)] = Path()
    """Folder with snapshots and metrics. Nothing outside it is read (default: this folder)."""
    live: Annotated[tuple[str, ...], Option("--live TARGET")] = ()
    """
    Also let the assistant read this live target: rds:NAME, a pattern such as rds:'orders-*', or prom:URL. Repeatable.
    """
    dsn: Annotated[str | None, Option("--dsn DSN", envvar="PLIMSOLL_DSN")] = None
    """
    Database that 'inspect' may watch; the role needs pg_monitor. Keep a password in PLIMSOLL_DSN, PGPASSWORD or
    ~/.pgpass.
    """
    timeout: Annotated[str, Option("--timeout TIME")] = _DEFAULT_TIMEOUT
    """Longest time of one call, for example 2m."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("mcp")(expand(mcp))


def mcp(options: McpOptions) -> None:
    """
    Let an assistant use Plimsoll: tools that read, over standard input and output (MCP).

    A client such as an editor or a desktop assistant starts this command; its tools are diagnose, plan,
    inspect, limits and compare. They change nothing, run no SQL of the assistant, and return no secret.

    Exit status: 0 when the client has closed its side, 2 for bad input, 130 for Ctrl-C.
    """
    from plimsoll.mcp.root import terms_of

    timeout_s = seconds_of(options.timeout, "--timeout")
    terms = terms_of(options.root, options.live, options.dsn)
    try:
        from plimsoll.mcp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"mcp", "mcp_types", "anyio"}:
            raise
        raise ExtraMissing.naming("an assistant's server", "mcp") from error
    if sys.stdin.isatty():
        raise UsageError(
            "an assistant speaks to this command over standard input, but this is a terminal",
            "Add the command to your client: 'plimsoll docs use-from-an-assistant' shows how.",
        )
    serve(terms, timeout_s)
