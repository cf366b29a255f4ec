"""Which column is likely to be stored out of line."""

import msgspec
import pytest

from databases import budget, column
from plimsoll.causes.toast.toast import causes
from unit.causes.toast.test_toast import sent


def with_columns(*columns):
    """The cause of a table with these columns, of which no statement sets a single one."""
    watched = sent(columns=("body",))
    owner, toast = watched.last.relations
    relations = (msgspec.structs.replace(owner, columns=columns), toast)
    last = msgspec.structs.replace(watched.last, relations=relations, statements=None)
    (cause,) = causes(msgspec.structs.replace(watched, last=last), budget())
    return cause


@pytest.mark.parametrize(
    ("width_bytes", "expected"),
    [
        (14.0, "body (the only one that can be stored out of line)"),
        (17.0, "body, scan (one or more of them; counters do not say which)"),
        (19.0, "scan, body (one or more of them; counters do not say which)"),
        (22.0, "body (the only one whose width in the row is that of a pointer)"),
    ],
)
def test_a_value_out_of_line_leaves_18_bytes_in_the_row(width_bytes: float, expected: str):
    """Values of 14 bytes are shorter than a pointer, of 22 longer; of 17 and 19 some may be pointers."""
    cause = with_columns(column("body"), column("scan", mean_width_bytes=width_bytes))

    assert f"Column: {expected}." in cause.text


def test_short_columns_and_numbers_are_not_suspected():
    """What is shorter than a pointer is in the row, and numbers leave it last."""
    price = column("price", storage="main", mean_width_bytes=18.0)
    cause = with_columns(column("Body"), column("title", mean_width_bytes=5.0), price)

    assert "public.documents.Body" == cause.subject
    assert 'EXCLUDED."Body"' in cause.remedies[1].commands[0]


def test_without_widths_no_column_is_picked():
    """pg_monitor may not read widths: all possible columns are reported, and the code names none of them."""
    names = ("comment", "contract", "address")
    cause = with_columns(*(column(name, mean_width_bytes=None) for name in names))
    code = [command for remedy in cause.remedies for command in remedy.commands]

    assert "Column: comment, contract, address (not known which" in cause.text
    assert "public.documents" == cause.subject
    assert not [line for line in code if "SET" in line and "address" in line]
    assert any("the_column = CASE WHEN the_column IS DISTINCT FROM" in line for line in code)


def test_a_type_too_short_for_the_value_is_not_the_column():
    """64 characters cannot take 8 kB, so it is the other one, with the role of pg_monitor alone."""
    cause = with_columns(
        column("address", type="character varying(64)", mean_width_bytes=None),
        column("contract", mean_width_bytes=None),
    )

    assert "public.documents.contract" == cause.subject
    assert "contract = CASE WHEN contract" in cause.remedies[1].commands[2]
