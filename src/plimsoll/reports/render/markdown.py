"""Parts of a report as GitHub-flavoured Markdown, in which nothing that came from outside is Markdown."""

import re
from collections.abc import Iterable, Sequence

from plimsoll.reports.render.facts import Fact

_SPECIAL = re.compile(r"([\\`*<>|\[\]~])|(?<!\w)(_)|(_)(?!\w)")


def escaped(text: str) -> str:
    """Return text in which nothing is Markdown or HTML."""
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", text)


def section(title: str, *parts: str) -> str:
    """Return a heading with the parts that are not empty; nothing where all are."""
    filled = [part for part in parts if part]
    return "\n\n".join([f"## {title}", *filled]) if filled else ""


def bullets(items: Sequence[str]) -> str:
    """Return one list item each."""
    return "\n".join(f"- {escaped(item)}" for item in items)


def numbered(items: Sequence[str]) -> str:
    """Return one numbered list item each."""
    return "\n".join(f"{n}. {escaped(item)}" for n, item in enumerate(items, start=1))


def facts(items: Sequence[Fact]) -> str:
    """Return one list item each, its name in bold."""
    return "\n".join(f"- **{escaped(f.name)}:** {escaped(f.value)}" for f in items)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of plain cells; nothing without a row."""
    lines = ["| " + " | ".join(titles) + " |", "|" + " --- |" * len(titles)]
    lines += ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) if len(lines) > 2 else ""
