"""Help texts: options under the headings that they were given, and no summary cut off."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

_OPTIONS = "Options"
_Rows = list[tuple[str, str]]


class HelpCommand(TyperCommand):
    """A command whose help shows its options in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options by group."""
        _write_options(self, ctx, formatter)


class HelpGroup(TyperGroup):
    """A group of commands that are listed with their whole summaries."""

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
    """Let every command and group of an application show its help as said here."""
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


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    arguments: _Rows = []
    groups: dict[str, _Rows] = {_OPTIONS: []}
    for parameter in command.get_params(ctx):
        row = parameter.get_help_record(ctx)
        if row is None:
            continue
        if parameter.param_type_name == "argument":
            arguments.append(row)
        else:
            name = getattr(parameter, "rich_help_panel", None) or _OPTIONS
            groups.setdefault(name, []).append(row)
    for heading, rows in (("Arguments", arguments), *groups.items()):
        if rows:
            with formatter.section(heading):
                formatter.write_dl(rows)
