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


NO_ERROR = interval(0, 60, IOPS_BURST, level=18_740.0, level_low=math.nan, level_high=math.nan)
GP3 = Storage(
    kind="gp3", size_gib=400, provisioned_ops_per_s=12_000, provisioned_bytes_per_s=500 * 1024.0**2, volume_count=4
)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        # A documented ceiling keeps all its digits, and a volume's throughput is also in what it is sold in.
        (words.ceiling_value(BURST), "593.75 MB/s"),
        (words.ceiling_value(VOLUME_THROUGHPUT), "2,097.2 MB/s (2,000 MiB/s)"),
        # A legacy baseline is one, a limit with one number has no phase, and of one that fits nothing only that is said.
        (words.ceiling_name(LEGACY_BASELINE), "instance EBS throughput, legacy baseline"),
        (words.ceiling_name(VOLUME_THROUGHPUT), "volume throughput"),
        (words.phase_name(Phase.LEGACY, Phase.FIXED), "legacy"),
        (words.limit_name(Family.UNKNOWN, Phase.FIXED), "unknown limit"),
        (words.short_limit_name(Family.UNKNOWN, Phase.BASELINE), "unknown limit"),
        # An error that is not known is not shown as one.
        (words.level_with_error(NO_ERROR), "18,740 IOPS"),
        (words.level(18_740.0, Dimension.IOPS), "18,740 IOPS"),
        # A report is about `name (class)`, or the one that is known.
        (words.subject(INSTANCE), "search-primary (db.r5.2xlarge)"),
        (words.subject(Instance(identifier="db7")), "db7"),
        (words.subject(Instance(db_class="db.t3.xlarge")), "db.t3.xlarge"),
        (words.subject(Instance()), "the instance"),
        # Kind, size and what was provisioned, in the units they are sold in.
        (words.storage(Instance(storage=GP3)), "gp3, 400 GiB, 12,000 IOPS, 500 MiB/s, 4 volumes"),
        (words.storage(Instance()), "unknown"),
        # An escape sequence in a name loses its power; line ends become spaces.
        (words.plain("\x1b[31mred\ndb"), "\ufffd[31mred db"),
        # A capital and a full stop are added where they are missing; names keep their first letter.
        (words.sentence("the level is flat"), "The level is flat."),
        (words.sentence("db.r5.2xlarge was held"), "db.r5.2xlarge was held."),
        (words.sentence("pgbench-1 ran."), "pgbench-1 ran."),
        (words.sentence(""), ""),
        # Nothing is certain.
        (words.confidence(0.9999), "> 99 %"),
        (words.confidence(0.99), "99 %"),
        # Two moments of one day share its date; seconds are shown for both or for none.
        (words.span(1615196880, 1615230000), "2021-03-08 09:48 – 19:00"),
        (words.span(1615230000, 1615248000), "2021-03-08 19:00 – 2021-03-09 00:00"),
        (words.span(1615230005, 1615230060), "2021-03-08 19:00:05 – 19:01:00"),
        (words.short_span(1615230000, 1615248000), "03-08 19:00 – 03-09 00:00"),
        (words.series_of(["a"]), "a"),
        (words.series_of(["a", "b"]), "a and b"),
        (words.series_of(["a", "b", "c"]), "a, b and c"),
    ],
)
def test_each_is_said_as_people_say_it(said: str, expected: str):
    """Values, names, spans and series of words."""
    assert expected == said


@pytest.mark.parametrize(
    ("half", "expected"), [(2.5e5, "212.6 ± 0.2 MB/s"), (5e3, "212.60 ± 0.01 MB/s"), (12e6, "213 ± 12 MB/s")]
)
def test_a_level_has_as_many_digits_as_its_error_allows(half, expected):
    """The error decides how many decimals of a level are shown."""
    level = 212.6e6
    pegged = interval(0, 60, LEGACY_BASELINE, level=level, level_low=level - half, level_high=level + half)

    assert expected == words.level_with_error(pegged)


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
