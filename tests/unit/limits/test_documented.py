"""Documented numbers, from the number to what has it."""

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.limits.documented import Documented, documented
from plimsoll.model.ceiling import Dimension, Phase
from plimsoll.units import mb_per_s, mib_per_s


def having(value: float, dimension: Dimension, engine: str = "postgres") -> list[Documented]:
    numbers = documented(catalog(), engine)
    return [n for n in numbers if n.dimension is dimension and n.value == pytest.approx(value)]


def test_legacy_numbers_are_found_with_the_date_until_which_they_held():
    """212.5 MB/s was the baseline of db.r5.2xlarge until 2019-12-04, and is db.r4.2xlarge's maximum."""
    found = having(mb_per_s(212.5), Dimension.THROUGHPUT)

    legacy = next(n for n in found if n.valid_to == "2019-12-04")
    assert Phase.BASELINE is legacy.phase
    assert "db.r5.2xlarge" in legacy.classes
    assert ("db.r4.2xlarge",) == next(n for n in found if n.valid_to is None).classes


def test_3000_iops_are_gp3_and_the_burst_of_gp2():
    """Below 400 GiB, where RDS for PostgreSQL begins to stripe over four volumes."""
    found = having(3_000, Dimension.IOPS)
    storage = {(n.storage_kind, n.phase, n.size_gib) for n in found if n.storage_kind}

    assert {("gp2", Phase.BURST, (5.0, 399.0)), ("gp3", Phase.FIXED, (20.0, 399.0))} == storage


@pytest.mark.parametrize(
    ("mib", "sizes"), [(128, (5.0, 170.0)), (250, (171.0, 399.0)), (512, (400.0, 680.0)), (1000, (684.0, 65_536.0))]
)
def test_gp2_moves_more_when_larger_and_when_striped(mib, sizes):
    """A volume of 170 GiB or less moves 128 MiB/s, a larger one 250; from 400 GiB there are four."""
    found = having(mib_per_s(mib), Dimension.THROUGHPUT)

    assert [sizes] == [n.size_gib for n in found if n.storage_kind == "gp2"]


def test_storage_is_laid_out_by_engine():
    """Oracle's storage is striped from 200 GiB: 12,000 IOPS come with a smaller gp3."""
    found = having(12_000, Dimension.IOPS, engine="oracle")

    assert (200.0, 65_536.0) in [n.size_gib for n in found if n.storage_kind == "gp3"]


def test_classes_that_rds_does_not_sell_are_no_candidates():
    """What cannot be an RDS instance does not explain one."""
    offered = set(catalog().classes())

    assert all(set(n.classes) <= offered for n in documented(catalog(), "postgres"))


def test_numbers_are_gathered_once():
    """The same catalog and engine give the same object, not one more search of all classes."""
    assert documented(catalog(), "postgres") is documented(catalog(), "postgres")
