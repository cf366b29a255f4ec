"""Pages by name, and the search over them."""

from pathlib import Path

import pytest

from plimsoll.app.documentation import DocsPage, as_terminal_text, documentation, page_named, search
from plimsoll.errors import UsageError

FILES = {
    "index.md": "# All\n\n[Watch](guides/watch.md)\n",
    "guides/watch.md": "# Watch *databases*\n\n## States\n\nA balance is empty. See [the page](watch.md).\n",
    "guides/export-metrics.md": (
        "# Export\n\n[Inputs](../reference/inputs.md#a) and ![a ship](x.png), [AWS](https://aws.example).\n"
        "\n```sh\n# [Not a link](../reference/inputs.md)\n```\n"
    ),
    "reference/inputs.md": "# What is read\n\nEmpty files have no balance of anything.\n",
    "reference/iam-policy.json": "{}\n",
    "runbooks/watch.md": "# The watch itself\n",
    "decisions/0001-layers.md": "# 0001 Layers\n",
    "images/x.png": "",
}


@pytest.fixture
def pages(tmp_path: Path) -> tuple[DocsPage, ...]:
    """A small documentation."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return documentation(tmp_path)


def test_pages_are_named_by_their_files_in_order(pages: tuple[DocsPage, ...]):
    """The second page of one name has its folder in front; decisions have no number; pictures are no pages."""
    assert [page.name for page in pages] == [
        "index", "export-metrics", "watch", "iam-policy", "inputs", "runbooks/watch", "layers",
    ]  # fmt: skip
    assert [page.section for page in pages][:2] == ["", "guides"]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("watch", "guides/watch.md"),
        ("guides/watch", "guides/watch.md"),
        ("runbooks/watch.md", "runbooks/watch.md"),
        ("docs/reference/inputs.md", "reference/inputs.md"),
        ("0001-layers", "decisions/0001-layers.md"),
        ("Export_Metrics", "guides/export-metrics.md"),
    ],
)
def test_a_page_is_found_by_name_and_path(pages: tuple[DocsPage, ...], name: str, path: str):
    """A path from an older message still works."""
    assert page_named(pages, name).path == path


def test_an_unknown_page_names_similar_ones(pages: tuple[DocsPage, ...]):
    """By spelling, else by a part of the name; else the list is named."""
    with pytest.raises(UsageError, match="no page of the documentation is named 'imputs'") as caught:
        page_named(pages, "imputs")
    assert caught.value.hint == "Did you mean 'plimsoll docs inputs'?"
    with pytest.raises(UsageError) as caught:
        page_named(pages, "metric")
    assert "export-metrics" in caught.value.hint
    with pytest.raises(UsageError) as caught:
        page_named(pages, "zzz")
    assert caught.value.hint == "List all pages with: plimsoll docs"


def test_search_finds_all_words_and_says_where(pages: tuple[DocsPage, ...]):
    """Pages with the words side by side are first; the heading is the one above the line."""
    found = search(pages, "Balance  is empty")
    assert [(hit.page.name, hit.heading) for hit in found] == [("watch", "States")]
    assert found[0].line[found[0].at :].startswith("balance is")
    assert [hit.page.name for hit in search(pages, "empty balance")] == ["watch", "inputs"]
    for words, cause in (("nothing", "contains 'nothing'"), (" ", "no word")):
        with pytest.raises(UsageError, match=cause):
            search(pages, words)


def test_links_become_commands_in_a_terminal(pages: tuple[DocsPage, ...]):
    """A link to a file leads nowhere in a terminal; code stays as it is."""
    text = as_terminal_text(page_named(pages, "export-metrics"), pages)

    assert "Inputs and (picture: a ship), AWS <https://aws.example>." in text
    assert "# [Not a link](../reference/inputs.md)" in text
    assert text.endswith("## Linked pages\n\n- What is read: `plimsoll docs inputs`")


def test_an_installation_without_pages_is_refused(tmp_path: Path):
    """The cause is said, not an empty list."""
    with pytest.raises(UsageError, match="has no documentation"):
        documentation(tmp_path)
