"""Parse, dispatch, exit status. Every command lives in its own file."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, NoReturn

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
COMMANDS = (
    "diagnose",
    "inspect",
    "compare",
    "limits",
    "record",
    "catalog",
    "gate",
    "lab",
    "sweep",
    "prices",
    "plan",
    "explain",
    "lint",
    "pool_size",
    "prove",
)


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


# What the parser raises for a command line that cannot be: the root of the one that typer exports.
_ParseError: type[typer.BadParameter] = next(
    c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException"
)


def main() -> None:
    """
    Run the command line.

    Exit status: 2 bad input, or could not tell; 0 and 1 as the command says: 1 where something
    binds, or where the later side of a comparison is the worse one.
    """
    try:
        status = app(standalone_mode=False)
    except _ParseError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            sys.exit(2)
        command = getattr(getattr(error, "ctx", None), "command_path", "plimsoll")
        message = error.format_message().rstrip(".")
        _fail(message[:1].lower() + message[1:], f"See '{command} --help'.")
    except PlimsollError as error:
        _fail(error.message, error.hint)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201
        sys.exit(130)
    except typer.Abort:
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str, hint: str) -> NoReturn:
    """One sentence for the cause, one for the remedy, and exit status 2."""
    print(f"error: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    if hint:
        print(f"hint: {hint}", file=sys.stderr)  # noqa: T201
    sys.exit(2)
