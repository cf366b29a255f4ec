"""The report for tickets."""

import msgspec
import pytest

from plimsoll.reports.diagnosis.markdown import render_markdown
from unit.reports.fixture_diagnosis import CASES, pressed


@pytest.mark.parametrize("case", CASES)
def test_golden(case, golden):
    """The Markdown report reads as it was last reviewed."""
    golden(f"reports/{case}.md", render_markdown(*CASES[case]()))


def test_names_cannot_become_markup():
    """HTML, links, emphasis and table bars in a name are text."""
    diagnosis, shot = pressed()
    name = "<script>alert(1)</script> [x](http://y) *b* `c` a|b _d_"
    instance = msgspec.structs.replace(diagnosis.instance, identifier=name)
    text = render_markdown(msgspec.structs.replace(diagnosis, instance=instance), shot)
    escaped = r"\<script\>alert(1)\</script\> \[x\](http://y) \*b\* \`c\` a\|b \_d\_"

    assert escaped in text
    assert name not in text


def test_words_with_underscores_stay_readable():
    """An underscore inside a word means nothing in Markdown and is left alone."""
    diagnosis, shot = pressed()
    diagnosis = msgspec.structs.replace(diagnosis, source="file read_bytes_per_s.json")

    assert "file read_bytes_per_s.json" in render_markdown(diagnosis, shot)


def test_every_row_of_a_table_has_the_cells_of_its_head():
    """A bar in a cell would add a column; none does."""
    lines = render_markdown(*pressed()).splitlines()
    tables = [line for line in lines if line.startswith("|")]
    counts = [line.replace(r"\|", "").count("|") for line in tables]

    assert tables
    assert set(counts) <= {8, 6, 5}
