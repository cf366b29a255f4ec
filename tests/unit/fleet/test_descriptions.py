"""The descriptions of an instance are found by what both sides say."""

import polars as pl

from plimsoll.fleet.descriptions import Descriptions
from plimsoll.fleet.tables import DESCRIBED

EMPTY = pl.DataFrame(DESCRIBED.empty_table())


def described(*rows: tuple[str, str, str, int, str]) -> pl.DataFrame:
    names = ("account", "region", "instance", "valid_from_s", "db_class")
    return pl.DataFrame(
        [dict.fromkeys(DESCRIBED.names) | dict(zip(names, row, strict=True)) for row in rows], schema=EMPTY.schema
    )


def test_what_one_side_does_not_say_does_not_tell_instances_apart():
    rows = described(
        ("", "us-east-1", "Orders", 20, "db.m5.large"),
        ("", "", "orders", 10, "db.m4.large"),
        ("", "eu-central-1", "orders", 5, "db.t3.small"),
        ("2", "us-east-1", "orders", 7, "db.r5.large"),
        ("", "us-east-1", "other", 1, "db.x1.large"),
    )
    key = ("1", "us-east-1", "orders")
    found = Descriptions(rows, [key])

    assert [10, 20] == found.about(key).column("valid_from_s").to_pylist()
    assert "db.m5.large" in found.bought(key)


def test_an_instance_without_a_description_has_no_rows():
    found = Descriptions(EMPTY, [("1", "us-east-1", "orders")])

    assert 0 == found.about(("1", "us-east-1", "orders")).num_rows
    assert "" == found.bought(("1", "us-east-1", "orders"))
