"""A gate's configuration follows from what was bought, and from nothing else."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from plimsoll.app.moments import epoch_of
from plimsoll.catalog.load import catalog
from plimsoll.errors import DataError, UsageError
from plimsoll.limits import chain_of
from plimsoll.model.instance import Instance, Storage
from plimsoll_lab.gate.config import (
    BASE_LATENCIES,
    GateSetup,
    Latency,
    config_of,
    has_credits,
    legacy_limits_for,
    parse_limits,
    stages_of,
)

T3 = Instance(db_class="db.t3.xlarge", engine="postgres", storage=Storage(kind="gp2", size_gib=1000))
R5 = Instance(db_class="db.r5.2xlarge", engine="postgres")


def config(setup: GateSetup) -> dict:
    paths = {name: Path(f"/{name}") for name in ("backing", "mount", "socket", "record")}
    return config_of(setup, catalog(), **paths)


def launched(instance: Instance, day: str) -> GateSetup:
    return GateSetup(instance=replace(instance, launched_s=epoch_of(day)))


def test_the_chain_is_that_of_the_instance():
    """db.t3.xlarge on four gp2 volumes: four stages, with documented capacities whatever the clock."""
    configured = config(GateSetup(instance=T3, clock=60.0, credits=0.2))

    assert [
        ("instance_ebs_throughput", 86.875e6, 347.5e6, (347.5e6 - 86.875e6) * 1800, "bytes", 1),
        ("instance_ebs_iops", 4000.0, 15_700.0, 11_700.0 * 1800, "operations", 1),
        ("volume_throughput", 262_144_000.0, 262_144_000.0, 0.0, "bytes", 4),
        ("volume_iops", 750.0, 3000.0, 5.4e6, "operations", 4),
    ] == [
        tuple(stage[key] for key in ("name", "baseline", "burst", "capacity", "counts", "stripes"))
        for stage in configured["chain"]
    ]
    assert [0.2] * 4 == configured["balance_ratio"]
    assert 60.0 == configured["clock"]
    assert [None, None, None, 262_144] == [stage["unit_bytes"] for stage in configured["chain"]]


def test_the_document_has_the_names_that_the_daemon_knows():
    """Paths and settings have the names that the daemon knows, and the document is plain JSON."""
    report = json.loads(json.dumps(config(GateSetup(instance=T3))))

    assert {
        *("backing", "mount", "mode", "socket", "record", "allow_other", "clock", "memory_bytes"),
        *("slack_s", "max_background", "chain", "balance_ratio", "latency_s", "is_limited"),
        *("chunk_bytes", "portion_bytes"),
    } == set(report)
    assert ("/backing", "/mount", "/socket", "/record") == (
        *(report["backing"], report["mount"], report["socket"], report["record"]),
    )
    assert ("fs", True, True, None) == tuple(
        report[key] for key in ("mode", "is_limited", "allow_other", "memory_bytes")
    )


@pytest.mark.parametrize(("scale", "turn_bytes"), [(1.0, 262_144), (10.0, 26_214.4), (1000.0, 4096)])
def test_a_turn_is_scaled_with_the_rates(scale, turn_bytes):
    """So that it takes as long as at the whole rate; never less than a page."""
    report = config(GateSetup(instance=T3, scale=scale))

    assert report["portion_bytes"] == pytest.approx(turn_bytes)


def test_a_block_image_has_its_size():
    """In block mode the daemon serves one file, and needs its size."""
    paths = {name: Path(f"/{name}") for name in ("backing", "mount", "socket", "record")}
    configured = config_of(GateSetup(instance=T3, mode="block"), catalog(), **paths, image_bytes=2**30)

    assert ("block-image", 2**30) == (configured["mode"], configured["image_bytes"])


@pytest.mark.parametrize("kind", sorted(BASE_LATENCIES))
def test_the_base_latency_is_that_of_the_storage_type(kind: str):
    """Each storage type has its own, a given one takes precedence, and no storage is needed."""
    bought = replace(R5, storage=Storage(kind=kind, size_gib=500, provisioned_ops_per_s=3000))
    given = Latency(read_s=0.01, write_s=0.02)
    usual = BASE_LATENCIES[kind]

    assert {"read": usual.read_s, "write": usual.write_s} == config(GateSetup(instance=bought))["latency_s"]
    assert {"read": 0.01, "write": 0.02} == config(GateSetup(instance=bought, latency=given))["latency_s"]
    assert config(GateSetup(instance=R5))["latency_s"]["read"] > 0


def test_an_instance_launched_before_a_limit_was_raised_keeps_its_legacy_one():
    """
    db.r5.2xlarge of June 2019 has the 212.5 MB/s that were documented then; one of 2021, today's. Of several
    legacy limits it has those of its launch: for some days of July 2018 that was 437.5 MB/s.
    """
    first = stages_of(launched(R5, "2018-07-30"), catalog())[0]
    then = stages_of(launched(R5, "2019-06-01"), catalog())[0]
    now = stages_of(launched(R5, "2021-06-01"), catalog())[0]

    assert (212.5e6, 437.5e6) == (then.baseline, then.burst)
    assert (287.5e6, 593.75e6) == (now.baseline, now.burst)
    assert (437.5e6, 437.5e6) == (first.baseline, first.burst)


def test_legacy_limits_can_be_required_and_refused():
    """
    Without a launch date the last legacy limits apply; with one, today's can still be requested. Those that nobody
    knows are an error.
    """
    insisted = legacy_limits_for(GateSetup(instance=R5, legacy=True), catalog())
    refused = legacy_limits_for(replace(launched(R5, "2019-06-01"), legacy=False), catalog())

    assert 212.5e6 == insisted.ebs_baseline_bytes_per_s
    assert None is refused
    assert None is legacy_limits_for(GateSetup(instance=R5), catalog())
    with pytest.raises(UsageError, match=r"no legacy limits of db\.r5\.2xlarge"):
        legacy_limits_for(replace(launched(R5, "2024-01-01"), legacy=True), catalog())


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        (GateSetup(instance=T3, clock=0.5), "a credit clock of 0.5"),
        (GateSetup(instance=T3, clock=float("nan")), "a credit clock of nan"),
        (GateSetup(instance=T3, credits=1.1), "a starting balance of 1.1"),
        (GateSetup(instance=T3, memory_bytes=1000), "a page cache of 1,000 bytes"),
        (GateSetup(instance=T3, latency=Latency(read_s=-1, write_s=0)), "a base latency of -1000 ms"),
        (GateSetup(instance=Instance()), "there is nothing to emulate"),
        (
            GateSetup(instance=Instance(db_class="db.r5.large", engine="aurora-mysql")),
            "no EBS or volume limit is documented for Aurora",
        ),
    ],
)
def test_what_cannot_be_emulated_is_refused(setup: GateSetup, expected: str):
    """Each error names the number or fact, and what to do."""
    with pytest.raises(UsageError) as raised:
        config(setup)

    assert raised.value.message.startswith(expected)
    assert raised.value.hint.endswith(".")


def test_every_class_with_limits_can_be_emulated():
    """For each class of the catalog that has EBS limits the gate gets exactly the chain of the law."""
    facts = catalog()
    asked = [Instance(db_class=name, engine="postgres") for name in facts.classes()]
    with_limits = [one for one in asked if chain_of(one, facts)]

    assert len(with_limits) > 200
    for one in with_limits:
        configured = config(GateSetup(instance=one))["chain"]
        assert [(s.baseline, s.burst, s.capacity) for s in chain_of(one, facts)] == [
            (stage["baseline"], stage["burst"], stage["capacity"]) for stage in configured
        ]


OWN = b"""{"chain": [
    {"name": "bytes", "counts": "bytes", "baseline": 1e6, "burst": 2e6, "capacity": 5e6},
    {"name": "volume_iops", "counts": "operations", "baseline": 100, "unit_bytes": 16384}
], "latency_s": {"read": 0.002, "write": 0.003}}"""


def test_limits_of_a_file_take_the_place_of_class_and_storage():
    """Rates, capacities and latencies are those of the file; a stage without burst is fixed."""
    own = parse_limits(OWN, "disk.json")
    setup = GateSetup(instance=Instance(), stages=own.stages, latency=own.latency, limits_name="disk.json")
    configured = config(setup)

    assert "limits of disk.json" == setup.name
    assert [(1e6, 2e6, 5e6), (100.0, 100.0, 0.0)] == [
        (stage["baseline"], stage["burst"], stage["capacity"]) for stage in configured["chain"]
    ]
    assert [True, False] == [has_credits(stage) for stage in own.stages]
    assert {"read": 0.002, "write": 0.003} == configured["latency_s"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "unable to read"),
        ("[]", "unable to read"),
        ('{"chain": []}', "is empty"),
        ('{"chain": [{"name": "a", "counts": "bytes"}]}', "missing required field `baseline`"),
        ('{"chain": [{"name": "a", "counts": "ops", "baseline": 1}]}', "Invalid enum value"),
        ('{"chain": [{"name": "a", "counts": "bytes", "baseline": 1, "brust": 2}]}', "brust"),
        ('{"chain": [{"name": "a", "counts": "bytes", "baseline": 0}]}', "a rate of 0"),
        ('{"chain": [{"name": "a", "counts": "bytes", "baseline": 2, "burst": 1}]}', "below its"),
        ('{"chain": [{"name": "a", "counts": "bytes", "baseline": 2, "capacity": -1}]}', "a capacity of -1"),
        ('{"chain": [' + ", ".join(['{"name": "a", "counts": "bytes", "baseline": 1}'] * 2) + "]}", "share a name"),
    ],
)
def test_limits_that_cannot_be_name_the_place(text: str, expected: str):
    """A file of limits is refused with its name, the stage and what is wrong with it."""
    with pytest.raises(DataError) as raised:
        parse_limits(text.encode(), "disk.json")

    assert expected in raised.value.message
    assert "'disk.json'" in raised.value.message
