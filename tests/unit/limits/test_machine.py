"""The ceilings that are not storage rates."""

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.limits import ceilings_of
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.family import CREDITS
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.units import GIB, gbit_per_s
from unit.limits.instances import instance, of, on, values


def test_cpu_is_a_ratio_of_all_vcpus():
    """The ceiling is one; the note gives their number."""
    (ceiling,) = of(instance(), Family.CPU)

    assert (ceiling.value, ceiling.unit, ceiling.note) == (1.0, "ratio", "8 vCPUs")


def test_numbers_of_the_instance_win_over_its_class():
    """Numbers that the instance itself gave are taken; 0 connections are no limit on SQL Server, 1 is one."""
    host = instance(vcpu_count=3, memory_bytes=5 * GIB, connection_max=77)

    assert of(host, Family.CPU)[0].note == "3 vCPUs"
    assert of(host, Family.MEMORY)[0].value == 5 * GIB
    assert of(host, Family.CONNECTIONS)[0].value == 77
    assert [c.value for c in of(instance(connection_max=1), Family.CONNECTIONS)] == [1]


@pytest.mark.parametrize("number", [0, -1, -(10**18), 10**18])
def test_impossible_numbers_are_unknown(number: int):
    """Numbers that no instance has give no ceiling of zero or less, and no failure."""
    strange = instance(
        memory_bytes=min(number, 0),
        connection_max=min(number, 0),
        launched_s=number,
        storage=Storage(
            kind="gp3", size_gib=float(number), provisioned_ops_per_s=float("nan"), volume_count=min(number, 4)
        ),
    )

    assert all(c.value > 0 for c in ceilings_of(strange, catalog()))
    assert of(strange, Family.CONNECTIONS)[0].value == 5000


def test_cpu_credits_are_those_of_a_day():
    """
    db.t3.large earns 36 credits an hour and saves 864; it holds 30 % of its CPU forever. Whether RDS slows
    T2 down at zero credits is not documented; db.r5.2xlarge has none.
    """
    saved, held = of(instance("db.t3.large"), Family.CPU_CREDITS)
    t2, _ = of(instance("db.t2.medium"), Family.CPU_CREDITS)

    assert (saved.value, saved.unit, saved.phase) == (864, "credits", Phase.FIXED)
    assert (held.value, held.unit, held.phase) == (0.3, "ratio", Phase.BASELINE)
    assert saved.balance_metric is Metric.CPU_CREDITS
    assert "bills" in saved.note
    assert "no documentation" in t2.note
    assert of(instance(), Family.CPU_CREDITS) == ()


@pytest.mark.parametrize(
    ("engine", "version", "count", "db_class"),
    [
        ("postgres", None, 1802, "db.r5.large"),
        ("postgres", None, 5000, "db.r5.4xlarge"),
        ("mysql", None, 1365, "db.r5.large"),
        ("mariadb", "10.6.14", 682, "db.r5.large"),
        ("mariadb", "10.4.30", 1365, "db.r5.large"),
        ("oracle-se2", None, 1740, "db.r5.large"),
        ("sqlserver-se", None, 32_767, "db.r5.large"),
        ("db2-se", None, 64_000, "db.r5.large"),
        # Aurora MySQL has a table, unlike MySQL; Aurora PostgreSQL the formula of PostgreSQL.
        ("aurora-mysql", None, 90, "db.t3.medium"),
        ("aurora-mysql", None, 1000, "db.r5.large"),
        ("aurora-mysql", None, 6000, "db.r6g.16xlarge"),
        ("aurora-mysql", None, 8000, "db.r8g.48xlarge"),
        ("aurora-postgresql", None, 1802, "db.r5.large"),
        ("aurora-postgresql", None, 5000, "db.r5.4xlarge"),
    ],
)
def test_default_connections_follow_the_engine(engine: str, version: str | None, count: int, db_class: str):
    """16 GiB under the default formulas; an upper bound, or a constant. That of PostgreSQL ends at 5,000."""
    (ceiling,) = of(instance(db_class, engine=engine, engine_version=version), Family.CONNECTIONS)

    assert ceiling.value == count
    if engine.startswith("aurora"):
        assert ceiling.note.startswith("default" if engine == "aurora-mysql" else "upper bound")


@pytest.mark.parametrize(
    "subject",
    [
        instance(engine="aurora"),
        instance("db.r6gd.xlarge", engine="aurora-mysql"),
        instance(engine="mariadb"),
        instance(engine=None),
        instance("db.x2m.xlarge"),
    ],
)
def test_unknown_defaults_are_not_guessed(subject: Instance):
    """Aurora of an unknown kind or class, MariaDB of an unknown version, no engine, unknown memory."""
    assert of(subject, Family.CONNECTIONS) == ()


def test_network_has_baseline_and_burst_or_one_number():
    """db.r5.2xlarge has 2.5 Gbit/s and up to 10, no metric tells what is left; db.r5.24xlarge has 25."""
    ceilings = of(instance(), Family.NETWORK)

    assert values(ceilings) == {Phase.BASELINE: gbit_per_s(2.5), Phase.BURST: gbit_per_s(10)}
    assert {c.balance_metric for c in ceilings} == {None}
    assert values(of(instance("db.r5.24xlarge"), Family.NETWORK)) == {Phase.FIXED: gbit_per_s(25)}


def test_storage_space_is_what_was_allocated():
    """100 GiB hold 100 GiB; Aurora's storage grows by itself."""
    assert of(on("gp3", 100), Family.STORAGE_SPACE)[0].value == 100 * GIB
    assert of(on("aurora", 100, engine="aurora-mysql"), Family.STORAGE_SPACE) == ()


@pytest.mark.parametrize("subject", [Instance(), instance("db.x2m.xlarge")])
def test_without_numbers_only_the_cpu_is_known(subject: Instance):
    """A bare host, or a class without numbers: unknown numbers leave ceilings out, and are no error."""
    assert [c.family for c in ceilings_of(subject, catalog())] == [Family.CPU]


def test_every_family_answers_for_any_instance():
    """Each is a ceiling of one of these instances; credits that are used up are times, and no number of their own."""
    full = instance("db.t3.large", storage=Storage(kind="gp3", size_gib=400))
    aurora, serverless = (instance(name, engine="aurora-mysql") for name in ("db.r5.2xlarge", "db.serverless"))

    assert {*Family} - {Family.UNKNOWN, *CREDITS.values()} == {
        c.family for one in (full, aurora, serverless) for c in ceilings_of(one, catalog())
    }
    rates = {Dimension.THROUGHPUT: "bytes/s", Dimension.IOPS: "ops/s"}
    assert all(c.unit == rates[c.dimension] for c in ceilings_of(full, catalog()) if c.dimension in rates)
