"""
A live answer against the catalog. The answer beside this file has the shape of the API's; one number
of t3.xlarge is changed, the numbers of x2m.xlarge are invented.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from plimsoll.catalog import schema
from plimsoll.catalog.load import DATA, Catalog, catalog
from plimsoll.catalog.refresh import LimitChange, refreshed
from plimsoll.errors import DataError
from plimsoll.units import mb_per_s

ANSWER = (Path(__file__).parent / "describe_instance_types.json").read_text(encoding="utf-8")


def answer_of(*names: str, **changes: Any) -> str:
    kinds = [k for k in json.loads(ANSWER)["InstanceTypes"] if k["InstanceType"] in names]
    return json.dumps({"InstanceTypes": [kind | changes for kind in kinds]})


def test_what_agrees_is_no_change():
    """
    r5.2xlarge, m6in.32xlarge with its bandwidth counted twice, and m3.large without EBS numbers are
    what the catalog has.
    """
    result = refreshed(answer_of("r5.2xlarge", "m6in.32xlarge", "m3.large"), catalog(), read_on="2026-12-01")

    assert (result.changed, result.added) == ((), ())
    assert result.legacy == catalog().texts(schema.INSTANCE_LIMITS_LEGACY)
    # What the answer says again is as new as the answer; other rows keep their date.
    dates = {row["ec2_type"]: row["read_on"] for row in result.limits}
    assert (dates["r5.2xlarge"], dates["r5.4xlarge"]) == ("2026-12-01", "2026-10-27")


def test_every_difference_is_named():
    """Changed numbers are named with class, column, old and new; new types and ignored ones counted."""
    result = refreshed(ANSWER, catalog(), read_on="2026-12-01")

    assert result.changed == (
        LimitChange(db_class="db.t3.xlarge", column="ebs_baseline_mb_per_s", was="86.875", now="100"),
    )
    assert result.added == ("db.x2m.xlarge",)
    assert (result.read_count, result.ignored_count) == (6, 1)
    assert "db.r5.4xlarge" in result.not_answered
    # 156.25039999999998 MB/s beside 1,250 Mbit/s is 156.25; 195.3125 beside 1,562 shows what was cut.
    row = next(row for row in result.limits if row["ec2_type"] == "x2m.xlarge")
    assert (row["ebs_baseline_mb_per_s"], row["ebs_max_mb_per_s"]) == ("156.25", "195.3125")
    assert "yes" == row["bandwidth_weightings"]


def test_a_family_can_be_added_by_name():
    """A family that no list knows is added when it is named."""
    result = refreshed(ANSWER, catalog(), read_on="2026-12-01", families=("p5",))

    assert "db.p5.48xlarge" in result.added


def test_a_class_without_history_gets_one():
    """A type whose numbers never changed before gets its first legacy row, from the day they were read."""
    kind = json.loads(answer_of("r5.2xlarge"))["InstanceTypes"][0]
    kind["InstanceType"] = "r6i.2xlarge"
    result = refreshed(json.dumps([kind]), catalog(), read_on="2026-12-01")
    rows = [row for row in result.legacy if row["ec2_type"] == "r6i.2xlarge"]

    assert [(r["valid_from"], r["valid_to"], r["ebs_max_mb_per_s"]) for r in rows] == [
        ("2026-10-27", "2026-12-01", "1250")
    ]


def test_the_refreshed_tables_load_again(tmp_path: Path):
    """Written out and loaded, the new tables answer with the new numbers, and with the old as legacy up to the answer."""
    for file in DATA.glob("*.csv"):
        shutil.copy(file, tmp_path)
    result = refreshed(ANSWER, catalog(), read_on="2026-12-01")
    for table, rows in ((schema.INSTANCE_LIMITS, result.limits), (schema.INSTANCE_LIMITS_LEGACY, result.legacy)):
        (tmp_path / table.file).write_text(schema.render(rows), encoding="utf-8")
    facts = Catalog(tmp_path)
    limits, legacy = facts.instance_limits("db.t3.xlarge"), facts.legacy_limits("db.t3.xlarge")

    assert limits.ebs_baseline_bytes_per_s == mb_per_s(100)
    assert limits.origin.read_on == "2026-12-01"
    assert limits.documentation == "absent"
    assert [(f.ebs_baseline_bytes_per_s, f.origin.valid_to) for f in legacy] == [
        (mb_per_s(64), "2020-02-28"),
        (mb_per_s(86.875), "2026-12-01"),
    ]
    assert facts.instance_limits("db.x2m.xlarge").ebs_burst_bytes_per_s == mb_per_s(195.3125)
    again = refreshed(ANSWER, facts, read_on="2026-12-02")
    assert (again.changed, again.added) == ((), ())


def test_pages_may_follow_each_other():
    """Several answers in one text are read as one."""
    pages = answer_of("r5.2xlarge") + "\n" + answer_of("t3.xlarge")

    assert refreshed(pages, catalog(), read_on="2026-12-01").read_count == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "{",
        "[]",
        "{}",
        "null",
        "3",
        '{"InstanceTypes": []}',
        '{"InstanceTypes": [{}]}',
        '{"InstanceTypes": {"a": 1}}',
        answer_of("r5.2xlarge")[:300],
        answer_of("r5.2xlarge", VCpuInfo={"DefaultVCpus": -8}),
        answer_of("r5.2xlarge", VCpuInfo={"DefaultVCpus": "eight"}),
        answer_of("r5.2xlarge", InstanceType="../../etc/passwd"),
        "[" * 100_000,
    ],
)
def test_anything_else_is_refused(text: str):
    """What is not such an answer gives one sentence and a hint."""
    with pytest.raises(DataError) as caught:
        refreshed(text, catalog(), read_on="2026-12-01")

    assert caught.value.message
    assert "describe-instance-types" in caught.value.hint
