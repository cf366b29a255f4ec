"""Texts that a user reads name pages as `plimsoll docs` knows them, because an installation has no docs folder."""

import ast
import re
from collections.abc import Iterator

from contract.tree import both, nodes, texts
from plimsoll.app.documentation import documentation
from plimsoll.cli.commands import app
from plimsoll.cli.manual import pages as manual_pages
from plimsoll.reports.explained import page_of

PATH = re.compile(r"docs/[\w/.-]+\.(?:md|json)\b")
COMMAND = re.compile(r"plimsoll docs ([a-z][\w/-]*)")
# Parts of the package that are not Python and that people see.
SHOWN = (".html", ".j2", ".toml", ".txt", ".js", ".rs", ".json")


def test_no_text_of_the_program_names_a_path_below_docs():
    """Strings, templates, schemas and files of the package; docstrings and comments are for developers."""
    found = [f"{path}:{line}: {match}" for path, line, match in _strings(PATH)]
    found += [
        f"{path}: {match[0]}"
        for path, text in texts(*SHOWN)
        if path.parts[:2] == ("src", "plimsoll") or path.parts[0] == "crates"
        for match in PATH.finditer(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    ]

    assert not found, "\n".join(found)


def test_no_help_names_a_path_below_docs():
    """The manual pages have every help text."""
    import typer

    command = typer.main.get_command(app)
    found = [f"{' '.join(names)}: {match[0]}" for names, page in manual_pages(command) for match in PATH.finditer(page)]

    assert not found, "\n".join(found)


def test_every_page_that_a_text_names_exists():
    """`plimsoll docs NAME` in code, documentation and integrations."""
    names = {page.name for page in documentation()}
    folders = {"src", "docs", "integrations", "systems", "crates", "website"}
    named = [
        (path, match[1])
        for path, text in texts()
        if path.parts[0] in folders or len(path.parts) == 1
        for match in COMMAND.finditer(text)
    ]
    absent = [f"{path}: {name}" for path, name in named if name not in names and not page_of(name)]

    assert {"export-metrics", "inputs"} <= {name for _, name in named}
    assert not absent, "\n".join(absent)


def _strings(pattern: re.Pattern[str]) -> Iterator[tuple[str, int, str]]:
    """Yield path, line and match in the string constants of the program that are no docstrings."""
    for path, _, tree in both():
        # A string that stands alone explains what is above it.
        explained = {id(node.value) for node in nodes(tree) if isinstance(node, ast.Expr)}
        for node in nodes(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if id(node) not in explained and (match := pattern.search(node.value)):
                yield str(path), node.lineno, match[0]
