"""How numbers, ceilings and moments are reported."""

import math

import pytest

from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.instance import EbsLimits, Instance, Storage
from plimsoll.reports.render import words
from unit.reports.fixture_parts import BURST, INSTANCE, IOPS_BURST, LEGACY_BASELINE, VOLUME_THROUGHPUT, interval


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (212.5e6, "bytes/s", "212.5 MB/s"),
        (18750.0, "ops/s", "18,750 IOPS"),
        (0.52, "ratio", "52 %"),
        (64 * 1024.0**3, "bytes", "64 GiB"),
        (612.0, "count", "612"),
        (144.0, "credits", "144 credits"),
        (None, "bytes/s", "unknown"),
        (math.nan, "ratio", "unknown"),
    ],
)
def test_quantities_are_reported_with_their_unit(value, unit, expected):
    """A number is reported with its unit; None and NaN are `unknown`, never zero."""
    assert expected == words.quantity(value, unit)


def test_published_limits_are_reported_in_full():
    """A documented ceiling keeps all its digits: 593.75 MB/s, not 593.8."""
    assert "593.75 MB/s" == words.ceiling_value(BURST)


def test_volume_throughput_is_reported_as_it_is_sold():
    """A volume's throughput is reported in MB/s and in the MiB/s it is sold in."""
    assert "2,097.2 MB/s (2,000 MiB/s)" == words.ceiling_value(VOLUME_THROUGHPUT)


def test_a_legacy_limit_is_called_legacy_with_what_it_was():
    """A legacy baseline is a `legacy baseline`, a limit with one number has no phase."""
    assert "instance EBS throughput, legacy baseline" == words.ceiling_name(LEGACY_BASELINE)
    assert "volume throughput" == words.ceiling_name(VOLUME_THROUGHPUT)
    assert "legacy" == words.phase_name(Phase.LEGACY, Phase.FIXED)


def test_a_limit_of_unknown_origin_has_no_phase():
    """For a limit that fits nothing, only that is reported."""
    assert "unknown limit" == words.limit_name(Family.UNKNOWN, Phase.FIXED)
    assert "unknown limit" == words.short_limit_name(Family.UNKNOWN, Phase.BASELINE)


@pytest.mark.parametrize(
    ("half", "expected"), [(2.5e5, "212.6 ± 0.2 MB/s"), (5e3, "212.60 ± 0.01 MB/s"), (12e6, "213 ± 12 MB/s")]
)
def test_a_level_has_as_many_digits_as_its_error_allows(half, expected):
    """The error decides how many decimals of a level are shown."""
    level = 212.6e6
    pegged = interval(0, 60, LEGACY_BASELINE, level=level, level_low=level - half, level_high=level + half)

    assert expected == words.level_with_error(pegged)


def test_a_level_without_error_bars_is_reported_alone():
    """An error that is not known is not shown as one."""
    pegged = interval(0, 60, IOPS_BURST, level=18_740.0, level_low=math.nan, level_high=math.nan)

    assert "18,740 IOPS" == words.level_with_error(pegged)
    assert "18,740 IOPS" == words.level(18_740.0, Dimension.IOPS)


def test_the_subject_is_name_and_class_as_far_as_known():
    """A report is about `name (class)`, or the one that is known."""
    assert "search-primary (db.r5.2xlarge)" == words.subject(INSTANCE)
    assert "db7" == words.subject(Instance(identifier="db7"))
    assert "db.t3.xlarge" == words.subject(Instance(db_class="db.t3.xlarge"))
    assert "the instance" == words.subject(Instance())


def test_storage_is_reported_as_bought():
    """Kind, size and what was provisioned, in the units they are sold in."""
    gp3 = Storage(
        kind="gp3", size_gib=400, provisioned_ops_per_s=12_000, provisioned_bytes_per_s=500 * 1024.0**2, volume_count=4
    )

    assert "gp3, 400 GiB, 12,000 IOPS, 500 MiB/s, 4 volumes" == words.storage(Instance(storage=gp3))
    assert "unknown" == words.storage(Instance())


def test_control_characters_never_pass():
    """An escape sequence in a name loses its power; line ends become spaces."""
    assert "\ufffd[31mred db" == words.plain("\x1b[31mred\ndb")


def test_clauses_become_sentences():
    """A capital and a full stop are added where they are missing; names keep their first letter."""
    assert "The level is flat." == words.sentence("the level is flat")
    assert "db.r5.2xlarge was held." == words.sentence("db.r5.2xlarge was held")
    assert "pgbench-1 ran." == words.sentence("pgbench-1 ran.")
    assert "" == words.sentence("")


def test_nothing_is_certain():
    """A probability that would round to 100 % is reported as more than 99 %."""
    assert "> 99 %" == words.confidence(0.9999)
    assert "99 %" == words.confidence(0.99)


def test_a_span_repeats_the_day_only_when_it_changes():
    """Two moments of one day share its date; seconds are shown for both or for none."""
    assert "2021-03-08 09:48 – 19:00" == words.span(1615196880, 1615230000)
    assert "2021-03-08 19:00 – 2021-03-09 00:00" == words.span(1615230000, 1615248000)
    assert "2021-03-08 19:00:05 – 19:01:00" == words.span(1615230005, 1615230060)
    assert "03-08 19:00 – 03-09 00:00" == words.short_span(1615230000, 1615248000)


def test_a_series_of_words_reads_like_a_sentence():
    """One, two and three words are joined as people do."""
    assert "a" == words.series_of(["a"])
    assert "a and b" == words.series_of(["a", "b"])
    assert "a, b and c" == words.series_of(["a", "b", "c"])


@pytest.mark.parametrize("family", Family)
def test_every_family_has_a_name(family):
    """No family of limits is reported by its code."""
    assert "_" not in words.FAMILY_NAMES[family]


def test_a_class_that_does_not_burst_has_one_number():
    """Where baseline and burst are equal the provider's number is reported once."""
    limits = EbsLimits(
        baseline_bytes_per_s=250e6,
        burst_bytes_per_s=250e6,
        baseline_ops_per_s=16_000.0,
        burst_ops_per_s=16_000.0,
        source="ec2:DescribeInstanceTypes of m4.4xlarge",
        read_on="2026-11-20",
    )

    assert words.ebs_limits(limits) == ("250 MB/s; 16,000 IOPS (ec2:DescribeInstanceTypes of m4.4xlarge, 2026-11-20)")
