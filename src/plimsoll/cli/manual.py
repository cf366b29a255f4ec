"""
Write manual pages from the same declarations as the help.

The format is man(7): a line that begins with a full stop or an apostrophe is a request, a backslash begins an
escape. Libraries for manual pages read commands of Click, but typer has its own copy of Click.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from plimsoll import __version__
from plimsoll.cli.help import grouped_rows, summary_of
from plimsoll.errors import UsageError

# Section 1 of the manual is for commands that users run.
SECTION = 1


def write_manual(command: Any, folder: Path) -> list[Path]:
    """
    Write a page for a program and for each of its commands.

    Args:
        command: the group of all commands.
        folder: created if it is missing.

    Returns:
        The files, in the order of the commands.

    Raises:
        UsageError: the folder or a file cannot be written.
    """
    from plimsoll.reports.files.file import write_aside

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"unable to write to '{folder}': {(error.strerror or str(error)).lower()}",
            "Give a folder in which you may write.",
        ) from error
    written = []
    for names, page in pages(command):
        file = folder / f"{'-'.join(names)}.{SECTION}"
        write_aside(file, page.encode())
        written.append(file)
    return written


def pages(command: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """
    Yield the name of each command, as the words that call it, and its page.

    A hidden command also has a page, because its group shows how to call it.
    """
    with command.make_context("plimsoll", [], resilient_parsing=True) as context:
        yield from _pages(command, context)


def _pages(command: Any, context: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    names = tuple(context.command_path.split())
    yield names, _page(command, context, names)
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        one = command.get_command(context, name)
        with one.make_context(name, [], parent=context, resilient_parsing=True) as inner:
            yield from _pages(one, inner)


def _page(command: Any, context: Any, names: tuple[str, ...]) -> str:
    title, text = "-".join(names), command.help or ""
    summary, _, rest = text.strip().partition("\n\n")
    words = " ".join([" ".join(names), *command.collect_usage_pieces(context)])
    lines = [
        f'.TH "{title.upper()}" "{SECTION}" "" "plimsoll {__version__}" "Plimsoll"',
        ".SH NAME",
        rf"{_escaped(title)} \- {_escaped(summary_of(summary))}",
        ".SH SYNOPSIS",
        rf"\fB{_escaped(' '.join(names))}\fR{_escaped(words.removeprefix(' '.join(names)))}",
        ".SH DESCRIPTION",
        _paragraph(summary),
    ]
    for paragraph in rest.split("\n\n") if rest else ():
        lines += [".PP", _paragraph(paragraph)]
    for heading, rows in grouped_rows(command, context):
        lines.append(f'.SH "{_escaped(heading.upper())}"')
        for name, help_text in rows:
            lines += [".TP", rf"\fB{_escaped(name)}\fR", _paragraph(help_text)]
    if hasattr(command, "summaries"):
        lines.append(".SH COMMANDS")
        for name, of_command in command.summaries(context):
            lines += [".TP", rf"\fB{_escaped(f'{title}-{name}')}\fR({SECTION})"]
            lines.append(_paragraph(of_command))
    if len(names) > 1:
        above = "-".join(names[:-1])
        lines += [".SH SEE ALSO", rf"\fB{_escaped(above)}\fR({SECTION})"]
    return "\n".join(lines) + "\n"


def _paragraph(text: str) -> str:
    found = _escaped(" ".join(text.split()))
    # \& stops man(7) from reading a full stop or an apostrophe as a request.
    return rf"\&{found}" if found[:1] in {".", "'"} else found


def _escaped(text: str) -> str:
    # man prints a plain ' and - as typographic characters; \(aq and \- can be pasted into a shell.
    return text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
