"""Markdown, as the documentation contract reads it."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from contract.tree import ROOT, files

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*(\w*)")
_LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|(?:src|href)=\"([^\"]+)\"")


class Command(Struct, frozen=True, kw_only=True):
    """One command of a console block, with what the block says it prints."""

    line: int
    command: str
    output: tuple[str, ...]


def documents() -> list[Path]:
    """The documents people read: those at the root, and everything under docs/ and examples/."""
    folders = ("docs", "examples", "tests", "bench")
    return [path for path in files(".md") if path.parent == ROOT or path.relative_to(ROOT).parts[0] in folders]


def blocks(text: str, language: str) -> Iterator[tuple[int, list[str]]]:
    """First line number and lines of every fenced block in that language."""
    inside: tuple[str, str, int] | None = None
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if inside is None:
            if fence:
                inside, lines = (fence[1], fence[2], number + 1), []
        elif fence and fence[1].startswith(inside[0]) and not fence[2]:
            if inside[1] == language:
                yield inside[2], lines
            inside = None
        else:
            lines.append(line)


def prose(text: str) -> str:
    """The text without its fenced blocks and without inline code."""
    kept: list[str] = []
    fence = ""
    for line in text.splitlines():
        match = _FENCE.match(line)
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence) and not match[2]:
            fence = ""
        elif not fence:
            kept.append(re.sub(r"`[^`]*`", "", line))
    return "\n".join(kept)


def commands(text: str) -> list[Command]:
    r"""The `$ …` lines of all console blocks; a trailing `\` continues a command on the next line."""
    found: list[Command] = []
    for start, lines in blocks(text, "console"):
        current: tuple[int, str] | None = None
        output: list[str] = []
        for number, line in enumerate(lines, start):
            if current and current[1].endswith("\\"):
                current = (current[0], current[1][:-1] + line.strip())
            elif line.startswith("$ "):
                if current:
                    found.append(_command(current, output))
                current, output = (number, line[2:].strip()), []
            elif current:
                output.append(line)
        if current:
            found.append(_command(current, output))
    return found


def _command(at: tuple[int, str], output: list[str]) -> Command:
    while output and not output[-1].strip():
        output.pop()
    return Command(line=at[0], command=at[1], output=tuple(line.rstrip() for line in output))


def is_plimsoll(command: str) -> bool:
    """Whether a command line runs plimsoll, alone or first in a pipe."""
    return bool(command) and shlex.split(command, comments=True)[:1] == ["plimsoll"]


def links(text: str) -> list[str]:
    """Targets of all links and pictures, Markdown or HTML, outside code."""
    return [markdown or html for markdown, html in _LINK.findall(prose(text))]


def anchors(text: str) -> set[str]:
    """The anchors that a Markdown page offers: one for each heading, as GitHub spells them."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", _without_blocks(text), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = 0
        while (name := f"{slug}-{count}" if count else slug) in found:
            count += 1
        found.add(name)
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def _without_blocks(text: str) -> str:
    return re.sub(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1 *$", "", text, flags=re.MULTILINE | re.DOTALL)


def matches(expected: tuple[str, ...], printed: list[str]) -> bool:
    """Whether the output is what the document shows; a line `…` stands for any lines."""
    if not expected:
        return not printed
    if expected[0].strip() == "…":
        return any(matches(expected[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and expected[0] == printed[0] and matches(expected[1:], printed[1:])
