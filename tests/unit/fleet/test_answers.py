"""Totals, groups and times at limits are sums of what is known; what is not known is counted."""

from decimal import Decimal

import pytest

import fleets
from plimsoll.errors import UsageError
from plimsoll.fleet.answers import check_by, grouping_of, limit_times, tags_of, totals_of
from plimsoll.model.fleet_answer import FleetTotals


def counts(of: FleetTotals) -> tuple[int, ...]:
    counted = (of.now_count, of.earlier_count, of.waiting_count, of.near_count, of.unknown_count)
    return (*counted, of.slack_count)


def test_every_instance_is_counted_once_in_the_totals():
    of = totals_of(fleets.ROWS)

    assert (1, 2, 1, 1, 2, 3) == counts(of)
    assert len(fleets.ROWS) == of.instance_count == sum(counts(of))


def test_spend_is_the_sum_of_known_prices():
    of = totals_of(fleets.ROWS)

    assert (7, Decimal("52.6000")) == (of.priced_count, of.usd_per_day)


def test_without_any_price_an_amount_is_unknown_and_not_zero():
    of = totals_of([fleets.row("a", usd_per_day=None), fleets.row("b", usd_per_day=None)])

    assert (0, None, None, None) == (
        of.priced_count,
        of.usd_per_day,
        of.change_usd_per_day_more,
        of.saving_usd_per_day_most,
    )


def test_a_likely_saving_is_each_saving_times_its_chance():
    of = totals_of(fleets.ROWS)

    assert Decimal("5.40") * Decimal("0.7") + Decimal("5.40") == of.saving_usd_per_day_likely
    assert Decimal("10.80") == of.saving_usd_per_day_most


def test_a_saving_without_a_chance_makes_the_likely_sum_unknown():
    sized = {"cheaper": "a", "cheaper_usd_per_day_more": Decimal(-2)}
    of = totals_of([fleets.row("a", cheaper_chance=0.5, **sized), fleets.row("b", **sized)])

    assert (None, Decimal(4)) == (of.saving_usd_per_day_likely, of.saving_usd_per_day_most)


def test_a_setup_that_costs_more_saves_nothing():
    row = fleets.row("a", cheaper="b", cheaper_usd_per_day_more=Decimal(1), cheaper_chance=1.0)

    assert (0, None) == (totals_of([row]).cheaper_count, totals_of([row]).saving_usd_per_day_most)


def test_changes_count_where_a_limit_was_reached_only():
    sure = {"option": "x", "option_usd_per_day_more": Decimal(3)}
    of = totals_of([fleets.bound("a", 0.5), fleets.row("b", **sure)])

    assert (1, 0, Decimal("3.82")) == (
        of.change_count,
        of.change_unpriced_count,
        of.change_usd_per_day_more,
    )


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


@pytest.mark.parametrize("text", ["", "Class", "tag", "tag:", "tag:" + "k" * 129])
def test_a_grouping_that_does_not_exist_is_refused(text: str):
    with pytest.raises(UsageError, match=r"grouping|tag: needs"):
        check_by(text)


@pytest.mark.parametrize("tags", [None, "", "{", "[1]", '{"team":3}'])
def test_damaged_tags_are_no_tags(tags: str | None):
    assert {} == tags_of(fleets.row("a", tags=tags))


def test_time_at_a_limit_is_summed_by_limit():
    [longest, other] = limit_times(fleets.ROWS)

    assert ("instance_ebs_throughput", 2) == (longest.family, longest.instance_count)
    assert pytest.approx(0.46 * 7 * fleets.DAY_S) == longest.at_ceiling_s
    assert pytest.approx(0.046) == longest.measured_ratio
    assert ("volume_iops", 1) == (other.family, other.instance_count)
