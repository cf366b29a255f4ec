"""Parts of a report as GitHub-flavoured Markdown, in which nothing that came from outside is Markdown."""

import re
from collections.abc import Iterable, Sequence

from plimsoll.reports.render.facts import Fact

_SPECIAL = re.compile(r"([\\`*<>|\[\]~])|(?<!\w)(_)|(_)(?!\w)")


def escaped(text: str) -> str:
    """Text in which nothing is Markdown or HTML."""
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", text)


def section(title: str, *parts: str) -> str:
    """A heading with the parts that are not empty; nothing where all are."""
    filled = [part for part in parts if part]
    return "\n\n".join([f"## {title}", *filled]) if filled else ""


def bullets(items: Sequence[str]) -> str:
    """One list item each."""
    return "\n".join(f"- {escaped(item)}" for item in items)


def numbered(items: Sequence[str]) -> str:
    """One numbered list item each."""
    return "\n".join(f"{n}. {escaped(item)}" for n, item in enumerate(items, start=1))


def facts(items: Sequence[Fact]) -> str:
    """One list item each, its name in bold."""
    return "\n".join(f"- **{escaped(f.name)}:** {escaped(f.value)}" for f in items)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain cells; nothing without a row."""
    lines = ["| " + " | ".join(titles) + " |", "|" + " --- |" * len(titles)]
    lines += ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) if len(lines) > 2 else ""
