"""Manual pages: one for each command, with what its help says, in a form that man reads."""

import re
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from plimsoll.cli.commands import COMMANDS, app
from plimsoll.cli.manual import pages

# As man shows them: escapes gone, and the line breaks of its own.
ESCAPES = {r"\-": "-", r"\(aq": "'", r"\e": "\\", r"\&": "", r"\fB": "", r"\fR": ""}


def plain(page: str) -> str:
    for escape, sign in ESCAPES.items():
        page = page.replace(escape, sign)
    return " ".join(page.split())


def every_page() -> dict[str, str]:
    return {" ".join(names): page for names, page in pages(get_command(app))}


def test_every_command_has_a_page():
    """The program, its commands and those within groups; the command for targets is `record target`."""
    found = every_page()

    assert {"plimsoll", *(f"plimsoll {name}" for name in COMMANDS)} <= found.keys()
    assert {"plimsoll gate run", "plimsoll record target", "plimsoll explain compare"} <= found.keys()


@pytest.mark.parametrize("words", ["diagnose", "gate run", "explain record", "pool-size"])
def test_a_page_says_what_the_help_says(words: str):
    """Summary, options and their texts are the same."""
    output = CliRunner().invoke(app, [*words.split(), "--help"], env={"COLUMNS": "200"}).stdout
    page = plain(every_page()[f"plimsoll {words}"])

    rows = [line.split("  ", 1) for line in re.findall(r"^  (-\S.*?  +\S.*)$", output, re.MULTILINE)]
    assert len(rows) > 3
    for name, text in rows:
        assert name.strip() in page
        assert " ".join(text.split())[:60] in page


def test_no_text_is_a_request():
    """A line begins with a full stop only where it is one of the requests that are written."""
    known = re.compile(r'\.(TH "|SH |PP$|TP$)')
    for page in every_page().values():
        lines = page.splitlines()
        assert lines[0].startswith(".TH ")
        assert not [line for line in lines if line[:1] in ".'" and not known.match(line)]


def test_the_pages_are_written_to_a_folder(tmp_path: Path):
    """One that is missing is made."""
    folder = tmp_path / "share" / "man1"
    found = CliRunner().invoke(app, ["--man-pages", str(folder)])

    assert (0, "") == (found.exit_code, found.stdout)
    assert f"{len(every_page())} manual pages written to {folder}\n" == found.stderr
    assert len(every_page()) == len(list(folder.glob("plimsoll*.1")))
    assert (folder / "plimsoll-gate-run.1").read_text(encoding="utf-8").startswith(".TH ")


@pytest.mark.deep
def test_man_reads_the_pages_without_a_warning(tmp_path: Path):
    """groff, which man calls, warns of what is no man(7)."""
    CliRunner().invoke(app, ["--man-pages", str(tmp_path)])
    page = tmp_path / "plimsoll-diagnose.1"
    shown = subprocess.run(
        ["groff", "-man", "-Tutf8", "-P-cbou", "-ww", "-Kutf8", str(page)], capture_output=True, text=True, check=True
    )

    assert "" == shown.stderr
    assert "SYNOPSIS" in shown.stdout
