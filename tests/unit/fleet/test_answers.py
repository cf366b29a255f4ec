"""Totals, groups and times at limits are sums of what is known; what is not known is counted."""

from decimal import Decimal

import pytest

import fleets
from plimsoll.fleet.answers import grouping_of, limit_times, tags_of, totals_of
from plimsoll.model.fleet_answer import FleetTotals


def counts(of: FleetTotals) -> tuple[int, ...]:
    counted = (of.now_count, of.earlier_count, of.waiting_count, of.near_count, of.unknown_count)
    return (*counted, of.slack_count)


SIZED = {"cheaper": "a", "cheaper_usd_per_day_more": Decimal(-2)}
DEARER = {"cheaper": "b", "cheaper_usd_per_day_more": Decimal(1), "cheaper_chance": 1.0}
SURE = {"option": "x", "option_usd_per_day_more": Decimal(3)}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # Spend is the sum of known prices; a likely saving is each saving times its chance.
        (
            fleets.ROWS,
            {
                "instance_count": len(fleets.ROWS),
                "priced_count": 7,
                "usd_per_day": Decimal("52.6000"),
                "saving_usd_per_day_likely": Decimal("5.40") * Decimal("0.7") + Decimal("5.40"),
                "saving_usd_per_day_most": Decimal("10.80"),
            },
        ),
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
    ids=["all", "no price", "no chance", "dearer", "changes"],
)
def test_totals_are_sums_of_what_is_known(rows, expected: dict[str, object]):
    of = totals_of(rows)

    assert expected == {name: getattr(of, name) for name in expected}


def test_every_instance_is_counted_once_in_the_totals():
    assert (1, 2, 1, 1, 2, 3) == counts(totals_of(fleets.ROWS))
    assert len(fleets.ROWS) == sum(counts(totals_of(fleets.ROWS)))


def test_groups_by_a_tag_have_one_for_instances_without_it():
    found = grouping_of(fleets.ROWS, "tag:team")
    sizes = {group.name: group.totals.instance_count for group in found.groups}

    assert {"shop": 3, "search": 2, "ledger": 2, fleets.HOSTILE: 1, None: 2} == sizes
    assert "shop" == found.groups[0].name
    assert () == found.tag_keys


def test_a_tag_that_no_instance_has_lists_those_that_there_are():
    found = grouping_of(fleets.ROWS, "tag:Team")

    assert [None] == [group.name for group in found.groups]
    assert ("env", "team") == found.tag_keys


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("class", {"db.m6g.large", "db.r5.2xlarge", "db.r6g.xlarge", None}),
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


def test_time_at_a_limit_is_summed_by_limit():
    [longest, other] = limit_times(fleets.ROWS)

    assert ("instance_ebs_throughput", 2) == (longest.family, longest.instance_count)
    assert pytest.approx(0.46 * 7 * fleets.DAY_S) == longest.at_ceiling_s
    assert pytest.approx(0.046) == longest.measured_ratio
    assert ("volume_iops", 1) == (other.family, other.instance_count)
