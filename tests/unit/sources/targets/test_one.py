"""What a server keeps of an instance, and a file that says what was bought."""

import json

from msgspec.structs import replace

import builders
from plimsoll.model.instance import Instance
from plimsoll.sources.targets.one import with_description

ANSWER = {
    "DBInstances": [
        {
            "DBInstanceIdentifier": "orders",
            "DBInstanceClass": "db.r5.large",
            "Engine": "postgres",
            "StorageType": "gp2",
            "AllocatedStorage": 300,
        }
    ]
}


def described(tmp_path, identifier, *, engine="postgres"):
    answer = tmp_path / "instance.json"
    answer.write_text(json.dumps(ANSWER), encoding="utf-8")
    made = builders.snapshot(builders.storage([1e6, 2e6]))
    instance = Instance(identifier=identifier, engine=engine, region="eu-west-1")
    return with_description(replace(made, instance=instance), answer, None)


def test_the_description_of_the_same_instance_is_taken(tmp_path):
    """Exporters that tell no class get it from the answer; what they tell beside it stays."""
    instance = described(tmp_path, "ORDERS").instance

    assert ("db.r5.large", 300, "eu-west-1") == (instance.db_class, instance.storage.size_gib, instance.region)


def test_a_host_is_known_by_its_address_and_means_the_one_described_instance(tmp_path):
    assert "orders" == described(tmp_path, "10.0.0.7:9100", engine=None).instance.identifier


def test_the_description_of_another_instance_is_named_and_not_taken(tmp_path):
    """A wrong file must not give an instance another one's limits."""
    made = described(tmp_path, "billing")

    assert made.instance.db_class is None
    assert any("billing" in gap.reason for gap in made.gaps)
