"""The site: which pages it has, how links change, and that the check of a built site finds what is wrong."""

from pathlib import Path

import pytest
from website.check import main, wrong_links
from website.pages import navigation, places, rewritten, title_of

from contract.documents import documents
from contract.tree import ROOT

WHERE = {
    "README.md": "project/readme.md",
    "docs/guides/a.md": "guides/a.md",
    "docs/x.png": "x.png",
    "NOTICE": "project/notice.md",
}


def test_every_document_that_is_linked_is_a_page():
    """All of docs/, and at the root what the index links."""
    found = places()
    absent = [
        name
        for path in documents()
        if (name := path.relative_to(ROOT).as_posix()).startswith("docs/") and name not in found
    ]

    assert not absent
    assert {"CHANGELOG.md", "SECURITY.md", "integrations/helm/README.md"} <= found.keys()
    assert len(set(found.values())) == len(found)


def test_every_page_is_in_the_navigation_once():
    """In the order of Diátaxis."""
    where = places()
    pages = [place for place in where.values() if place.endswith(".md")]
    nav = navigation(dict.fromkeys([*pages, "gallery.md"], "title"), where)
    listed = []
    for entry in nav:
        for target in entry.values():
            listed += [target] if isinstance(target, str) else [p for e in target for p in e.values()]

    assert sorted(listed) == sorted([*pages, "gallery.md"])
    labels = [label for entry in nav for label in entry]
    assert labels[2:8] == ["Tutorials", "Guides", "Concepts", "Reference", "Runbooks", "Decisions"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](docs/guides/a.md#b)", "[a](../guides/a.md#b)"),
        ("![ship](docs/x.png)", "![ship](../x.png)"),
        ("[n](NOTICE) [w](https://w.example)", "[n](notice.md) [w](https://w.example)"),
        ("[top](#top)", "[top](#top)"),
        ("[`code.py`](src/code.py) stays", "`code.py` stays"),
        ('<img src="docs/x.png">', '<img src="../x.png">'),
        ("```sh\n[a](docs/guides/a.md)\n```", "```sh\n[a](docs/guides/a.md)\n```"),
    ],
)
def test_links_are_those_of_the_site(text: str, expected: str):
    """A link to what is no page becomes its text; code stays."""
    assert rewritten(text, "README.md", WHERE, "") == f"{expected}\n"


def test_source_files_are_linked_where_they_are_published():
    """The setting is the beginning of their addresses."""
    text = rewritten("[c](../../src/c.py)", "docs/guides/a.md", WHERE, "https://git.example/")

    assert text == "[c](https://git.example/src/c.py)\n"
    assert title_of("# The `x` of [y](z.md)\n", "p.md") == "The x of y"


PAGE = '<html><body><h1 id="here">x</h1>{}</body></html>'


@pytest.mark.parametrize(
    ("html", "why"),
    [
        ('<a href="b/">ok</a><a href="b/#there">ok</a><a href="#here">ok</a>', ""),
        ('<a href="https://w.example/a?b#c">ok</a><a href="mailto:a@b.example">ok</a>', ""),
        ('<link rel="canonical" href="https://w.example/">', ""),
        ('<a href="c/">x</a>', "leads to no file"),
        ('<a href="b/#gone">x</a>', "leads to no heading"),
        ('<a href="../x">x</a>', "is outside the site"),
        ('<a href="https://">x</a>', "is no address"),
        ('<img src="https://w.example/a.png">', "is loaded from another host"),
        ('<script src="//cdn.example/a.js"></script>', "is loaded from another host"),
        ('<link rel="stylesheet" href="https://fonts.example/a">', "is loaded from another host"),
        ('<link rel="preconnect" href="https://fonts.example">', "is loaded from another host"),
        ("<style>a{{background:url(https://w.example/a)}}</style>", "is loaded from another host"),
        ('<img srcset="b/index.html 1x, https://w.example/a 2x">', "is loaded from another host"),
    ],
)  # fmt: skip
def test_the_check_finds_what_is_wrong(tmp_path: Path, html: str, why: str):
    """One line for each link, with the page."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "index.html").write_text('<h2 id="there">y</h2>')
    (tmp_path / "index.html").write_text(PAGE.format(html.replace("{{", "{").replace("}}", "}")))
    found = list(wrong_links(tmp_path))

    assert bool(found) == bool(why)
    assert all(line.startswith("index.html: ") and line.endswith(why) for line in found)
    assert main(tmp_path) == (1 if why else 0)


def test_the_check_reads_style_sheets_and_refuses_an_empty_site(tmp_path: Path):
    """A font of another host is found; a site without pages was not built."""
    assert main(tmp_path) == 1
    (tmp_path / "index.html").write_text("x")
    (tmp_path / "a.css").write_text("@import 'https://fonts.example/a';")

    assert list(wrong_links(tmp_path)) == ["a.css: 'https://fonts.example/a' is loaded from another host"]
