"""What nobody can have bought, and no time has, is refused with its cause, wherever it is read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plimsoll.app.instance import with_flags
from plimsoll.app.moments import epoch_of
from plimsoll.app.options import InstanceOptions
from plimsoll.errors import DataError, PlimsollError, UsageError
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot, encode_snapshot
from plimsoll.sources.infrastructure.cloudformation import read_cloudformation
from plimsoll.sources.infrastructure.terraform import read_terraform
from plimsoll.sources.points.described_table import described_rows

SNAPSHOT = json.loads(encode_snapshot(Snapshot(instance=Instance(), series={}, source="a test")))


def in_snapshot(path: str, value: object) -> bytes:
    """A snapshot with a value at a place."""
    document = json.loads(json.dumps(SNAPSHOT))
    *folders, last = path.split(".")
    place: Any = document
    for name in folders:
        place = place.setdefault(name, {})
    place[last] = value
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("instance.launched_s", 10**18),
        ("instance.launched_s", -1),
        ("instance.storage.size_gib", -5),
        ("instance.storage.size_gib", 0),
        ("instance.storage.size_gib", 1e300),
        ("instance.storage.provisioned_ops_per_s", -1),
        ("instance.storage.provisioned_ops_per_s", 1e300),
        ("instance.storage.provisioned_bytes_per_s", -1),
        ("instance.storage.additional", [{"size_gib": -1}]),
        ("instance.capacity_acu_max", -1),
        ("instance.vcpu_count", -1),
        ("instance.memory_bytes", 10**18),
        ("instance.connection_max", -1),
        ("instance.db_class", "d" * 10_000),
        ("instance.engine", "p" * 10_000),
        ("instance.identifier", "i" * 10_000),
        ("annotations", [{"time_s": 10**18, "text": "x"}]),
        ("asked_s", [0, 10**18]),
    ],
)
def test_a_snapshot_with_an_impossible_value_names_its_place(path, value):
    """It was written by hand, or damaged; nothing that is computed from it would be right."""
    with pytest.raises(DataError) as refused:
        decode_snapshot(in_snapshot(path, value))

    assert f"`$.{path}" in refused.value.message


IMPOSSIBLE = [
    (-5, "it is -5"),
    (1e300, "it is "),
    ("9" * 10_000, "it is inf"),
    (float("inf"), "it is inf"),
    (float("nan"), "it is nan"),
]
FIELDS = {"AllocatedStorage": "allocated_storage", "Iops": "iops"} | {"StorageThroughput": "storage_throughput"}


def template_with(tmp_path: Path, **properties: object) -> Path:
    """A template of one database."""
    given = {"Engine": "postgres", "DBInstanceClass": "db.r6g.large"} | properties
    resource = {"Type": "AWS::RDS::DBInstance", "Properties": given}
    path = tmp_path / "template.yaml"
    # JSON of Python has NaN and Infinity; YAML has them as .nan and .inf.
    text = json.dumps({"Resources": {"Orders": resource}})
    path.write_text("---\n" + text.replace("NaN", ".nan").replace("Infinity", ".inf"))
    return path


def plan_with(tmp_path: Path, **values: object) -> Path:
    """A plan of one database."""
    after = {"engine": "postgres", "instance_class": "db.r6g.large", "storage_type": "gp3"} | values
    change = {
        "address": "aws_db_instance.orders",
        "type": "aws_db_instance",
        "change": {"actions": ["create"], "after": after, "after_unknown": {}},
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"format_version": "1.2", "resource_changes": [change]}))
    return path


def template_of(tmp_path: Path, **properties: object) -> object:
    return read_cloudformation(template_with(tmp_path, **properties))


def plan_of(tmp_path: Path, **values: object) -> object:
    return read_terraform(plan_with(tmp_path, **values))


@pytest.mark.parametrize(
    ("read", "field", "value", "cause"),
    [
        # A note that it was not checked would let it pass.
        *(
            (template_of, field, value, f"{field} of 'Orders' is not possible: {what}")
            for field in FIELDS
            for value, what in IMPOSSIBLE
        ),
        # Terraform itself checks none of them before it applies a plan.
        *(
            (plan_of, field, value, f"{field} of 'aws_db_instance.orders' is not possible: {what}")
            for field in FIELDS.values()
            for value, what in IMPOSSIBLE[:3]
        ),
        # The message says how long it is, and does not repeat it.
        *(
            (
                plan_of,
                name,
                "x" * 10_000,
                f"{name} of 'aws_db_instance.orders' is not possible: it has 10,000 characters",
            )
            for name in ("instance_class", "engine", "identifier")
        ),
    ],
)
def test_a_declared_database_with_an_impossible_value_is_refused(tmp_path, read, field, value, cause):
    with pytest.raises(DataError) as refused:
        read(tmp_path, **{field: value})

    assert refused.value.message.startswith(cause)
    assert "xxx" not in refused.value.message


@pytest.mark.parametrize("value", ["-5", "inf", "nan", "1e300"])
def test_a_table_of_descriptions_with_an_impossible_number_is_refused(value):
    """The message names the row."""
    row = {"instance": "a", "class": "db.r6g.large", "iops": value}
    with pytest.raises(DataError, match="iops in row 1"):
        described_rows([row], default_from_s=0, where="'t.csv'")


@pytest.mark.parametrize("value", [-5.0, 0.0, 1e300, float("inf"), float("nan")])
@pytest.mark.parametrize("option", ["size_gib", "iops", "throughput_mibps"])
def test_an_option_with_an_impossible_number_is_refused(option, value):
    """In the words of the command line."""
    with pytest.raises(UsageError, match=f"--{option.replace('_', '-')} .* is not possible"):
        with_flags(Instance(), InstanceOptions(**{option: value}))


@pytest.mark.parametrize("moment", ["9999-12-31", "0001-01-01", "1969-12-31", "2100-01-01"])
def test_a_moment_far_away_is_refused(moment):
    """A file could not be written with it."""
    with pytest.raises(UsageError, match="is not from 1970 to 2099"):
        epoch_of(moment)


NUMBERS: dict[str, Callable[[Path], object]] = {
    "a template": lambda folder: read_cloudformation(template_with(folder, Iops=0)),
    "a plan": lambda folder: read_terraform(plan_with(folder, iops=0, allocated_storage="100")),
    "a snapshot": lambda _: decode_snapshot(in_snapshot("instance.storage.size_gib", 65_536)),
}


@pytest.mark.parametrize("what", NUMBERS)
def test_what_can_be_is_read(tmp_path, what):
    """Zero is what Terraform and RDS write where nothing is provisioned."""
    try:
        NUMBERS[what](tmp_path)
    except PlimsollError as error:  # pragma: no cover - the message helps
        pytest.fail(error.message)
