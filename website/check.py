"""
Check a built site: every link and anchor leads somewhere, and no page requests another host.

python -m website.check FOLDER prints what is wrong, one line each, and ends with status 1 if anything is. Links to other
hosts are only checked for their form: nothing is sent.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from posixpath import normpath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

# Links that a browser follows only when the reader does, or that are for machines.
_NOT_REQUESTED = {"canonical", "next", "prev", "alternate", "license", "author", "edit", "help", "me"}
_REQUESTING = {"src", "srcset", "data", "poster", "action", "href", "xlink:href"}
_CSS_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
_ADDRESS = re.compile(
    r"https?://[a-z0-9-]+(\.[a-z0-9-]+)*(:\d+)?(/[^\s\"<>]*)?(\?[^\s\"<>]*)?(#[^\s\"<>]*)?", re.IGNORECASE
)
_SCHEMES_WITHOUT_REQUEST = ("data", "mailto", "tel", "blob")


class Link(NamedTuple):
    """An address in a page."""

    address: str
    is_request: bool
    """Whether a browser loads it by itself."""


class _Reader(HTMLParser):
    """Collects addresses and anchors of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[Link] = []
        self.anchors: set[str] = set()
        self._is_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._is_style = tag == "style"
        self.anchors |= {values[name] for name in ("id", "name") if name in values and tag != "meta"}
        rel = set(values.get("rel", "").split())
        for name, value in values.items():
            if name == "style":
                self._css(value)
            if name not in _REQUESTING or not (name != "data" or tag == "object"):
                continue
            is_request = tag != "a" and not (tag == "link" and rel & _NOT_REQUESTED)
            parts = value.split(",") if name == "srcset" else [value]
            self.links += [Link(part.strip().split(" ")[0], is_request) for part in parts]
        if tag == "meta" and values.get("http-equiv", "").lower() == "refresh":
            self.links.append(Link(values.get("content", "").partition("=")[2], is_request=True))

    def handle_data(self, data: str) -> None:
        if self._is_style:
            self._css(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "style":
            self._is_style = False

    def _css(self, text: str) -> None:
        self.links += [Link(a or b, is_request=True) for a, b in _CSS_URL.findall(text)]


def wrong_links(site: Path) -> Iterator[str]:
    """Yield a sentence for each link that leads nowhere, is no address, or loads from another host."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        for link in dict.fromkeys(page.links):
            if why := _why_wrong(link, path, site, pages):
                yield f"{name}: '{link.address}' {why}"
    for path in sorted(site.rglob("*.css")):
        for found in _CSS_URL.findall(path.read_text(encoding="utf-8")):
            address = "".join(found)
            if why := _why_wrong(Link(address, is_request=True), path, site, pages):
                yield f"{path.relative_to(site).as_posix()}: '{address}' {why}"


def _read(path: Path) -> _Reader:
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader


def _why_wrong(link: Link, path: Path, site: Path, pages: dict[Path, _Reader]) -> str:
    """Return why a link is wrong; empty if it is not."""
    parts = urlsplit(link.address)
    if parts.scheme in _SCHEMES_WITHOUT_REQUEST:
        return ""
    if parts.scheme or parts.netloc:
        if link.is_request:
            return "is loaded from another host"
        return "" if _ADDRESS.fullmatch(link.address) else "is no address"
    file = path
    if parts.path:
        base = "" if parts.path.startswith("/") else path.parent.relative_to(site).as_posix()
        below = normpath(f"{base}/{unquote(parts.path)}".lstrip("/"))
        if below.startswith(".."):
            return "is outside the site"
        file = site / below
        file = file / "index.html" if file.is_dir() else file
    if not file.is_file():
        return "leads to no file"
    anchor = unquote(parts.fragment)
    # The browser itself knows the top of a page.
    if anchor and anchor != "top" and file in pages and anchor not in pages[file].anchors:
        return "leads to no heading"
    return ""


def main(folder: Path) -> int:
    """Check a folder, and return the exit status."""
    wrong = list(wrong_links(folder))
    count = len(list(folder.rglob("*.html")))
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    if not count:
        sys.stdout.write(f"no page in {folder}\n")
        return 1
    sys.stdout.write(f"{count} pages, {len(wrong)} wrong links\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
