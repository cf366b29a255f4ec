"""A table is refused by file, line and column."""

from decimal import Decimal
from typing import Literal

import pytest
from msgspec import Struct, field

from plimsoll.catalog import schema
from plimsoll.errors import CatalogError
from plimsoll.model.ceiling import Origin
from plimsoll.model.column import Amount, Count, Day, MbPerS, MemoryGib, Usd, YesNo


class Kind(Struct, frozen=True, kw_only=True):
    name: str
    rate_bytes_per_s: MbPerS | None = field(name="rate_mb_per_s", default=None)
    since: Day | None = None
    is_sold: YesNo = field(name="sold")
    origin: Origin


TABLE = schema.CatalogTable("classes.csv", Kind, ("name",), dates=("valid_from", "valid_to"))
HEADER = "name,rate_mb_per_s,since,sold,valid_from,valid_to,source"
SOURCES = {
    "guide": schema.Source(id="guide", title="The guide", read_on="2026-11-01", kind="documentation", where="there"),
    "page": schema.Source(id="page", title="The page", kind="documentation", where="there"),
}


def parsed(*lines: str) -> tuple[Kind, ...]:
    return schema.parse(TABLE, "\n".join((HEADER, *lines)), SOURCES)


def test_a_row_is_a_value_in_si_units():
    """Numbers, dates and yes or no are read in SI units; an empty field is unknown, not zero."""
    rows = parsed("a,1.5,2019-12-04,yes,2019-01,,guide", "b,,2026-11,no,2019-01,2020-01-31,page")

    first = Origin(source="The guide", read_on="2026-11-01", valid_from="2019-01")
    second = Origin(source="The page", read_on="2019-01", valid_from="2019-01", valid_to="2020-01-31")
    assert rows == (
        Kind(name="a", rate_bytes_per_s=1_500_000.0, since="2019-12-04", is_sold=True, origin=first),
        Kind(name="b", rate_bytes_per_s=None, since="2026-11", is_sold=False, origin=second),
    )


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        ([""], f"line 1: the header is not {','.join(TABLE.columns)}"),
        (["name,sold"], f"line 1: the header is not {','.join(TABLE.columns)}"),
        ([HEADER + ",name"], f"line 1: the header is not {','.join(TABLE.columns)}"),
        ([HEADER, "a,0,,yes,2019-01,,guide"], "line 2: rate_mb_per_s is '0': expected `float` > 0.0"),
        ([HEADER, "a,-1,,yes,2019-01,,guide"], "line 2: rate_mb_per_s is '-1': expected `float` > 0.0"),
        ([HEADER, "a,nan,,yes,2019-01,,guide"], "line 2: rate_mb_per_s is 'nan': expected `float` > 0.0"),
        ([HEADER, "a,1e999,,yes,2019-01,,guide"], "line 2: rate_mb_per_s is '1e999': "),
        ([HEADER, "a,many,,yes,2019-01,,guide"], "line 2: rate_mb_per_s is 'many': "),
        ([HEADER, "a,,2019-13-01,yes,2019-01,,guide"], "line 2: since is '2019-13-01': it is not an ISO date"),
        ([HEADER, "a,,,yes,today,,guide"], "line 2: valid_from is 'today': it is not an ISO date"),
        ([HEADER, "a,,,yes,,,guide"], "line 2: valid_from is empty"),
        ([HEADER, "a,,,maybe,2019-01,,guide"], "line 2: sold is 'maybe': it is neither yes nor no"),
        ([HEADER, ",,,yes,2019-01,,guide"], "line 2: name is empty"),
        ([HEADER, "a,,,yes,2019-01,,"], "line 2: source is empty"),
        ([HEADER, "a,,yes"], "line 2: 3 fields instead of 7"),
        ([HEADER, "a,,,yes,2019-01,,guide", "a,2,,no,2019-01,,guide"], "line 3: the row for a is there twice"),
    ],
)
def test_what_is_wrong_is_named(lines: list[str], cause: str):
    """The message names the file, the line, and what the line should hold."""
    with pytest.raises(CatalogError) as caught:
        schema.parse(TABLE, "\n".join(lines), SOURCES)

    assert f"catalog table classes.csv is wrong in {cause}" in caught.value.message


class Fields(Struct, frozen=True, kw_only=True):
    count: Count | None = None
    amount: Amount | None = None
    usd: Usd = Decimal(1)
    memory_bytes: MemoryGib = field(name="memory_gib", default=1)
    word: Literal["verified", "unverified"] = "verified"


@pytest.mark.parametrize(
    ("column", "text"),
    [
        *(("count", text) for text in ("0", "-3", "2.5", "many", "null")),
        *(("amount", text) for text in ("0", "-1", "inf", "1e15", "many", "null")),
        *(("usd", text) for text in ("0", "-0.1", "free", "NaN")),
        *(("memory_gib", text) for text in ("0", "inf", "nan", "much")),
        ("word", "perhaps"),
    ],
)
def test_what_no_fact_can_be_is_refused(column: str, text: str):
    """Counts are whole; every number and price is above zero and finite; words are those of the column."""
    table = schema.CatalogTable("rules.csv", Fields, (column,))
    row = ["" if name != column else text for name in table.columns]

    with pytest.raises(CatalogError) as caught:
        schema.parse(table, f"{','.join(table.columns)}\n{','.join(row)}", {})

    assert f"catalog table rules.csv is wrong in line 2: {column} is '{text}': " in caught.value.message


def test_a_rendered_table_is_read_back():
    """Rendering is the inverse of reading, also for texts with commas and quotes."""
    rows = [{"name": 'a, "b"', "size": "86.875", "sold": "yes"}, {"name": "c", "size": "", "sold": "no"}]

    assert rows == schema.texts_of(schema.render(rows))
