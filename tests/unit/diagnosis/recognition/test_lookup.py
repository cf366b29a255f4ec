"""What else has the number of a level of unknown origin."""

import numpy as np
import pytest

import builders
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.ceiling import Family
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.units import mib_per_s

R5 = Instance(db_class="db.r5.2xlarge", engine="postgres", storage=Storage(kind="gp3", size_gib=500.0))


def at(level: float, instance: Instance, *, size_bytes: float = 32_768) -> Diagnosis:
    rng = np.random.default_rng(21)
    demand = builders.working_day(rng, 0.3 * level, 2 * level, spread=0.25)
    size = size_bytes * builders.wander(rng, demand.size, 0.05)
    values = builders.held_at(demand, level, rng=rng, size_bytes=size)
    # No credits while pressed: otherwise the rest before it would refute a baseline.
    values[Metric.BYTE_BALANCE_RATIO] = np.where(demand > level, 0.0, 0.6)
    return diagnose(builders.snapshot(values, instance=instance), catalog())


def texts(diagnosis: Diagnosis) -> list[str]:
    assert Family.UNKNOWN == diagnosis.time_at[0].family
    return [one.text for one in diagnosis.time_at[0].lookalikes]


def test_a_legacy_number_is_known_without_a_class():
    """212.9 MB/s and no class: the number that db.r5.2xlarge had until December 2019."""
    (first, *_) = texts(at(212.9e6, Instance()))

    assert first.startswith("212.5 MB/s was the baseline of db.m5.2xlarge")
    assert "db.r5.2xlarge" in first
    assert first.endswith("until 2019-12-04; old instances keep it")


def test_another_size_of_the_family_comes_first():
    """81.25 MB/s on a db.r5.2xlarge is db.r5.large: its class may have been changed in the window."""
    diagnosis = at(81.25e6, R5)
    (only,) = texts(diagnosis)
    finding = diagnosis.findings[0]

    assert only.startswith("81.25 MB/s is the baseline of db.r5.large, ")
    assert "This class and storage have no such limit" in finding.text
    assert any("--class db.r5.large" in m and "changed in this window" in m for m in finding.moves)


def test_storage_is_a_candidate_with_the_size_that_has_the_number():
    """125 MiB/s is what a gp3 volume below 400 GiB includes, as AWS writes it and as it is measured."""
    diagnosis = at(mib_per_s(125), Instance())

    assert ["gp3 storage of 20 to 399 GiB includes 125 MiB/s (131.1 MB/s)"] == texts(diagnosis)
    assert "--storage gp3 --size-gib 20" == diagnosis.time_at[0].lookalikes[0].flags


@pytest.mark.parametrize("instance", [Instance(), R5])
def test_a_number_that_nothing_has_is_not_explained(instance):
    """205 MB/s is documented nowhere: no candidate is made up."""
    diagnosis = at(205e6, instance)

    assert [] == texts(diagnosis)
    assert "has it either" in diagnosis.findings[0].text or instance.db_class is None


def test_the_instances_own_number_is_no_candidate_where_it_was_ruled_out():
    """
    81.4 MB/s after twenty hours of rest: credits rule out the baseline of db.m5.large, and that the
    same number is documented for other classes explains nothing.
    """
    rng = np.random.default_rng(4)
    rate = np.concatenate((10e6 * builders.wander(rng, 1200, 0.1), np.full(40, 81.4e6)))
    rate[1200:] *= 1 + 1e-3 * rng.standard_normal(40)
    latency_s = np.where(np.arange(1240) < 1200, 0.8e-3, 8e-3) * builders.wander(rng, 1240, 0.05)
    m5 = Instance(db_class="db.m5.large", engine="postgres")
    values = builders.storage(rate, latency_s=latency_s)
    diagnosis = diagnose(builders.snapshot(values, instance=m5), catalog())

    assert [] == texts(diagnosis)
    assert "its own instance EBS throughput baseline" in diagnosis.findings[0].text
    assert "ruled out" in diagnosis.findings[0].text


def test_a_named_limit_is_not_looked_up():
    """A level that the class explains needs no other explanation."""
    diagnosis = at(287.5e6, R5)

    assert Family.INSTANCE_EBS_THROUGHPUT == diagnosis.time_at[0].family
    assert () == diagnosis.time_at[0].lookalikes


def test_aurora_is_not_compared_with_volumes():
    """The cluster volume of Aurora has no documented rate, so none explains its level."""
    aurora = Instance(db_class="db.r5.2xlarge", engine="aurora-postgresql")

    assert [] == texts(at(212.5e6, aurora))
