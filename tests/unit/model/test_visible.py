"""What is not seen or controls a terminal reaches none of the places where text is shown."""

import json

import pytest

from plimsoll.model.visible import cell, escaped_json, visible

HIDDEN = {
    "ESC": "\x1b",
    "BEL": "\x07",
    "NUL": "\x00",
    "CR": "\r",
    "DEL": "\x7f",
    "CSI of C1": "\x9b",
    "right to left": "\u202e",
    "isolate": "\u2067",
    "zero width": "\u200b",
    "byte order mark": "\ufeff",
    "line separator": "\u2028",
    "a tag": "\U000e0041",
    "a surrogate": "\udc80",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_each_of_them_is_replaced(name):
    """Alone, within a word, and in a cell."""
    assert "a\ufffdb" == visible(f"a{HIDDEN[name]}b")
    assert "\ufffd" in cell(HIDDEN[name])
    assert HIDDEN[name] not in cell(f"={HIDDEN[name]}1")


@pytest.mark.parametrize("name", HIDDEN)
def test_json_has_the_same_content_without_them(name):
    """Programs read what was written; a terminal shows the escape."""
    text = json.dumps({"name": f"a{HIDDEN[name]}b"}, ensure_ascii=False)

    assert json.loads(text) == json.loads(escaped_json(text))
    assert HIDDEN[name] not in escaped_json(text)


def test_a_text_of_several_lines_keeps_them():
    """Letters of every script, spaces that do not break, tabs and newlines stay."""
    text = "Größe 10\u00a0MiB/s\n\t数据库 – ▲ é\n"

    assert text == visible(text)


def test_colours_stay_where_they_are_wanted():
    """Nothing but a colour does: no title of a window, no movement, no link."""
    assert "\x1b[1;31mred\x1b[0m" == visible("\x1b[1;31mred\x1b[0m", has_color=True)
    assert "\ufffd]0;title\ufffd" == visible("\x1b]0;title\x07", has_color=True)
    assert "\ufffd[2J" == visible("\x1b[2J", has_color=True)


@pytest.mark.parametrize(
    "text", ["=HYPERLINK(1)", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", " =1", "＝1", "-a", "+", "-1e", "--1"]
)
def test_a_formula_is_a_text(text):
    """Every sign with which a spreadsheet begins one, also behind blanks."""
    assert cell(text).startswith("'")


@pytest.mark.parametrize("text", ["", "-2.5", "+3", "1e9", "-1E-3", "a=1", "orders-primary", "'=1", "12"])
def test_a_number_and_a_name_stay_as_they_are(text):
    """A number below zero is no formula."""
    assert text == cell(text)
