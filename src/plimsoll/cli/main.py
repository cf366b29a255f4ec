"""Parse, dispatch, exit status. Every command lives in its own file."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer

from plimsoll import __version__
from plimsoll.errors import PlimsollError

app = typer.Typer(
    name="plimsoll",
    help="Finds the limit a managed database is up against, and proves it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# One module per command; each declares its options and calls `register(app)`.
COMMANDS = ("diagnose", "limits", "record", "catalog")


@app.callback(invoke_without_command=True)
def _version(
    *, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if version:
        typer.echo(f"plimsoll {__version__}")
        raise typer.Exit


for _name in COMMANDS:
    _register: Callable[[typer.Typer], None] = import_module(f"plimsoll.cli.{_name}").register
    _register(app)


def main() -> None:
    """
    Run the command line.

    Exit status: 0 nothing binds, 1 something binds, 2 could not tell or bad input.
    """
    try:
        app(standalone_mode=True)
    except PlimsollError as error:
        print(f"error: {error.message}", file=sys.stderr)  # noqa: T201
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)
