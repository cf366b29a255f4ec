"""
The storage rules of each engine, from the answer of describe-db-instances to the ceilings.

Expected numbers: RDS User Guide, chap-storage (2026-04-13), and EBS User Guide, general-purpose and
provisioned-iops (2026-11), multiplied by hand.
"""

from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from plimsoll.catalog.load import catalog
from plimsoll.limits import chain_of
from plimsoll.limits.layout import volume_count_of
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.sources.documents.describe_instances import instance_of
from plimsoll.units import GIB, mib_per_s
from unit.limits.instances import of, values

THROUGHPUT, IOPS = Family.VOLUME_THROUGHPUT, Family.VOLUME_IOPS


def bought(
    engine: str, kind: str, size_gib: int, *, iops: int | None = None, mib: int | None = None, **more: Any
) -> Instance:
    """An instance as RDS describes it."""
    return instance_of(
        {
            "DBInstanceIdentifier": "a1",
            "Engine": engine,
            "StorageType": kind,
            "AllocatedStorage": size_gib,
            "Iops": iops,
            "StorageThroughput": mib,
            "InstanceCreateTime": "2025-06-01T00:00:00Z",
            **more,
        }
    )


class Case(NamedTuple):
    """What was bought, and what it must give."""

    engine: str
    kind: str
    size_gib: int
    iops: int | None
    mib: int | None
    volumes: int
    ops_per_s: float
    mib_per_s: float
    burst_ops_per_s: float | None = None


OPEN = ("postgres", "mysql", "mariadb")
TABLE = [
    # gp3: the same 300 GiB is one volume, four on Oracle; SQL Server never has more than one.
    *(Case(e, "gp3", 300, 3000, 125, 1, 3000, 125) for e in (*OPEN, "db2-se")),
    Case("oracle-ee", "gp3", 300, None, None, 4, 12_000, 500),
    Case("sqlserver-se", "gp3", 300, None, None, 1, 3000, 125),
    *(Case(e, "gp3", 399, None, None, 1, 3000, 125) for e in (*OPEN, "db2-ae")),
    *(Case(e, "gp3", 400, None, None, 4, 12_000, 500) for e in (*OPEN, "db2-ae")),
    Case("postgres", "gp3", 20, None, None, 1, 3000, 125),
    Case("postgres", "gp3", 400, 20_000, 1000, 4, 20_000, 1000),
    Case("oracle-se2", "gp3", 199, None, None, 1, 3000, 125),
    Case("oracle-se2-cdb", "gp3", 200, None, None, 4, 12_000, 500),
    Case("sqlserver-ee", "gp3", 16_384, 16_000, 1000, 1, 16_000, 1000),
    # Above 32,000 IOPS the throughput rises with them, for MySQL and MariaDB alone.
    Case("mysql", "gp3", 1000, 40_000, 500, 4, 40_000, 625),
    Case("mysql", "gp3", 1000, 40_000, None, 4, 40_000, 625),
    Case("mariadb", "gp3", 1000, 32_000, None, 4, 32_000, 500),
    Case("mariadb", "gp3", 1000, 64_000, 500, 4, 64_000, 1000),
    Case("postgres", "gp3", 1000, 40_000, None, 4, 40_000, 500),
    Case("postgres", "gp3", 1000, 40_000, 500, 4, 40_000, 500),
    Case("oracle-ee", "gp3", 1000, 40_000, 500, 4, 40_000, 500),
    # gp2: 3 IOPS per GiB and volume, at least 100, at most 16,000; bursts of 3,000.
    *(
        Case("postgres", "gp2", size_gib, None, None, 1, ops, mib, 3000)
        for size_gib, ops, mib in (
            *((20, 100, 128), (33, 100, 128), (34, 102, 128), (100, 300, 128)),
            *((170, 510, 128), (171, 513, 250), (399, 1197, 250)),
        )
    ),
    *(
        Case("postgres", "gp2", size_gib, None, None, 4, 3 * size_gib, mib, 12_000)
        for size_gib, mib in ((400, 512), (680, 512), (684, 1000))
    ),
    Case("postgres", "gp2", 65_536, None, None, 4, 64_000, 1000),
    *(Case(e, "gp2", 300, None, None, 1, 900, 250, 3000) for e in OPEN),
    Case("oracle-ee", "gp2", 300, None, None, 4, 900, 512, 12_000),
    Case("sqlserver-web", "gp2", 300, None, None, 1, 900, 250, 3000),
    Case("sqlserver-ex", "gp2", 20, None, None, 1, 100, 128, 3000),
    Case("sqlserver-se", "gp2", 2000, None, None, 1, 6000, 250),
    *(Case(e, "gp2", 2000, None, None, 4, 6000, 1000, 12_000) for e in (*OPEN, "oracle-ee")),
    Case("sqlserver-se", "gp2", 16_384, None, None, 1, 16_000, 250),
    *(Case(e, "gp2", 16_384, None, None, 4, 49_152, 1000) for e in (*OPEN, "oracle-ee")),
    # io1: 500 MiB/s a volume up to 32,000 IOPS, 16 KiB per operation above, at most 1,000 MiB/s.
    *(Case(e, "io1", 300, 10_000, None, 1, 10_000, 500) for e in (*OPEN, "db2-se")),
    Case("oracle-ee", "io1", 300, 10_000, None, 4, 10_000, 2000),
    Case("sqlserver-se", "io1", 300, 10_000, None, 1, 10_000, 500),
    Case("sqlserver-se", "io1", 2000, 2000, None, 1, 2000, 500),
    Case("sqlserver-se", "io1", 2000, 32_000, None, 1, 32_000, 500),
    Case("sqlserver-ee", "io1", 2000, 48_000, None, 1, 48_000, 750),
    Case("sqlserver-ee", "io1", 2000, 64_000, None, 1, 64_000, 1000),
    Case("postgres", "io1", 2000, 64_000, None, 4, 64_000, 2000),
    Case("postgres", "io1", 4000, 30_000, None, 4, 30_000, 2000),
    Case("postgres", "io1", 6000, 256_000, None, 4, 256_000, 4000),
    Case("oracle-ee", "io1", 10_000, 256_000, None, 4, 256_000, 4000),
    # io2: 0.256 MiB/s per operation and volume, at most 4,000 MiB/s.
    *(Case(e, "io2", 300, 10_000, None, 1, 10_000, 2560) for e in (*OPEN, "db2-se")),
    Case("postgres", "io2", 1000, 1000, None, 4, 1000, 256),
    Case("postgres", "io2", 1000, 200_000, None, 4, 200_000, 16_000),
    Case("sqlserver-ee", "io2", 2000, 64_000, None, 1, 64_000, 4000),
    Case("mysql", "io2", 2000, 64_000, None, 4, 64_000, 16_000),
    Case("oracle-ee", "io2", 199, 20_000, None, 1, 20_000, 4000),
    Case("oracle-ee", "io2", 200, 20_000, None, 4, 20_000, 5120),
]


@pytest.mark.parametrize("case", TABLE, ids=lambda c: f"{c.engine}-{c.kind}-{c.size_gib}-{c.iops}")
def test_storage_gives_what_is_documented_for_its_engine(case: Case):
    """Volumes, IOPS and MiB/s by engine, type and size; see the sources above."""
    subject = bought(case.engine, case.kind, case.size_gib, iops=case.iops, mib=case.mib)
    ops = values(of(subject, IOPS))

    assert volume_count_of(subject, catalog()) == case.volumes
    assert ops.get(Phase.BASELINE, ops.get(Phase.FIXED)) == case.ops_per_s
    assert ops.get(Phase.BURST) == case.burst_ops_per_s
    assert [(c.phase, c.value) for c in of(subject, THROUGHPUT)] == [
        (Phase.FIXED, pytest.approx(mib_per_s(case.mib_per_s), rel=1e-12))
    ]


def test_the_standard_edition_of_an_engine_changes_nothing():
    """Editions and container databases have the storage of their engine."""
    for engines in (
        ("oracle-ee", "oracle-se2", "oracle-ee-cdb", "oracle-se2-cdb", "custom-oracle-ee"),
        ("sqlserver-ee", "sqlserver-se", "sqlserver-ex", "sqlserver-web", "custom-sqlserver-se"),
        ("db2-se", "db2-ae"),
    ):
        storages = [(of(bought(e, "gp3", 1000), IOPS), of(bought(e, "gp3", 1000), THROUGHPUT)) for e in engines]

        assert all(storages[0])
        assert all(one == storages[0] for one in storages)


def more(kind: str = "GP3", size_gib: int = 200, **fields: Any) -> dict[str, Any]:
    return {"VolumeName": "rdsdbdata2", "StorageType": kind, "AllocatedStorage": size_gib} | fields


def test_additional_storage_of_oracle_is_added():
    """Each storage of 200 GiB and more is striped over four volumes of its own."""
    subject = bought("oracle-ee", "gp3", 1000, AdditionalStorageVolumes=[more(), more()])
    (ops,), (throughput,) = of(subject, IOPS), of(subject, THROUGHPUT)

    assert volume_count_of(subject, catalog()) == 12
    assert (ops.value, throughput.value) == (36_000, mib_per_s(1500))
    assert "the sum of 3 volumes" in ops.note
    assert of(subject, Family.STORAGE_SPACE)[0].value == 1400 * GIB


def test_additional_storage_of_sql_server_is_one_volume_each():
    """SQL Server stripes nothing, so three gp3 storages have 3 × 3,000 IOPS."""
    extra = [more(size_gib=500), more("IO2", 500, IOPS=10_000)]
    subject = bought("sqlserver-ee", "gp3", 1000, AdditionalStorageVolumes=extra)

    assert volume_count_of(subject, catalog()) == 3
    assert of(subject, IOPS)[0].value == 3000 + 3000 + 10_000
    assert of(subject, THROUGHPUT)[0].value == mib_per_s(125 + 125 + 2560)


def test_additional_storage_beside_gp2_keeps_its_bursts():
    """gp2 earns credits, the gp3 beside it has none: baseline and burst are raised by the same."""
    subject = bought("oracle-ee", "gp2", 1000, AdditionalStorageVolumes=[more()])
    baseline, burst = of(subject, IOPS)

    assert (baseline.phase, baseline.value) == (Phase.BASELINE, 3000 + 12_000)
    assert (burst.phase, burst.value) == (Phase.BURST, 12_000 + 12_000)
    assert burst.balance_metric is Metric.VOLUME_BALANCE_RATIO


@pytest.mark.parametrize("unknown", [more("ST1"), more(StorageType=None), more("IO2")])
def test_a_part_that_is_unknown_leaves_the_sum_unknown(unknown: dict[str, Any]):
    """The first storage alone is no bound of what all of them serve."""
    subject = bought("oracle-ee", "gp3", 1000, AdditionalStorageVolumes=[unknown])

    assert of(subject, IOPS) == ()
    assert "volume_iops" not in {stage.name for stage in chain_of(subject, catalog())}


def test_the_chain_has_the_sum_of_additional_storage():
    """
    What the law replays is the sum that CloudWatch reports the load of; Enhanced Monitoring counts every
    device, so the rule of each storage decides, not the count.
    """
    subject = bought("oracle-ee", "gp3", 1000, AdditionalStorageVolumes=[more()])
    stage = next(s for s in chain_of(subject, catalog()) if s.name == "volume_iops")
    seen = replace(subject, storage=replace(subject.storage, volume_count=8))

    assert (stage.stripes, stage.baseline * stage.stripes) == (8, 24_000)
    assert of(seen, IOPS)[0].value == of(subject, IOPS)[0].value == 24_000
