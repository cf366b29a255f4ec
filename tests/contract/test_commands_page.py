"""Commands that the first pages show without output: each parses, so that none has an option that is not there."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from contract.documents import blocks
from contract.tree import ROOT
from plimsoll.cli.commands import COMMANDS, app

PAGE = ROOT / "docs" / "commands.md"
PAGES = [ROOT / "README.md", PAGE, ROOT / "docs" / "tutorial.md"]


def shown(text: str) -> list[str]:
    """The `plimsoll …` commands in code of a document, in pipes too; without those that leave something out."""
    code = [
        line.removeprefix("$ ")
        for language in ("sh", "console", "")
        for _, lines in blocks(text, language)
        for line in "\n".join(lines).replace("\\\n", " ").splitlines()
    ]
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    code += re.findall(r"`([^`\n]+)`", prose)
    parts = [part.strip() for line in code for part in re.split(r"\s\\?\|(?:\s|$)", line)]
    return [part for part in parts if part.startswith("plimsoll ") and not re.search(r"…|COMMAND --help", part)]


def refusal(line: str) -> str:
    """Why the command line does not parse; empty if it does."""
    words = shlex.split(line, comments=True)[1:]
    command = typer.main.get_command(app)
    try:
        context = command.make_context("plimsoll", words)
        while hasattr(command, "commands"):
            rest = [*context._protected_args, *context.args]
            name, command, rest = command.resolve_command(context, rest)
            context = command.make_context(name, rest, parent=context)
    except Exception as error:  # the parser's classes have no public place: typer has its own click
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_parse(page: Path):
    """Every command that a page shows has only options and arguments that the command takes."""
    lines = shown(page.read_text(encoding="utf-8"))
    refused = {line: why for line in lines if (why := refusal(line))}

    assert lines
    assert not refused, "\n".join(f"{line}\n  {why}" for line, why in refused.items())


def test_the_page_of_commands_shows_every_command():
    """docs/commands.md has every command of the program."""
    lines = shown(PAGE.read_text(encoding="utf-8"))
    absent = COMMANDS.keys() - {shlex.split(line)[1] for line in lines}

    assert not absent


@pytest.mark.parametrize("line", ["plimsoll plan rds:orders --nonsense", "plimsoll plann rds:orders"])
def test_a_wrong_command_is_found(line: str):
    """An option or a command that is not there is refused."""
    assert refusal(line)
