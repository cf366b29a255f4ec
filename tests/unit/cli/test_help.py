"""What `--help` shows, what it loads, and what a shell completes."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from plimsoll import __version__
from plimsoll.cli.commands import COMMANDS, app
from plimsoll.cli.help import summary_of
from plimsoll.cli.manual import pages

HEAVY = {"numpy", "polars", "altair", "vl_convert", "jinja2", "boto3", "httpx", "rich", "psycopg"}
REPORTS = [
    "diagnose", "plan", "inspect", "compare", "limits", "sweep", "pool-size", "lint pooler",
    "lint terraform", "lint cloudformation",
    "explain compare", "prove toast", "lab run io-size-sweep", "lab run search-service",
]  # fmt: skip
# A type in angle brackets, bounds, or what a parser puts into square brackets.
PARSERS_OWN = re.compile(r"<\w+( range)?>|<=|\[default|\[required|\[env|INTEGER|TEXT\b")
PROGRAM = """
import sys
from plimsoll.cli.commands import run
loaded = set()
for line in sys.stdin.read().splitlines():
    run([*line.split(), "--help"])
    loaded |= {name.split(".")[0] for name in sys.modules}
print(*sorted(loaded), file=sys.stderr)
"""


def every_command() -> Iterator[tuple[str, ...]]:
    """The words after `plimsoll` of every command that its group lists."""
    for names, _ in pages(get_command(app)):
        if names[1:] not in (("record", "target"), ("fleet", "lake")):
            yield names[1:]


def shown(*arguments: str) -> str:
    """The help of a command, 80 columns wide."""
    found = CliRunner().invoke(app, [*arguments, "--help"], env={"COLUMNS": "80"})
    assert 0 == found.exit_code
    return found.stdout


def test_help_loads_nothing_heavy():
    """The help of the program and of every command comes without numpy and the libraries of reports."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input="\n".join(" ".join(names) for names in every_command()),
        capture_output=True,
        text=True,
        check=True,
    )

    assert set() == HEAVY & set(result.stderr.split())


def test_help_of_the_program_loads_no_command():
    """The list of commands has their summaries; their modules are loaded when they are called."""
    program = "import sys\nfrom plimsoll.cli.commands import run\nrun(['--help'])\nprint(*sys.modules, file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert not {place.module for place in COMMANDS.values()} & set(result.stderr.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name):
    """A summary in the list is the first sentence of the command's own help."""
    command = get_command(app).commands[name]

    assert COMMANDS[name].summary == summary_of(command.help)


def test_no_summary_is_cut_off():
    """At 80 columns a long summary goes on in the next line."""
    text = " ".join(shown().split())

    assert "..." not in text.replace("COMMAND [ARGS]...", "")
    assert all(place.summary in text for place in COMMANDS.values())
    assert "..." not in shown("gate").replace("[ARGS]...", "")


def test_a_page_of_help_that_a_hint_names_lists_the_option():
    """The options of `fleet LAKE`, which a transcript of refusals names, are not on the page of `fleet`."""
    page = shown("fleet", "LAKE")

    assert page.startswith("Usage: plimsoll fleet [OPTIONS] LAKE\n")
    assert "--processes" in page


def test_options_stand_under_their_headings():
    """The instance, the window and live targets are groups of their own; files and columns come last."""
    for name in ("diagnose", "plan", "inspect"):
        lines = shown(name).splitlines()
        at = [lines.index(f"{heading}:") for heading in ("Options", "Instance", "Window", "Output")]

        assert sorted(at) == at
        assert any(line.startswith("  --class ") for line in lines[at[1] : at[2]])
        assert any("--last" in line for line in lines[at[2] : at[3]])
        assert any(line.startswith("  -o, --output FILE") for line in lines[at[3] :])
        assert not any(line.startswith("  --class ") for line in lines[at[0] : at[1]])


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_printed(flag):
    assert f"plimsoll {__version__}\n" == CliRunner().invoke(app, [flag]).stdout


@pytest.mark.parametrize(
    ("shell", "environment", "wanted"),
    [
        ("bash", {"COMP_WORDS": "plimsoll pl", "COMP_CWORD": "1"}, "plan"),
        ("bash", {"COMP_WORDS": "plimsoll plan --keep-c", "COMP_CWORD": "2"}, "--keep-class"),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "plimsoll pl"}, '"plan"'),
        ("fish", {"_TYPER_COMPLETE_ARGS": "plimsoll pl", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}, "plan"),
    ],
)
def test_a_shell_completes_commands_and_options(shell, environment, wanted):
    """As the script that was printed for the shell asks for it."""
    asked = environment | {"_PLIMSOLL_COMPLETE": f"complete_{shell}"}
    script = CliRunner().invoke(app, ["--completion", shell]).stdout
    result = subprocess.run(
        [sys.executable, "-m", "plimsoll"], env=os.environ | asked, capture_output=True, text=True, check=False
    )

    assert f"_PLIMSOLL_COMPLETE=complete_{shell}" in script
    assert wanted in result.stdout


def test_bash_completes_with_the_printed_script():
    """In a real bash, after `source <(plimsoll --completion bash)`."""
    session = (
        "source <(plimsoll --completion bash)\n"
        "COMP_WORDS=(plimsoll diag) COMP_CWORD=1\n_plimsoll_completion plimsoll\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", session], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True
    )

    assert "diagnose" == result.stdout.strip()


def test_help_names_values_and_says_defaults_in_words():
    """
    No type, no bounds and no brackets of the parser; a default is the end of the sentence. Whatever takes -o
    takes --output, and nothing takes another name for it.
    """
    texts = [shown(*names) for names in every_command()]
    rows = [line.strip() for text in texts for line in text.splitlines() if "  -o, " in line]

    assert not [line for text in texts for line in text.splitlines() if PARSERS_OWN.search(line)]
    assert "(default: 1000)" in " ".join(shown("diagnose").split())
    assert len(rows) >= 8
    assert all(row.startswith("-o, --output FILE") for row in rows)
    assert not any("--out " in text for text in texts)


def test_every_report_has_the_same_options_of_output():
    """Form, file, page and columns, whatever the report is about."""
    for names in REPORTS:
        lines = shown(*names.split()).splitlines()
        group = lines[lines.index("Output:") :]

        for option in ("--format FORM", "-o, --output FILE", "--html FILE", "--width COLUMNS"):
            assert any(line.startswith(f"  {option}") for line in group), (names, option)
