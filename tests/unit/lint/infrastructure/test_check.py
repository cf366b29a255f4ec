"""Plans in which nothing is to be found, and one with a database for each finding."""

from collections import Counter

import pytest

from contract.tree import ROOT
from plimsoll.app.infrastructure import check_files
from plimsoll.model.infrastructure import ChangeEffect, InfrastructureFindings

FIXTURES = ROOT / "tests/fixtures/infrastructure"


@pytest.fixture(scope="module")
def mixed() -> InfrastructureFindings:
    return check_files("terraform", [FIXTURES / "mixed.json"])


def test_nothing_is_found_in_30_sound_databases():
    """Not even a note: of every engine, class size and storage type, in modules and without, and on Aurora."""
    found = check_files("terraform", [FIXTURES / "sound.json"])

    assert len(found.databases) >= 30
    assert () == found.findings


def test_each_finding_of_the_mixed_plan_is_of_its_database(mixed: InfrastructureFindings):
    """The whole list: a deleted database is not in it, nor what is unknown or sensitive."""
    effects = {(f.code, f.address): f.effect for f in mixed.findings}
    keeps, introduces = ChangeEffect.KEEPS, ChangeEffect.INTRODUCES
    nested = 'module.outer["a"].module.db.aws_db_instance.this'

    assert effects == {
        ("StorageRefused", "aws_db_instance.refused"): introduces,
        ("IOPSBeyondInstance", "aws_db_instance.replaced"): keeps,
        ("IOPSBeyondInstance", "aws_rds_cluster.multi"): introduces,
        ("ThroughputBeyondInstance", "aws_db_instance.throughput"): introduces,
        ("IOPSOnlyInBursts", "aws_db_instance.throughput"): keeps,
        ("IOPSOnlyInBursts", f"{nested}[0]"): keeps,
        ("IOPSOnlyInBursts", f"{nested}[1]"): keeps,
        ("GP3FasterThanGP2", "aws_db_instance.old"): keeps,
        ("BelowStripingThreshold", "aws_db_instance.refused"): keeps,
        ("EnhancedMonitoringOff", "aws_db_instance.old"): keeps,
        ("EnhancedMonitoringOff", "aws_rds_cluster.multi"): keeps,
        ("DatabaseInsightsOff", "aws_db_instance.old"): keeps,
    }


def test_what_is_unknown_is_named(mixed: InfrastructureFindings):
    """Known only after apply, made from a snapshot, or sensitive: each has its reason and its rules."""
    text = "\n".join(mixed.notes)

    assert "iops is known only after apply; not checked: IOPSBeyondInstance" in text
    assert "aws_db_instance.unknown[0]" in text
    assert "aws_db_instance.restored[0]" in text
    assert "instance_class is marked as sensitive" in text


def test_a_multi_az_cluster_is_paid_three_times(mixed: InfrastructureFindings):
    """20,000 unreachable IOPS at $0.30: the price of an IOPS in such a cluster."""
    (found,) = [f for f in mixed.findings if f.address == "aws_rds_cluster.multi" and f.usd_per_month]

    assert 6000 == found.usd_per_month


def test_every_severity_is_that_of_its_rule(mixed: InfrastructureFindings):
    """The rules of the report are all rules, each once."""
    codes = Counter(rule.code for rule in mixed.rules)

    assert {1} == set(codes.values())
    assert {f.code for f in mixed.findings} <= set(codes)
