"""List the commands, and load and call one of them. Each command has its own file."""

import os
import re
from collections.abc import Iterator, MutableMapping, Sequence
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from plimsoll import __version__
from plimsoll.cli.help import HelpGroup, help_command_of, with_groups
from plimsoll.errors import ExtraMissing, PlimsollError, UsageError
from plimsoll.parts import added

_PROGRAM = "plimsoll"
given_arguments: ContextVar[Sequence[str]] = ContextVar("given_arguments", default=())
"""Of the command that runs, without the name of the program; empty where a program calls the library."""
_COMPLETE = "_PLIMSOLL_COMPLETE"
"""Set by the script of a shell that asks for completions."""


class Place(NamedTuple):
    """Where a command is, and what it is for."""

    module: str
    """Module that declares the options and has `register(app)`."""
    summary: str
    """First sentence of the command's help; the list of commands shows it without loading the command."""


COMMANDS = {
    "diagnose": Place("plimsoll.cli.diagnose.command", "Find the limit that a database is at, and prove it"),
    "plan": Place("plimsoll.cli.plan.command", "Find the cheapest change that lifts the ceiling"),
    "inspect": Place("plimsoll.cli.inspect", "Find what inside a database causes its reads and writes"),
    "compare": Place("plimsoll.cli.compare", "Compare two windows: limits, throughput, latency, headroom"),
    "limits": Place(
        "plimsoll.cli.limits", "Print every documented limit of an instance, and which one binds at each I/O size"
    ),
    "record": Place("plimsoll.cli.record.command", "Save a snapshot that every other command can read"),
    "explain": Place("plimsoll.cli.explain", "Record query plans, and compare them"),
    "lint": Place("plimsoll.cli.lint", "Find mistakes in a configuration file"),
    "pool-size": Place(
        "plimsoll.cli.pool_size", "Check the total of all pools against max_connections and what the machine can run"
    ),
    "prove": Place("plimsoll.cli.prove", "Reproduce a claimed effect on your server"),
    "pace": Place("plimsoll.cli.pace", "Find how fast a batch may go now, and hold it to that rate"),
    "load": Place("plimsoll.cli.load", "Load files into a table within the I/O budget"),
    "rehearse": Place("plimsoll.cli.rehearse", "Find how long a load will take, from a sample of its rows"),
    "watch": Place(
        "plimsoll.cli.watch.command",
        "Watch databases, and tell people once when one nears a limit, reaches it or leaves it",
    ),
    "fleet": Place("plimsoll.cli.fleet", "Rank thousands of databases by their limits, from metrics in files"),
    "alarm": Place(
        "plimsoll.cli.alarm",
        "Print the alarms that would have warned you: what to watch on this instance, and when each would have fired",
    ),
    "catalog": Place("plimsoll.cli.catalog", "Show the documented limits, or compare them with an answer of AWS"),
    "prices": Place("plimsoll.cli.prices", "Show on-demand prices, or read newer ones from AWS"),
    "mcp": Place(
        "plimsoll.cli.mcp", "Let an assistant use Plimsoll: tools that read, over standard input and output (MCP)"
    ),
    "docs": Place(
        "plimsoll.cli.docs", "Read the documentation in the terminal: list its pages, print one, or search them"
    ),
}

# Commands of parts that an extra installs, by name; without it they are in no list.
_OF_EXTRAS = {"gate": "lab", "lab": "lab", "sweep": "lab"}


@cache
def commands() -> dict[str, Place]:
    """Return the commands of this installation: ours, then those of its parts."""
    found = dict(COMMANDS)
    for more in added("plimsoll.commands").values():
        found |= more
    return found


class _Loaded(MutableMapping[str, Any]):
    """Commands by name, each loaded on first use, so that the others cost no time."""

    def __init__(self) -> None:
        self._found: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._found:
            if name in _OF_EXTRAS and name not in commands():
                raise ExtraMissing.naming(f"'plimsoll {name}'", _OF_EXTRAS[name])
            place = COMMANDS[name] if name in COMMANDS else commands()[name]
            alone = typer.Typer(rich_markup_mode=None)
            import_module(place.module).register(alone)
            self._found[name] = typer.main.get_group(with_groups(alone)).commands[name]
        return self._found[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._found[name] = command

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(commands())

    def __len__(self) -> int:
        return len(commands())


class _Program(HelpGroup):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Loaded()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order of the list."""
        del ctx
        return list(commands())

    def summaries(self, ctx: Any) -> list[tuple[str, str]]:
        """Return every command with its summary, without loading one."""
        del ctx
        return [(name, place.summary) for name, place in commands().items()]


app = typer.Typer(
    name=_PROGRAM,
    cls=_Program,
    help="Find the limit that a managed database is at, and prove it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _of_program(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
    completion: Annotated[
        str | None,
        typer.Option(
            "--completion",
            metavar="SHELL",
            help="Print a script that completes commands and options in bash, zsh or fish.",
        ),
    ] = None,
    man_pages: Annotated[
        Path | None,
        typer.Option("--man-pages", metavar="DIR", help="Write a manual page for each command to this folder."),
    ] = None,
) -> None:
    if version:
        typer.echo(f"{_PROGRAM} {__version__}")
        raise typer.Exit
    if completion is not None:
        typer.echo(_completion_script(completion))
        raise typer.Exit
    if man_pages is not None:
        from plimsoll.cli.manual import write_manual

        written = write_manual(context.command, man_pages)
        typer.echo(f"{len(written)} manual pages written to {man_pages}", err=True)
        raise typer.Exit


def _completion_script(shell: str) -> str:
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    if shell not in ("bash", "zsh", "fish"):
        raise UsageError(f"there is no completion for shell '{shell}'", "Use bash, zsh or fish.")
    return get_completion_script(prog_name=_PROGRAM, complete_var=_COMPLETE, shell=shell)


# What the parser raises for a bad command line: the base class of the one that typer exports.
_ParseError: type[typer.BadParameter] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def run(arguments: Sequence[str]) -> int:
    """
    Run one command line, and return its exit status.

    Args:
        arguments: without the name of the program.

    Raises:
        PlimsollError: bad input, a bad command line, or output that could not be written.
        KeyboardInterrupt: Ctrl-C, unless the command handles it.
    """
    # Typer's own runner ends with status 1 when the reader of a pipe has gone, but 1 is a verdict here.
    command = typer.main.get_command(app)
    given_arguments.set(tuple(arguments))
    if asked := os.environ.get(_COMPLETE):
        from typer.completion import completion_init, shell_complete  # type: ignore[attr-defined]

        completion_init()
        return shell_complete(command, {}, _PROGRAM, _COMPLETE, asked)
    try:
        with command.make_context(_PROGRAM, list(arguments)) as context:
            result = command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except _ParseError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            return 2
        raise _refusal_of(error) from error
    return result if isinstance(result, int) else 0


# The reasons of the library that checks the values of options, and ours.
_REASONS = (
    (r"Value error, ", ""),
    (r"Input should be a valid integer, .*", "it is not a whole number"),
    (r"Input should be a valid number, .*", "it is not a number"),
    (r"Input should be greater than or equal to (\S+)", r"it is less than \1"),
    (r"Input should be less than or equal to (\S+)", r"it is more than \1"),
)


def _refusal_of(error: typer.BadParameter) -> PlimsollError:
    context = getattr(error, "ctx", None)
    asked = "plimsoll --help" if context is None else help_command_of(context)
    message = error.format_message().rstrip(".")
    for theirs, ours in _REASONS:
        message = re.sub(f": {theirs}", f": {ours}", message)
    return UsageError(message[:1].lower() + message[1:], f"See '{asked}'.")
