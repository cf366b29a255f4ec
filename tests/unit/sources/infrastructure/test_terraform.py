"""Databases of Terraform plans."""

import json
from pathlib import Path
from typing import Any

import pytest

from contract.tree import ROOT
from plimsoll.errors import SourceError
from plimsoll.model.infrastructure import Attribute, DatabaseKind, DeclaredDatabase
from plimsoll.sources.infrastructure.terraform import read_terraform

FIXTURES = ROOT / "tests/fixtures/infrastructure"
VALUES = {"instance_class": "db.m5.large", "engine": "postgres", "iops": 0}


def plan(folder: Path, **changes: Any) -> Path:
    path = folder / "plan.json"
    path.write_text(json.dumps({"format_version": "1.2", "resource_changes": [], **changes}))
    return path


def change(after: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {
        "address": "aws_db_instance.a",
        "mode": "managed",
        "type": "aws_db_instance",
        "name": "a",
        "change": {"actions": ["create"], "before": None, "after": after, **others},
    }


def by_address(name: str) -> dict[str, DeclaredDatabase]:
    return {d.address: d for d in read_terraform(FIXTURES / name)[0]}


def test_modules_are_read_with_before_and_after():
    """Nested modules with keys and counts; what is deleted is not among them, what is replaced is."""
    found = by_address("mixed.json")

    assert {d.action for d in found.values()} == {"create", "update", "no-op", "replace"}
    assert 'module.outer["a"].module.db.aws_db_instance.this[1]' in found
    assert "aws_db_instance.gone[0]" not in found
    throughput = found["aws_db_instance.throughput"]
    assert throughput.before is not None
    was, now = throughput.before.instance.storage, throughput.after.instance.storage
    assert (500 * 2**20, 2000 * 2**20) == (was.provisioned_bytes_per_s, now.provisioned_bytes_per_s)


def test_what_nothing_sets_is_not_unknown():
    """A variable of a module without a value is null: RDS gives what the storage includes. An output is unknown."""
    new = by_address("sound.json")

    for name in ("module.plain.aws_db_instance.this", "aws_db_instance.direct"):
        assert new[name].action == "create"
        assert new[name].after.knows(Attribute.IOPS, Attribute.THROUGHPUT, Attribute.STANDBY)
        assert new[name].after.instance.storage.provisioned_ops_per_s is None
    assert not by_address("mixed.json")["aws_db_instance.unknown[0]"].after.knows(Attribute.IOPS)


def test_a_database_made_of_a_snapshot_is_open():
    """Engine, storage and standby are those of the snapshot, which the plan does not show."""
    restored = by_address("mixed.json")["aws_db_instance.restored[0]"].after

    assert {
        Attribute.ENGINE, Attribute.STORAGE_TYPE, Attribute.STORAGE_SIZE, Attribute.IOPS,
        Attribute.THROUGHPUT, Attribute.STANDBY,
    } == set(restored.unknown)  # fmt: skip


def test_a_region_comes_from_the_provider():
    """A constant, or the value of a variable; --region only where the plan has none."""
    assert {"eu-central-1"} == {d.after.instance.region for d in by_address("sound.json").values()}
    example, _ = read_terraform(ROOT / "examples/infrastructure/plan.json")
    assert "us-east-1" == example[0].after.instance.region


def test_instances_of_a_cluster_have_its_monitoring():
    """One Aurora cluster of the plan sets it for all of its instances, the other leaves it to them."""
    found = by_address("sound.json")
    members = [d for d in found.values() if d.kind is DatabaseKind.AURORA_INSTANCE]

    assert 4 == len(members)
    assert all(d.after.monitoring_interval_s == 30 and d.after.has_insights for d in members)


def test_a_state_is_read_like_a_plan_without_changes():
    """Nothing is said of a change there."""
    found = by_address("state.json")

    assert 'module.outer["a"].module.db.aws_db_instance.this[0]' in found
    assert {False} == {d.has_before for d in found.values()}


def test_planned_values_leave_out_what_is_unknown(tmp_path: Path):
    """In planned values a missing property is not known."""
    resource = {**change({}), "values": {"instance_class": "db.m5.large"}}
    module = {"child_modules": [{"resources": [resource]}]}
    path = plan(tmp_path, resource_changes=None, planned_values={"root_module": module})
    (found,) = read_terraform(path)[0]

    assert not found.after.knows(Attribute.ENGINE)
    assert found.after.knows(Attribute.DB_CLASS)


@pytest.mark.parametrize(
    ("size", "gib"),
    [
        # Programs that make plans write some numbers as text.
        *((size, 100) for size in ("100", 100, 100.0)),
        # What cannot be may be text that another program fills in.
        *((size, None) for size in (True, "many", [], {"a": 1})),
    ],
)
def test_numbers_may_be_text(size: object, gib: int | None, tmp_path: Path):
    path = plan(tmp_path, resource_changes=[change({**VALUES, "allocated_storage": size})])
    state = read_terraform(path)[0][0].after

    assert gib == state.instance.storage.size_gib
    assert (gib is None) is (Attribute.STORAGE_SIZE in state.unknown)


def test_powershell_writes_utf_16(tmp_path: Path):
    """Its `>` writes UTF-16 with a byte order mark."""
    path = tmp_path / "plan.json"
    path.write_bytes(json.dumps({"format_version": "1.2", "resource_changes": []}).encode("utf-16"))

    assert ((), ()) == read_terraform(path)


def test_a_missing_file_is_one_sentence(tmp_path: Path):
    """As for every other input."""
    with pytest.raises(SourceError, match="no such file"):
        read_terraform(tmp_path / "nowhere.json")


def test_an_instance_whose_cluster_is_elsewhere_is_open(tmp_path: Path):
    """A cluster in another state may set the monitoring of its instances."""
    after = {"instance_class": "db.r6g.large", "engine": "aurora-mysql", "cluster_identifier": "x"}
    member = {**change({**after, "monitoring_interval": 0}), "type": "aws_rds_cluster_instance"}
    (found,) = read_terraform(plan(tmp_path, resource_changes=[member]))[0]

    assert {Attribute.MONITORING, Attribute.INSIGHTS} == set(found.after.unknown)
