"""Which files of the repository are pages of the site, where they stand, and in which order."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

ROOT = Path(__file__).resolve().parents[1]

# Files outside docs/ that the documentation links. The rest of docs/ keeps its places.
PROJECT = {
    "README.md": "project/readme.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "NOTICE": "project/notice.md",
    "tests/README.md": "project/tests.md",
    "src/plimsoll/catalog/data/SOURCES.md": "reference/catalog-sources.md",
}
OPTIONAL = {"RELEASING.md": "project/releasing.md"}

# The order of Diátaxis: learn, do, understand, look up. What an alert asks for and why it is so come after it.
SECTIONS = {
    "Tutorials": "tutorials",
    "Guides": "guides",
    "Concepts": "concepts",
    "Reference": "reference",
    "Runbooks": "runbooks",
    "Decisions": "decisions",
    "Integrations": "integrations",
    "Systems": "systems",
    "Project": "project",
}
# Pages that lie elsewhere in docs/ than where readers look for them on the site.
_LEARNED = ("watch-in-five-minutes", "play-the-search-service", "play-the-claims-pipeline")
_SECTION_OF = {
    "docs/glossary.md": "concepts",
    "docs/lab.md": "guides",
    "docs/commands.md": "reference",
    **{f"docs/guides/{name}.md": "tutorials" for name in _LEARNED},
}
_FIRST = (
    "tutorial", "watch-in-five-minutes", "install", "read-from-aws", "export-metrics", "read-from-prometheus", "record-a-host",
    "glossary", "commands", "inputs", "limits", "exit-status", "python-api", "readme", "changelog", "index",
)  # fmt: skip

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(\s*<?([^)\s>]+)>?([^)]*)\)")
_HTML_LINK = re.compile(r'(src|href)="([^"]+)"')


def places() -> dict[str, str]:
    """Return every page of the repository with its place in the site, both as paths with `/`."""
    found = {
        path.relative_to(ROOT).as_posix(): path.relative_to(ROOT / "docs").as_posix()
        for path in sorted((ROOT / "docs").rglob("*"))
        if path.suffix in (".md", ".json", ".png", ".svg", ".gif") and path.is_file()
    }
    found |= {source: place for source, place in PROJECT.items() if (ROOT / source).is_file()}
    found |= {source: place for source, place in OPTIONAL.items() if (ROOT / source).is_file()}
    for kind in ("integrations", "systems"):
        for readme in sorted((ROOT / kind).glob("*/README.md")):
            name = readme.parent.name
            found[f"{kind}/{name}/README.md"] = f"{kind}/{name}.md"
            for path in sorted((readme.parent / "docs").glob("*")):
                if path.suffix in (".md", ".svg", ".png"):
                    found[f"{kind}/{name}/docs/{path.name}"] = f"{kind}/{name}/{path.name}"
    return found


def rewritten(text: str, source: str, where: dict[str, str], files: str) -> str:
    """
    Return Markdown with the links of a page in the repository as links of its place in the site.

    Args:
        text: of the page; code stays as it is.
        source: the page's path in the repository.
        where: the place of every page, as `places` returns them.
        files: beginning of the address of a file that is no page; empty: such a link becomes its text.
    """

    def markdown(link: re.Match[str]) -> str:
        label, target, rest = link.groups()
        place = _target(target, source, where, files)
        return f"{label}({place}{rest})" if place else label.strip("!")[1:-1]

    def html(link: re.Match[str]) -> str:
        place = _target(link[2], source, where, files)
        return f'{link[1]}="{place}"' if place else ""

    return _outside_code(text, lambda line: _HTML_LINK.sub(html, _LINK.sub(markdown, line)))


def title_of(text: str, place: str) -> str:
    """Return the first heading of a page, without marks."""
    match = re.search(r"^# +(.+?) *#*$", text, re.MULTILINE)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).replace("`", "") if match else place


def navigation(titles: dict[str, str], where: dict[str, str]) -> list[dict[str, object]]:
    """
    Return the navigation, as MkDocs reads it.

    Args:
        titles: of every page, by its place in the site; `index.md` and pages below `reports/` included.
        where: the place of every page of the repository.
    """
    moved = {where[source]: section for source, section in _SECTION_OF.items() if source in where}
    nav: list[dict[str, object]] = [{"Home": "index.md"}]
    for label, section in SECTIONS.items():
        pages = [
            place for place in titles if place not in ("index.md", "gallery.md") and _section(place, moved) == section
        ]
        if pages:
            nav.append({label: [{titles[place]: place} for place in sorted(pages, key=_order)]})
    nav.insert(1, {"Reports": "gallery.md"})
    return nav


def _section(place: str, moved: dict[str, str]) -> str:
    if place in moved:
        return moved[place]
    return place.partition("/")[0] if "/" in place else "tutorials"


def _order(place: str) -> tuple[int, str]:
    stem = PurePosixPath(place).stem
    return (_FIRST.index(stem) if stem in _FIRST else len(_FIRST), place)


def _target(target: str, source: str, where: dict[str, str], files: str) -> str:
    """Return a link target as the page's place needs it; empty if it leads to nothing on the site."""
    if re.match(r"[a-z]+:|#", target):
        return target
    path, sign, anchor = target.partition("#")
    file = normpath(f"{PurePosixPath(source).parent}/{path}")
    if file in where:
        return relpath(where[file], PurePosixPath(where[source]).parent.as_posix()) + sign + anchor
    return f"{files}{file}" if files else ""


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    return "\n".join(line if is_code else change(line) for line, is_code in _lines(text)) + "\n"


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    fence = ""
    for line in text.splitlines():
        match = _FENCE.match(line.lstrip() if fence or line.lstrip().startswith("```") else line)
        yield line, bool(fence or match)
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence):
            fence = ""
