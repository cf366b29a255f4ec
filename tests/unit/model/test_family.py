"""One row for each ceiling family, and each row whole."""

import pytest

from plimsoll.model.ceiling import Dimension, Family
from plimsoll.model.family import BALANCES, FAMILIES, RATE_FAMILIES, balance_metrics
from plimsoll.model.metric import METRICS, Metric


@pytest.mark.parametrize("of", ["name", "code"])
def test_no_two_families_are_called_the_same(of):
    """People tell families apart by name, machines by code."""
    texts = [getattr(facts, of) for facts in FAMILIES.values()]

    assert len(texts) == len(set(texts))
    assert all(texts)


def test_each_balance_counts_the_credits_of_one_family():
    """EBSByteBalance% is the instance's bytes, EBSIOBalance% its operations, BurstBalance a gp2 volume's."""
    named = {METRICS[metric].cloudwatch: family for metric, family in BALANCES.items()}

    assert {
        "EBSByteBalance%": Family.INSTANCE_EBS_THROUGHPUT,
        "EBSIOBalance%": Family.INSTANCE_EBS_IOPS,
        "BurstBalance": Family.VOLUME_IOPS,
    } == named
    assert all(FAMILIES[f].exhausted_code and FAMILIES[f].credits_name for f in BALANCES.values())


def test_credits_of_bytes_do_not_pay_for_operations():
    """Throughput has one balance, IOPS have two: the instance's and the volume's."""
    assert (Metric.BYTE_BALANCE_RATIO,) == balance_metrics(Dimension.THROUGHPUT)
    assert (Metric.IO_BALANCE_RATIO, Metric.VOLUME_BALANCE_RATIO) == balance_metrics(Dimension.IOPS)


def test_what_is_used_is_measured_in_the_unit_of_the_ceiling():
    """Freeable memory and free space are bytes as the sizes are; connections are counted."""
    differing = {
        family: {METRICS[m].unit for m in facts.metrics}
        for family, facts in FAMILIES.items()
        if facts.is_resource and {METRICS[m].unit for m in facts.metrics} != {facts.unit}
    }

    assert {} == differing


def test_aurora_has_no_storage_limit_of_its_own():
    """A cluster volume has no documented rate and grows by itself."""
    absent = {family for family, facts in FAMILIES.items() if not facts.is_on_aurora}

    assert {*RATE_FAMILIES, Family.STORAGE_SPACE} == absent
