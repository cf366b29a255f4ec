"""
The documentation: its pages by name, and a search over them.

The pages are the files of `docs/`, which a wheel contains. A page is named by its file, without
folder and suffix: `export-metrics`. Where two files have one name, the page of the later section is named with
its folder: `runbooks/watch`.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path, PurePosixPath

from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.parts import added

_PACKAGE = Path(__file__).parents[1]
# A wheel contains the pages; a checkout has them two levels above the package.
FOLDER = next(
    (place for place in (_PACKAGE / "docs", _PACKAGE.parents[1] / "docs") if place.is_dir()), _PACKAGE / "docs"
)

# In the order of Diátaxis: learn, do, understand, look up; then what to do when an alert comes, and why it is so.
SECTIONS = ("", "tutorials", "guides", "concepts", "reference", "runbooks", "decisions")

_READABLE = (".md", ".json")
# More similar names would hide the right one.
_NEAR_MAX = 3
# The rank of a page that has all words on one line; smaller where they are side by side.
_ON_A_LINE = 2
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_HTML = re.compile(r"</?(?:a|p|img|picture|source|br|details|summary)\b[^>]*>")


class DocsPage(Struct, frozen=True, kw_only=True):
    """One page of the documentation."""

    name: str
    """As `plimsoll docs` takes it."""
    path: str
    """Of its file below `docs/`."""
    title: str
    """Its first heading, without marks; the name of its file if it has none."""
    text: str
    """Markdown, or JSON for a file that other programs read."""

    @property
    def section(self) -> str:
        """Return the folder below `docs/` that it belongs to; empty for a page about all of them."""
        return self.path.rpartition("/")[0]

    @property
    def is_markdown(self) -> bool:
        """Return whether it is a text for people, not a file for programs."""
        return self.path.endswith(".md")


class DocsHit(Struct, frozen=True, kw_only=True):
    """A page that contains what was searched for."""

    page: DocsPage
    heading: str
    """The heading above the line; empty above the first."""
    line: str
    """The first line with the words side by side, else the one with most of them."""
    at: int
    """Where in the line the first of the words is, counted from 0."""


def documentation(*folders: Path) -> tuple[DocsPage, ...]:
    """
    Return all pages in the order of `SECTIONS`, each section by title.

    Args:
        folders: of the pages; none for those of this installation and its parts.

    Raises:
        UsageError: the installation has no pages.
    """
    files = {
        PurePosixPath(path.relative_to(folder).as_posix()): path
        for folder in folders or (FOLDER, *added("plimsoll.documentation").values())
        for path in folder.rglob("*")
        if path.suffix in _READABLE and path.is_file() and not path.name.startswith(".")
    }
    if not files:
        raise UsageError(
            "this installation of Plimsoll has no documentation",
            "Install it again: the pages are a part of the package.",
        )
    pages: dict[str, DocsPage] = {}
    for path in sorted(files, key=_place):
        name = _stem(path) if _stem(path) not in pages else f"{path.parent}/{_stem(path)}"
        text = files[path].read_text(encoding="utf-8")
        pages[name] = DocsPage(name=name, path=str(path), title=_title(path, text), text=text)
    return tuple(sorted(pages.values(), key=lambda page: (_section_place(page.section), page.path)))


def page_named(pages: Sequence[DocsPage], name: str) -> DocsPage:
    """
    Return the page with a name; its path below `docs/` is another name, with or without suffix.

    Raises:
        UsageError: no page has that name; the hint has similar names.
    """
    asked = name.strip().removeprefix("./").removeprefix("docs/")
    for page in pages:
        if asked in (page.name, page.path, page.path.removesuffix(".md"), _file_name(page)):
            return page
    lower = asked.lower().removesuffix(".md").replace(" ", "-").replace("_", "-")
    names = {page.name.lower(): page for page in pages}
    if lower in names:
        return names[lower]
    part = lower.rpartition("/")[2]
    near = get_close_matches(part, names, _NEAR_MAX, 0.6) or [n for n in names if part in n]
    near = near[:_NEAR_MAX] if part else []
    listed = " or ".join(f"'plimsoll docs {names[n].name}'" for n in near)
    raise UsageError(
        f"no page of the documentation is named '{name}'",
        f"Did you mean {listed}?" if near else "List all pages with: plimsoll docs",
    )


def search(pages: Sequence[DocsPage], words: str) -> list[DocsHit]:
    """
    Return the pages that contain all words, in any case; those with the words side by side come first.

    Pages with the words far apart are left out if others have them on one line. The index is not searched.

    Raises:
        UsageError: no word is given, or no page has them all.
    """
    wanted = " ".join(words.lower().split())
    if not wanted:
        raise UsageError("--search has no word", "Name one, for example: --search balance")
    found: list[tuple[int, DocsHit]] = []
    for page in pages:
        if page.path == "index.md":
            continue
        flat = " ".join(page.text.lower().split())
        has_phrase = wanted in flat
        if has_phrase or all(word in flat for word in wanted.split()):
            hit = _hit(page, wanted)
            is_on_a_line = all(word in hit.line.lower() for word in wanted.split())
            is_title = wanted in page.title.lower()
            rank = 0 if is_title else 1 if has_phrase else _ON_A_LINE if is_on_a_line else 3
            found.append((rank, hit))
    if not found:
        raise UsageError(
            f"no page of the documentation contains '{words.strip()}'",
            "Search for fewer words, or list all pages with: plimsoll docs",
        )
    best = min(rank for rank, _ in found)
    ranked = sorted(found, key=lambda item: item[0])
    return [hit for rank, hit in ranked if rank <= _ON_A_LINE or best > _ON_A_LINE]


def as_terminal_text(page: DocsPage, pages: Sequence[DocsPage]) -> str:
    """
    Return the Markdown of a page for a terminal, where links to files lead nowhere.

    Links become their texts, and pictures what they show. The end names the linked pages as commands.
    """
    by_path = {other.path: other for other in pages}
    linked: dict[str, DocsPage] = {}

    def plain(link: re.Match[str]) -> str:
        is_picture, text, target = link.groups()
        if is_picture:
            return f"(picture: {text})"
        if re.match(r"[a-z]+:", target):
            return text if text == target else f"{text} <{target}>"
        other = by_path.get(_joined(page.section, target.partition("#")[0]))
        if other is not None and other is not page:
            linked[other.name] = other
        return text

    kept = [line if is_code else _LINK.sub(plain, _HTML.sub("", line)) for line, is_code in _lines(page.text)]
    text = "\n".join(kept).strip()
    if not linked or page.path == "index.md":
        return text
    commands = "\n".join(f"- {other.title}: `plimsoll docs {name}`" for name, other in linked.items())
    return f"{text}\n\n## Linked pages\n\n{commands}"


def _place(path: PurePosixPath) -> tuple[int, str]:
    parent = str(path.parent)
    return (_section_place("" if parent == "." else parent), str(path))


def _section_place(section: str) -> int:
    return SECTIONS.index(section) if section in SECTIONS else len(SECTIONS)


def _stem(path: PurePosixPath) -> str:
    """Return the name of a page: decisions are named without their number."""
    return re.sub(r"^\d{4}-", "", path.stem)


def _file_name(page: DocsPage) -> str:
    return PurePosixPath(page.path).stem


def _title(path: PurePosixPath, text: str) -> str:
    if path.suffix != ".md":
        return path.name
    for line, is_code in _lines(text):
        if not is_code and (match := _HEADING.match(line)):
            return _bare(match[1])
    return path.stem


def _bare(text: str) -> str:
    return _LINK.sub(r"\2", text).replace("`", "").replace("**", "")


def _lines(text: str) -> list[tuple[str, bool]]:
    """Return each line, and whether it belongs to a block of code."""
    found, fence = [], ""
    for line in text.splitlines():
        match = re.match(r" {0,3}(`{3,}|~{3,})", line)
        found.append((line, bool(fence or match)))
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence):
            fence = ""
    return found


def _hit(page: DocsPage, wanted: str) -> DocsHit:
    """Return where the words first are: the phrase, else the line with most of the words."""
    words = wanted.split()
    best, heading, score = ("", ""), "", 0
    for line, is_code in _lines(page.text):
        match = None if is_code else _HEADING.match(line)
        if match:
            heading = _bare(match[1])
        lower = line.lower()
        here = len(words) + 1 if wanted in lower else sum(word in lower for word in words)
        if here > score:
            best, score = (heading, _bare(_HTML.sub("", line)).strip(" #|>-")), here
    line = best[1].lower()
    at = line.find(wanted) if wanted in line else min(line.find(w) for w in words if w in line)
    return DocsHit(page=page, heading=best[0], line=best[1], at=at)


def _joined(section: str, target: str) -> str:
    """Return the path below `docs/` that a relative link of a page leads to; outside, it begins with `..`."""
    parts: list[str] = []
    for part in [*PurePosixPath(section).parts, *PurePosixPath(target).parts]:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
