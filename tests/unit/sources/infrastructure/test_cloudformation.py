"""Databases of CloudFormation templates."""

import json
from pathlib import Path

import pytest

from plimsoll.errors import UsageError
from plimsoll.model.infrastructure import Attribute, DatabaseKind, DeclaredDatabase
from plimsoll.sources.infrastructure.cloudformation import read_cloudformation

HEAD = """
Parameters:
  Class: {Type: String, Default: db.r5.2xlarge}
  Iops: {Type: Number}
  Size: {Type: "AWS::SSM::Parameter::Value<String>", Default: /size}
  Stage: {Type: String, Default: prod}
Mappings:
  Sizes:
    prod: {GiB: 1000}
    test: {GiB: 100}
Conditions:
  IsProd: !Equals [!Ref Stage, prod]
  IsHere: !Equals [!Ref "AWS::Region", us-east-1]
  IsBoth: !And [!Condition IsProd, !Condition IsHere]
  IsEither: !Or [!Condition IsProd, !Condition IsHere]
  IsTest: !Not [!Condition IsProd]
  Round: !Not [!Condition Round]
Resources:
  Db:
    Type: AWS::RDS::DBInstance
    Properties:
      Engine: postgres
"""


def read(body: str, folder: Path, **given: object) -> DeclaredDatabase:
    path = folder / "template.yaml"
    path.write_text(HEAD + "".join(f"      {line}\n" for line in body.splitlines()))
    (found,) = read_cloudformation(path, **given)[0]
    return found


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("db.m5.large", "db.m5.large"),
        ("!Ref Class", "db.r5.2xlarge"),
        ("{Ref: Class}", "db.r5.2xlarge"),
        ('!Sub "${Class}"', "db.r5.2xlarge"),
        ('!Sub ["db.${Family}.large", {Family: m5}]', "db.m5.large"),
        ('!Sub "db.m5.${!x}"', "db.m5.${x}"),
        ("!If [IsProd, db.r5.large, db.t3.micro]", "db.r5.large"),
        ("!If [IsTest, db.r5.large, db.t3.micro]", "db.t3.micro"),
        ("!If [IsEither, db.r5.large, db.t3.micro]", "db.r5.large"),
        ('!Join [".", [db, m5, large]]', "db.m5.large"),
        ('!Select [1, [a, "db.m5.large"]]', "db.m5.large"),
        ('!Select [0, !Split [",", "db.m5.large,b"]]', "db.m5.large"),
        ("!If [Nowhere, db.m5.large, db.m5.large]", "db.m5.large"),
    ],
)
def test_expressions_are_resolved(expression: str, value: str, tmp_path: Path):
    """In short form and in full."""
    assert value == read(f"DBInstanceClass: {expression}", tmp_path).after.instance.db_class


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("!Ref Iops", "has no default"),
        ("!Ref Size", "Systems Manager"),
        ("!Ref Other", "known only in the stack"),
        ("!GetAtt Other.Class", "Fn::GetAtt"),
        ("!ImportValue x", "Fn::ImportValue"),
        ('!Sub "db.${AWS::Region}"', "region"),
        ("!If [IsHere, a, b]", "condition IsHere"),
        ("!If [IsBoth, a, b]", "condition IsBoth"),
        ("!If [Round, a, b]", "condition Round"),
        ("!FindInMap [Sizes, nowhere, GiB]", "no such entry"),
        ('"{{resolve:ssm:/class}}"', "dynamic reference"),
        ("!Select [9, [a]]", "no such entry"),
        ("{Fn::Length: [1]}", "Fn::Length"),
        ("[a, b]", "not a text"),
    ],
)
def test_what_cannot_be_resolved_is_unknown(expression: str, reason: str, tmp_path: Path):
    """Never a guess; the reason names the expression."""
    state = read(f"DBInstanceClass: {expression}", tmp_path).after

    assert state.instance.db_class is None
    assert reason in state.unknown[Attribute.DB_CLASS]
    assert state.unknown[Attribute.DB_CLASS].startswith("DBInstanceClass")


def test_given_parameters_and_the_region_replace_what_is_open(tmp_path: Path):
    """A parameter without a default, a mapping by another one, and a condition on the region."""
    body = (
        "Iops: !Ref Iops\nAllocatedStorage: !FindInMap [Sizes, !Ref Stage, GiB]\n"
        "MultiAZ: !If [IsHere, true, false]\nStorageType: io1"
    )
    found = read(body, tmp_path, region="us-east-1", parameters={"Iops": "30000", "Stage": "test"}).after.instance

    assert (30_000, 100, True) == (found.storage.provisioned_ops_per_s, found.storage.size_gib, found.multi_az)


def test_what_is_not_set_has_the_documented_default(tmp_path: Path):
    """
    No monitoring and no standby; but the default of the storage type has changed over the years, and
    what the template does not set of a restored database is that of the snapshot.
    """
    state = read("StorageType: !Ref AWS::NoValue", tmp_path).after
    restored = read("DBSnapshotIdentifier: orders", tmp_path).after.unknown

    assert (None, None, None) == (*(state.monitoring_interval_s, state.has_insights, state.instance.multi_az),)
    assert {Attribute.STORAGE_TYPE} == set(state.unknown)
    assert {Attribute.STORAGE_SIZE, Attribute.IOPS} <= set(restored)


def test_defaults_and_nested_stacks_are_notes(tmp_path: Path):
    """A deployment may set other values than the defaults; an unknown one is refused with those it has."""
    path = tmp_path / "template.yaml"
    with pytest.raises(UsageError, match="no parameter 'Clas'") as raised:
        read("DBInstanceClass: !Ref Class", tmp_path, parameters={"Clas": "x"})
    path.write_text(HEAD + "      DBInstanceClass: !Ref Class\n  Child: {Type: AWS::CloudFormation::Stack}\n")
    text = "\n".join(read_cloudformation(path)[1])

    assert "Class" in raised.value.hint
    assert "defaults (Class)" in text
    assert "Child was not read" in text


def test_a_template_in_json_has_lines_and_clusters(tmp_path: Path):
    """A Multi-AZ DB cluster, an Aurora cluster with its instance, and a database that a condition leaves out."""
    template = {
        "Conditions": {"Never": {"Fn::Equals": ["a", "b"]}},
        "Resources": {
            "Multi": {
                "Type": "AWS::RDS::DBCluster",
                "Properties": {"Engine": "postgres", "DBClusterInstanceClass": "db.r6gd.large"},
            },
            "Aurora": {
                "Type": "AWS::RDS::DBCluster",
                "Properties": {"Engine": "aurora-mysql", "PerformanceInsightsEnabled": True},
            },
            "Member": {
                "Type": "AWS::RDS::DBInstance",
                "Properties": {"DBClusterIdentifier": {"Ref": "Aurora"}, "Engine": "aurora-mysql"},
            },
            "Left": {"Type": "AWS::RDS::DBInstance", "Condition": "Never"},
        },
    }
    path = tmp_path / "template.json"
    path.write_text(json.dumps(template, indent=2))
    found = {d.address: d for d in read_cloudformation(path)[0]}

    assert {"Multi": DatabaseKind.CLUSTER, "Member": DatabaseKind.AURORA_INSTANCE} == {
        name: d.kind for name, d in found.items()
    }
    assert found["Member"].after.has_insights is True
    lines = path.read_text().splitlines()
    assert '"Member"' in lines[found["Member"].line - 1]
