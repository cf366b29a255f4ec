"""Pages as a browser would see them."""

import re
from html.parser import HTMLParser

from plimsoll.reports.document.parts import Document, Part

VOID = {"meta", "link", "br", "img", "hr", "input"}


class PageReader(HTMLParser):
    """Tags in balance, ids, headings, references and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.headings: list[int] = []
        self.references: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.headings += [int(tag[1])] if re.fullmatch(r"h[1-6]", tag) else []
        self.references += [v for k, v in attrs if k in ("href", "src", "srcset", "action", "data") and v]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)

    @property
    def leaving(self) -> list[str]:
        """References to anything but a place on the same page that exists."""
        return [r for r in self.references if r[:1] != "#" or r[1:] not in self.ids]


def document_with(part: Part) -> Document:
    """A document of one part."""
    return Document(kind="a test", headline="A test", parts=(part,))
