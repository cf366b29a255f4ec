"""Totals, groups and times at limits are sums of what is known; what is not known is counted."""

from decimal import Decimal

import pytest

import fleets
from plimsoll.fleet.answers import grouping_of, tags_of, totals_of

SIZED = {"cheaper": "a", "cheaper_usd_per_day_more": Decimal(-2)}
DEARER = {"cheaper": "b", "cheaper_usd_per_day_more": Decimal(1), "cheaper_chance": 1.0}
SURE = {"option": "x", "option_usd_per_day_more": Decimal(3)}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # Without any price an amount is unknown and not zero.
        (
            [fleets.row("a", usd_per_day=None), fleets.row("b", usd_per_day=None)],
            {"priced_count": 0, "usd_per_day": None, "change_usd_per_day_more": None, "saving_usd_per_day_most": None},
        ),
        # A saving without a chance makes the likely sum unknown.
        (
            [fleets.row("a", cheaper_chance=0.5, **SIZED), fleets.row("b", **SIZED)],
            {"saving_usd_per_day_likely": None, "saving_usd_per_day_most": Decimal(4)},
        ),
        # A setup that costs more saves nothing.
        ([fleets.row("a", **DEARER)], {"cheaper_count": 0, "saving_usd_per_day_most": None}),
        # Changes count where a limit was reached only.
        (
            [fleets.bound("a", 0.5), fleets.row("b", **SURE)],
            {"change_count": 1, "change_unpriced_count": 0, "change_usd_per_day_more": Decimal("3.82")},
        ),
    ],
    ids=["no price", "no chance", "dearer", "changes"],
)
def test_totals_are_sums_of_what_is_known(rows, expected: dict[str, object]):
    of = totals_of(rows)

    assert expected == {name: getattr(of, name) for name in expected}


def test_a_tag_that_no_instance_has_lists_those_that_there_are():
    found = grouping_of(fleets.ROWS, "tag:Team")

    assert [None] == [group.name for group in found.groups]
    assert ("env", "team") == found.tag_keys


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("family", {"db.m6g", "db.r5", "db.r6g", None}),
        ("engine", {"postgres", None}),
        ("region", {"us-east-1", "eu-central-1"}),
        ("account", {"123456789012"}),
    ],
)
def test_groups_by_a_column(by: str, names: set[str | None]):
    found = grouping_of(fleets.ROWS, by)

    assert names == {group.name for group in found.groups}
    assert len(fleets.ROWS) == sum(group.totals.instance_count for group in found.groups)


def test_a_class_without_a_size_is_its_own_family():
    [group] = grouping_of([fleets.row("a", db_class="db.serverless")], "family").groups

    assert "db.serverless" == group.name


@pytest.mark.parametrize("tags", [None, "", "{", "[1]", '{"team":3}'])
def test_damaged_tags_are_no_tags(tags: str | None):
    assert {} == tags_of(fleets.row("a", tags=tags))
