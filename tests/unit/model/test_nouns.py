"""The nouns agree among themselves."""

import inspect
from importlib import import_module

import msgspec
import pytest

from builders import ceiling
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.instance import engine_family
from plimsoll.model.metric import BY_CLOUDWATCH_NAME, METRICS, Metric

MODULES = ("ceiling", "diagnosis", "instance", "limit", "metric", "price", "sheet", "snapshot")
STRUCTS = [
    noun
    for module in MODULES
    for _, noun in inspect.getmembers(import_module(f"plimsoll.model.{module}"), inspect.isclass)
    if issubclass(noun, msgspec.Struct)
    and noun.__module__ == f"plimsoll.model.{module}"
    and not noun.__name__.startswith("_")
]


@pytest.mark.parametrize("noun", STRUCTS)
def test_nouns_are_frozen(noun):
    """A value that travels between stages cannot be changed on the way."""
    assert noun.__struct_config__.frozen


def test_every_metric_has_its_facts():
    """Unit, meaning and scale are there for each metric."""
    assert set(Metric) == set(METRICS)
    for facts in METRICS.values():
        assert facts.meaning
        assert facts.unit in (
            "bytes/s", "ops/s", "s", "requests", "ratio", "bytes", "count", "credits",
        )  # fmt: skip
        assert facts.scale in (1, 0.01)


def test_the_unit_is_in_the_name():
    """Rates, times and ratios say their unit as the last word of their name."""
    endings = {"bytes/s": "_bytes_per_s", "ops/s": "_per_s", "s": "_s", "ratio": "_ratio"}
    for metric, facts in METRICS.items():
        assert metric.value.endswith(endings.get(facts.unit, "")), metric


def test_percentages_become_ratios():
    """What CloudWatch publishes in percent is divided by a hundred, and nothing else is."""
    scaled = {metric for metric, facts in METRICS.items() if facts.scale != 1}

    assert {metric for metric, facts in METRICS.items() if facts.unit == "ratio"} == scaled


def test_cloudwatch_names_are_unique():
    """A name of CloudWatch means one of our metrics."""
    named = [facts.cloudwatch for facts in METRICS.values() if facts.cloudwatch]

    assert len(named) == len(BY_CLOUDWATCH_NAME)
    assert Metric.BYTE_BALANCE_RATIO == BY_CLOUDWATCH_NAME["EBSByteBalance%"]


@pytest.mark.parametrize(
    ("engine", "family"),
    [
        ("postgres", "postgres"),
        ("PostgreSQL ", "postgres"),
        ("mysql", "mysql"),
        ("mariadb", "mariadb"),
        ("oracle-se2", "oracle"),
        ("oracle-ee-cdb", "oracle"),
        ("custom-oracle-ee", "oracle"),
        ("sqlserver-ex", "sqlserver"),
        ("custom-sqlserver-ee", "sqlserver"),
        ("aurora", "aurora"),
        ("aurora-postgresql", "aurora"),
        ("aurora-mysql", "aurora"),
        ("db2-se", "db2"),
        ("docdb", None),
        ("postgresqueue", None),
        ("", None),
        (None, None),
    ],
)
def test_engines_belong_to_families(engine, family):
    """The storage rules of an engine follow from its family; a stranger has none."""
    assert family == engine_family(engine)


def test_a_legacy_limit_remembers_which_number_it_was():
    """A legacy baseline behaves as a baseline; a present one is what it is."""
    ebs = Family.INSTANCE_EBS_THROUGHPUT
    legacy = ceiling(ebs, Phase.LEGACY, 212.5e6, legacy=Phase.BASELINE)

    assert Phase.BASELINE == legacy.bucket_phase
    assert Phase.BURST == ceiling(ebs, Phase.BURST, 593.75e6).bucket_phase
