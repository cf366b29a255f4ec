"""
Format help texts: group options by heading, and cut off no summary.

The parser adds types, bounds and defaults in brackets. This file moves the default into the sentence, and
drops the bounds: a value out of bounds has its own error message.
"""

import re
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

_OPTIONS = "Options"
_LAST = "Output"
_ADDED = re.compile(r" *\[((?:env var: |default: |required|\S*x[<>]=?|\d+<)[^\]]*)\]$")
"""Matches what the parser adds to a help text."""
_Rows = list[tuple[str, str]]


class HelpCommand(TyperCommand):
    """A command whose help groups its options."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words after the command's name, with arguments as they were named."""
        return [*([self.options_metavar] if self.options_metavar else []), *_arguments(self, ctx)]

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write how it is called; a command without a name leaves no gap."""
        pieces = " ".join(self.collect_usage_pieces(ctx))
        formatter.write_usage(ctx.command_path.rstrip(), pieces)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options by group."""
        _write_options(self, ctx, formatter)


class HelpGroup(TyperGroup):
    """A group of commands, each listed with its whole summary."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write options by group, then the commands."""
        _write_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a row for each command; a summary that is too long for the line is wrapped."""
        with formatter.section("Commands"):
            formatter.write_dl(self.summaries(ctx))

    def summaries(self, ctx: Any) -> _Rows:
        """Return the commands that are not hidden, each with the first sentence of its help."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        return [(name, summary_of(c.help or "")) for name, c in found if c and not c.hidden]


def summary_of(text: str) -> str:
    """Return the first paragraph of a help text on one line, without a full stop."""
    return " ".join(text.strip().partition("\n\n")[0].split()).rstrip(".")


def with_groups(app: typer.Typer) -> typer.Typer:
    """Make every command and group of an application use the help format of this file."""
    for command in app.registered_commands:
        if command.cls is TyperCommand:
            command.cls = HelpCommand
    for group in app.registered_groups:
        assert group.typer_instance is not None
        of_group = group.typer_instance.info
        if not (isinstance(of_group.cls, type) and issubclass(of_group.cls, HelpGroup)):
            of_group.cls = HelpGroup
        with_groups(group.typer_instance)
    return app


def _arguments(command: Any, ctx: Any) -> list[str]:
    """Return the names of a command's arguments; optional ones have brackets."""
    return [_name_of(parameter) for parameter in command.get_params(ctx) if parameter.param_type_name == "argument"]


def help_command_of(ctx: Any) -> str:
    """Return the command that prints the help of a context; a command without a name is called by its target."""
    path = ctx.command_path
    if path.endswith(" "):
        path += _arguments(ctx.command, ctx)[0]
    return f"{path} --help"


def _name_of(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def row_of(parameter: Any, ctx: Any) -> tuple[str, str] | None:
    """Return the name of a parameter with its help, which ends with the default; None for a hidden one."""
    row = parameter.get_help_record(ctx)
    if row is None:
        return None
    name, text = row
    if parameter.param_type_name == "argument":
        name = _name_of(parameter)
    added = _ADDED.search(text)
    if added is None:
        return name, text
    kept = [
        part.replace("env var: ", "environment: ")
        for part in added[1].split("; ")
        if part.startswith(("default: ", "env var: "))
    ]
    if "required" in added[1].split("; ") and parameter.param_type_name == "option":
        kept.append("required")
    text = text[: added.start()]
    if not kept:
        return name, text
    return name, f"{text.rstrip('.')} ({'; '.join(kept)})."


def grouped_rows(command: Any, ctx: Any) -> list[tuple[str, _Rows]]:
    """
    Return the headings of a command's help, each with its rows of name and help text.

    Arguments come first, then options without a heading, then the groups in the order in which the command
    declares them.
    """
    arguments: _Rows = []
    groups: dict[str, _Rows] = {_OPTIONS: []}
    for parameter in command.get_params(ctx):
        row = row_of(parameter, ctx)
        if row is None:
            continue
        if parameter.param_type_name == "argument":
            arguments.append(row)
        else:
            name = getattr(parameter, "rich_help_panel", None) or _OPTIONS
            groups.setdefault(name, []).append(row)
    # Output options are the same in every command, so they come last.
    last = groups.pop(_LAST, [])
    found = [("Arguments", arguments), *groups.items(), (_LAST, last)]
    return [(heading, rows) for heading, rows in found if rows]


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    for heading, rows in grouped_rows(command, ctx):
        with formatter.section(heading):
            formatter.write_dl(rows)


class TargetGroup(HelpGroup):
    """A group whose first word is the name of a command, or else a target of a hidden one."""

    named: ClassVar[frozenset[str]]
    """Names of its commands."""
    other: ClassVar[str]
    """Name of the hidden command for targets."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the name of the hidden command if the first word is a target."""
        if args and args[0] not in {*self.named, "-h", "--help"}:
            args = [self.other, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return the command; the hidden one has an empty name, which its help then omits."""
        name, command, rest = super().resolve_command(ctx, args)
        return ("" if name == self.other else name), command, rest
