"""The list of commands, and how one of them is called. Every command lives in its own file."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated

import typer

from plimsoll import __version__
from plimsoll.errors import PlimsollError, UsageError

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


def run(arguments: Sequence[str]) -> int:
    """
    Run one command line, and return its exit status.

    Args:
        arguments: without the name of the program.

    Raises:
        PlimsollError: bad input, a command line that cannot be, or output that was not taken.
        KeyboardInterrupt: Ctrl-C, where the command does not end by it.
    """
    # typer's own way to run a command would turn a lost reader into status 1, which is a verdict.
    command = typer.main.get_command(app)
    try:
        with command.make_context("plimsoll", list(arguments)) as context:
            result = command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except _ParseError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            return 2
        raise _told(error) from error
    return result if isinstance(result, int) else 0


def _told(error: typer.BadParameter) -> PlimsollError:
    command = getattr(getattr(error, "ctx", None), "command_path", "plimsoll")
    message = error.format_message().rstrip(".")
    return UsageError(message[:1].lower() + message[1:], f"See '{command} --help'.")
