"""Options that Structs declare: in the help, in a value, and in a printed command line."""

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct
from typer.testing import CliRunner

from plimsoll.app.options import InstanceOptions, Option, ReadOptions
from plimsoll.cli.commands import app
from plimsoll.cli.database import DEFAULT_FOR
from plimsoll.cli.manual import pages
from plimsoll.cli.option_groups import OptionGroup, expand, typed
from plimsoll.cli.pace import LOOPBACK
from plimsoll.errors import UsageError
from plimsoll.watch.defaults import ADDRESS, LEDGER


class Side(Struct, frozen=True, kw_only=True):
    """A group."""

    size: Annotated[float | None, Option("--size GIB", "Sides", min=1, max=9)] = None
    """Size, {min} to {max}."""
    names: Annotated[tuple[str, ...], Option("-n --name NAME")] = ()
    """Names. Repeatable."""

    def check(self) -> None:
        """Refuse a name."""
        if "x" in self.names:
            raise UsageError("x is no name", "Give another.")


class All(Struct, frozen=True, kw_only=True):
    """Options of a command."""

    file: Annotated[Path, Option("FILE")]
    """A file."""
    side: Side
    other: Annotated[Side, OptionGroup(Side, suffix="-b", panel="Other").only("size")]
    is_new: Annotated[bool, Option("--new/--old")] = True
    """Whether it is new."""


def called(*arguments: str) -> tuple[Any, list[All]]:
    seen: list[All] = []

    def command(options: All) -> int:
        seen.append(options)
        return 3

    program = typer.Typer(rich_markup_mode=None)
    program.command()(expand(command))
    return CliRunner().invoke(program, arguments, env={"COLUMNS": "100"}), seen


def test_a_struct_is_filled_with_its_groups():
    """A group may have a suffix and only some of its options, and may refuse values; the result is the exit status."""
    ran, seen = called("f", "--size", "2", "-n", "a", "--name", "b", "--size-b", "5", "--old")

    assert 3 == ran.exit_code
    assert [All(file=Path("f"), side=Side(size=2.0, names=("a", "b")), other=Side(size=5.0), is_new=False)] == seen
    assert [All(file=Path("f"), side=Side(), other=Side())] == called("f")[1]
    ran, seen = called("f", "-n", "x")
    assert ("x is no name", []) == (ran.exception.message, seen)


def test_docstrings_are_the_help():
    """Bounds in a docstring are those of the declaration."""
    help_text = called("--help")[0].stdout

    assert "Size, 1 to 9." in help_text
    assert "Names. Repeatable." in help_text
    assert "--name-b" not in help_text


def test_what_was_given_is_typed_again():
    """In the order of the fields or of the names; a default is not typed."""
    read = ReadOptions(last="3h", headers=("a:b", "c:d"), max_api_calls=7)

    assert ["--class-a", "db.r5.large", "--size-gib-a", "1234567.5"] == typed(
        InstanceOptions(db_class="db.r5.large", size_gib=1234567.5), suffix="-a"
    )
    assert ["--max-api-calls", "7", "--header", "a:b", "--header", "c:d"] == typed(read, "max_api_calls", "headers")


def test_no_command_has_two_options_of_one_name():
    """The later would win, and refuse the values that the help of the first offers."""
    found = {}
    for names, page in pages(typer.main.get_command(app)):
        rows = re.findall(r"^\\fB(\\-.+)\\fR$", page, re.MULTILINE)
        options = Counter(option for row in rows for option in re.findall(r"(?<![\w-])-[\w.-]+", row.replace("\\", "")))
        found[names] = [option for option, count in options.items() if count > 1]

    assert len(found) > 50
    assert {} == {names: twice for names, twice in found.items() if twice}


def test_defaults_that_a_docstring_names_are_those_of_the_program():
    """A docstring is a constant text."""
    for command, default in (
        ("watch", ADDRESS), ("watch", LEDGER), ("diagnose", DEFAULT_FOR), ("pace", f"{LOOPBACK} unless")
    ):  # fmt: skip
        assert default in " ".join(CliRunner().invoke(app, [command, "--help"]).stdout.split())
