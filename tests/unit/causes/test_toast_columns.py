"""Which column is likely to be stored out of line."""

import msgspec
import pytest

from databases import budget, column
from plimsoll.causes.toast import causes
from unit.causes.test_toast import sent


@pytest.mark.parametrize(
    ("width_bytes", "told"),
    [
        (14.0, "body (the only one that can be stored out of line)"),
        (17.0, "body, scan (one or more of them; counters do not say which)"),
        (19.0, "scan, body (one or more of them; counters do not say which)"),
        (22.0, "body (the only one whose width in the row is that of a pointer)"),
    ],
)
def test_a_value_out_of_line_leaves_18_bytes_in_the_row(width_bytes: float, told: str):
    """
    Values of 14 bytes are shorter than a pointer, of 22 longer; of 17 and 19 some may be pointers.
    """
    watched = sent(columns=("body",))
    owner, toast = watched.last.relations
    columns = (*owner.columns, column("scan", mean_width_bytes=width_bytes))
    relations = (msgspec.structs.replace(owner, columns=columns), toast)
    last = msgspec.structs.replace(watched.last, relations=relations)
    (cause,) = causes(msgspec.structs.replace(watched, last=last), budget())

    assert f"Column: {told}." in cause.text
