"""`plimsoll docs`: read the documentation in the terminal."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from plimsoll.app.options import Option
from plimsoll.cli.option_groups import expand
from plimsoll.errors import UsageError

if TYPE_CHECKING:  # the other commands do not need it
    from plimsoll.app.documentation import DocsHit, DocsPage

_HEADINGS = {
    "": "START HERE",
    "tutorials": "TUTORIALS",
    "guides": "GUIDES",
    "concepts": "CONCEPTS",
    "reference": "REFERENCE",
    "runbooks": "RUNBOOKS",
    "decisions": "DECISIONS",
}
# A line of text that is longer is hard to read; tables and code of the pages fit into it.
_WIDTH_MAX = 100


class DocsOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    page: Annotated[str | None, Option("[PAGE]")] = None
    """
    Name of a page, for example export-metrics, or the code of a finding (default: list all pages).
    """
    search: Annotated[str | None, Option("--search WORDS")] = None
    """List the pages that contain all of these words."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("docs")(expand(docs))


def docs(options: DocsOptions) -> None:
    """
    Read the documentation in the terminal: list its pages, print one, or search them.

    In a pipe or a file, a page is Markdown as it was written.

    Exit status: 0, or 2 for an unknown page and if a search finds nothing.
    """
    from plimsoll.app.documentation import documentation, page_named
    from plimsoll.app.documentation import search as searched
    from plimsoll.reports.explained import page_of

    page, search = options.page, options.search
    if page is not None and search is not None:
        raise UsageError("--search looks in all pages, and a page was named", "Give one of the two.")
    pages = documentation()
    if search is not None:
        for hit in searched(pages, search):
            sys.stdout.write(f"{hit.page.name}\n    {_place_of(hit)}\n")
        sys.stdout.write("\nRead one with: plimsoll docs PAGE\n")
    elif page is not None:
        names = {known.name for known in pages}
        _print(page_named(pages, page if page in names else page_of(page) or page), pages)
    else:
        _list(pages)


def _list(pages: tuple["DocsPage", ...]) -> None:
    width = max(len(page.name) for page in pages)
    for section, heading in _HEADINGS.items():
        rows = [page for page in pages if page.section == section and page.name != "index"]
        if rows:
            sys.stdout.write(f"{heading}\n")
        sys.stdout.writelines(f"  {page.name.ljust(width)}  {page.title}\n" for page in rows)
        if rows:
            sys.stdout.write("\n")
    sys.stdout.write("Read one with: plimsoll docs PAGE\n")
    sys.stdout.write("Search all with: plimsoll docs --search WORDS\n")


def _print(page: "DocsPage", pages: tuple["DocsPage", ...]) -> None:
    if not (page.is_markdown and sys.stdout.isatty()):
        sys.stdout.write(page.text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    from plimsoll.app.documentation import as_terminal_text

    console = Console()
    text = as_terminal_text(page, pages)
    console.print(Markdown(text, hyperlinks=False, justify="left"), width=min(console.width, _WIDTH_MAX))


def _place_of(hit: "DocsHit") -> str:
    """Return the heading and the line of a hit; one of them if they are the same."""
    where = hit.heading or hit.page.title
    if hit.line == where:
        return _around(where, hit.at, _WIDTH_MAX - 4)
    return f"{where}: {_around(hit.line, hit.at, _WIDTH_MAX - 6 - len(where))}"


def _around(line: str, at: int, width: int) -> str:
    """Return a part of a line that is as wide as asked, with what begins at `at`."""
    if len(line) <= width:
        return line
    begin = max(0, min(at - width // 3, len(line) - width + 1))
    before, after = "…" if begin else "", "…" if begin + width <= len(line) else ""
    return before + line[begin + len(before) : begin + width - len(after)].strip() + after
