"""A table is refused by file, line and column."""

import pytest

from plimsoll.catalog import schema
from plimsoll.errors import CatalogError

TABLE = schema.CatalogTable(
    "classes.csv",
    ("name",),
    (
        schema.CatalogColumn("name", str),
        schema.CatalogColumn("size", schema.number, optional=True),
        schema.CatalogColumn("since", schema.date, optional=True),
        schema.CatalogColumn("sold", schema.yes_no),
    ),
)


def test_fields_are_read_by_their_columns():
    """Numbers, dates and yes or no are read; an empty field is unknown, not zero."""
    rows = schema.parse(TABLE, "name,size,since,sold\na,1.5,2019-12-04,yes\nb,,2026-11,no\n")

    assert rows == [
        {"name": "a", "size": 1.5, "since": "2019-12-04", "sold": True},
        {"name": "b", "size": None, "since": "2026-11", "sold": False},
    ]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "line 1: the header is not name,size,since,sold"),
        ("name,size\n", "line 1: the header is not name,size,since,sold"),
        ("name,size,since,sold\na,0,,yes\n", "line 2: size is '0': it is not above zero"),
        ("name,size,since,sold\na,-1,,yes\n", "line 2: size is '-1': it is not above zero"),
        ("name,size,since,sold\na,nan,,yes\n", "line 2: size is 'nan': it is not above zero"),
        ("name,size,since,sold\na,,2019-13-01,yes\n", "line 2: since is '2019-13-01'"),
        ("name,size,since,sold\na,,,maybe\n", "line 2: sold is 'maybe'"),
        ("name,size,since,sold\n,,,yes\n", "line 2: name is empty"),
        ("name,size,since,sold\na,,yes\n", "line 2: 3 fields instead of 4"),
        ("name,size,since,sold\na,,,yes\na,2,,no\n", "line 3: the row for a is there twice"),
    ],
)
def test_what_is_wrong_is_named(text: str, cause: str):
    """The message names the file, the line, and what the line should hold."""
    with pytest.raises(CatalogError) as caught:
        schema.parse(TABLE, text)

    assert f"catalog table classes.csv is wrong in {cause}" in caught.value.message


@pytest.mark.parametrize("text", ["0", "-3", "2.5", "many"])
def test_a_whole_number_is_above_zero(text: str):
    """Counts are whole and above zero."""
    with pytest.raises(ValueError):
        schema.whole(text)


@pytest.mark.parametrize("text", ["0", "-0.1", "free"])
def test_a_price_is_above_zero(text: str):
    """No price of the catalog is zero: what is not known is left empty."""
    with pytest.raises(ValueError):
        schema.usd(text)


def test_a_rendered_table_is_parsed_back():
    """Rendering is the inverse of parsing, also for texts with commas and quotes."""
    rows = [
        {"name": 'a, "b"', "size": 86.875, "since": None, "sold": True},
        {"name": "c", "size": 4.0, "since": "2020-02-28", "sold": False},
    ]

    assert rows == schema.parse(TABLE, schema.render(TABLE, rows))
