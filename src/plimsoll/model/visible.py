"""
Make text safe where it is shown: on a terminal, on a page, in Markdown, in a spreadsheet, in metrics.

Names come from whoever can create a table, a tag or a file. All of these places use the functions of this file.
"""

import re

# Control characters of ASCII and Latin-1 but for tab and newline; what turns the order of letters around or
# is not seen (Unicode Bidirectional Algorithm, UAX 9; default ignorable code points); and lone surrogates.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_COLOR = re.compile("(\x1b\\[[0-9;]*m)")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
# Source: OWASP, "CSV Injection" (2026-11): the signs with which a cell is a formula, full-width ones too.
_FORMULA = tuple("=+-@\t\r＝＋－＠")


def visible(text: str, *, has_color: bool = False) -> str:
    """
    Return the text with U+FFFD for each character that is not seen or controls a terminal.

    Tabs and newlines stay; with `has_color` the sequences that set a colour, too.
    """
    if not has_color:
        return _HIDDEN.sub("\ufffd", text)
    parts = _COLOR.split(text)
    return "".join(part if n % 2 else visible(part) for n, part in enumerate(parts))


def escaped_json(text: str) -> str:
    """Return JSON of the same content in which these characters, which JSON allows in a text, are escaped."""
    return _HIDDEN.sub(lambda found: _escape(found[0]), text)


def _escape(character: str) -> str:
    pair = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{pair[at : at + 4]}" for at in range(0, len(pair), 4))


def cell(text: str) -> str:
    """Return the text of a cell of CSV, which no spreadsheet takes for a formula; a number stays one."""
    is_formula = text.lstrip(" ").startswith(_FORMULA) and not _NUMBER.fullmatch(text)
    return visible(f"'{text}" if is_formula else text)
