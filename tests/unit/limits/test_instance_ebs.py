"""Throughput and IOPS of the instance, present and legacy."""

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.errors import CatalogError
from plimsoll.limits import ceilings_of
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.metric import Metric
from plimsoll.units import mb_per_s
from unit.limits.instances import epoch, instance, legacy, of, values

THROUGHPUT, IOPS = Family.INSTANCE_EBS_THROUGHPUT, Family.INSTANCE_EBS_IOPS


def test_a_bursting_class_has_baseline_and_burst():
    """db.r5.2xlarge holds 287.5 MB/s and bursts to 593.75 MB/s; 30 minutes need (M − B)·1800 s of credits, or M·1800 s."""
    now = of(instance(launched_s=epoch("2024-01-01")), THROUGHPUT)
    bounds = mb_per_s(593.75 - 287.5) * 1800, mb_per_s(593.75) * 1800

    assert {Phase.BASELINE: mb_per_s(287.5), Phase.BURST: mb_per_s(593.75)} == values(now)
    assert {(Metric.BYTE_BALANCE_RATIO, *bounds)} == {(c.balance_metric, c.capacity_low, c.capacity_high) for c in now}


def test_a_class_whose_numbers_are_equal_has_no_bucket():
    """db.r5.4xlarge has one number for ever: no baseline, no burst, no balance."""
    (ceiling,) = of(instance("db.r5.4xlarge", launched_s=epoch("2024-01-01")), IOPS)

    assert (ceiling.phase, ceiling.value) == (Phase.FIXED, 18_750)
    assert ceiling.balance_metric is None
    assert ceiling.capacity_low is None


OF_2019 = {mb_per_s(212.5): Phase.BASELINE, mb_per_s(437.5): Phase.BURST}


@pytest.mark.parametrize(
    ("day", "expected"), [("2019-06-01", OF_2019), ("2019-12-04", OF_2019), ("2019-12-05", {}), ("2024-01-01", {})]
)
def test_legacy_limits_are_those_documented_on_the_day_of_the_launch(day: str, expected: dict):
    """Up to 2019-12-04 db.r5.2xlarge had 212.5 and 437.5 MB/s; an instance launched later never had them."""
    assert legacy(instance(launched_s=epoch(day)), THROUGHPUT) == expected


def test_without_a_launch_date_all_legacy_limits_are_possible():
    """All are listed, and each says that the age is not known."""
    found = [c for c in of(instance("db.m5.large"), THROUGHPUT) if c.phase is Phase.LEGACY]

    assert {c.value for c in found} == {mb_per_s(60), mb_per_s(265), mb_per_s(437.5)}
    assert all("launch date is missing" in c.note for c in found)


def test_each_legacy_number_stands_once():
    """60 MB/s was the baseline of db.m5.large in two editions: one ceiling over both."""
    (ceiling,) = [c for c in of(instance("db.m5.large"), THROUGHPUT) if c.value == mb_per_s(60)]

    assert ceiling.former_phase is Phase.BASELINE
    assert (ceiling.origin.valid_from, ceiling.origin.valid_to) == ("2018-02-02", "2019-12-04")
    assert ceiling.capacity_low == mb_per_s(265 - 60) * 1800
    assert ceiling.capacity_high == mb_per_s(437.5) * 1800


def test_a_number_printed_for_days_yields_to_the_one_printed_for_a_year():
    """437.5 MB/s was a fixed number for ten days and then a burst for sixteen months: it is a burst."""
    (ceiling,) = [c for c in of(instance(), THROUGHPUT) if c.value == mb_per_s(437.5)]

    assert ceiling.former_phase is Phase.BURST


def test_a_legacy_number_that_is_todays_is_not_repeated():
    """The IOPS of db.r5.2xlarge are the same as in 2018."""
    assert legacy(instance(), IOPS) == {}


def test_a_legacy_limit_says_what_lifts_it():
    """For the changes of 2019 and 2020 EC2 documents that a stop and start does; for others nothing."""
    documented = [c for c in of(instance(), THROUGHPUT) if c.phase is Phase.LEGACY]
    other = [c for c in of(instance("db.t4g.xlarge"), THROUGHPUT) if c.phase is Phase.LEGACY]

    assert documented
    assert all("a stop and start applies" in c.note for c in documented)
    assert other
    assert all("does not document" in c.note for c in other)


def test_an_unknown_class_is_an_error_and_no_class_is_not():
    """A class that the catalog does not know is refused; a host without a class has other ceilings."""
    assert ceilings_of(instance(None), catalog())
    with pytest.raises(CatalogError):
        ceilings_of(instance("db.r5.3xlarge"), catalog())
