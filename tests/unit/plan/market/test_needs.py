"""What a window needs besides storage, in numbers one can check by hand."""

import numpy as np
import pytest

from plan_cases import GIB, calm, claims, needs
from plimsoll.catalog.load import catalog
from plimsoll.model.instance import Instance, Storage
from plimsoll.plan.market.needs import ResourceNeeds, shortfall


def lacks(db_class: str, found: ResourceNeeds, *may: str) -> str:
    return shortfall(catalog().instance_limits(db_class), found, catalog(), frozenset(may))


def test_cpu_is_counted_in_busy_vcpus():
    """Half of four vCPUs are two, and three once the load has grown to one and a half."""
    assert needs(claims(), cpu_ratio=0.5).busy_vcpus == pytest.approx(2.0)
    assert needs(claims(), cpu_ratio=0.5, growth=1.5).busy_vcpus == pytest.approx(3.0)


def test_the_busiest_hundredth_does_not_choose_the_class():
    """Fourteen busy minutes of a day are less than a hundredth and are left out; fifteen are not."""
    ratio = np.full(1440, 0.1)
    ratio[:14] = 1.0
    assert needs(claims(), cpu_ratio=ratio).busy_vcpus == pytest.approx(0.4)
    ratio[:16] = 1.0
    assert needs(claims(), cpu_ratio=ratio).busy_vcpus == pytest.approx(4.0)


ALMOST, TOO_BUSY = ({"cpu_ratio": ratio, "connection_count": 1.0} for ratio in (0.4, 0.41))
IDLE, FULL = ({"cpu_ratio": 0.1, "freeable_memory_bytes": free * GIB, "connection_count": 1.0} for free in (10, 6))
FEW, MANY = (IDLE | {"connection_count": count} for count in (830.0, 840.0))
EVEN, IN, OUT = (
    {"network_receive_bytes_per_s": received, "network_transmit_bytes_per_s": sent}
    for received, sent in ((50e6, 50e6), (90e6, 1e6), (1e6, 95e6))
)
SLOWER, LESS = ("smaller-network",), ("smaller-memory", "smaller-network")
ALL_BUT_NETWORK = ("smaller-cpu", "smaller-memory", "smaller-connections")
"""What may be smaller."""
CPU = "its {} vCPUs would be {} % busy (99th percentile), more than 80 %"
MEMORY = "it has 8 GiB of memory instead of 16 GiB, and "
UNKNOWN_HITS = f"{MEMORY}the cache hit rate is unknown; --allow smaller-memory permits it"
NETWORK = "its network baseline is 93.75 MB/s, and {} MB/s were used one way"
CREDITS = "its CPU credits last for 0.6 vCPUs, and the busiest day uses 0.7"


@pytest.mark.parametrize(
    ("before", "measured", "after", "may", "said"),
    [
        # 1.6 busy vCPUs are 80 % of two and pass; 1.64 are 82 % and do not. r6g.large has the memory of t3.xlarge.
        ("t3.xlarge", ALMOST, "r6g.large", SLOWER, ""),
        ("t3.xlarge", TOO_BUSY, "r6g.large", SLOWER, CPU.format(2, 82)),
        ("t3.xlarge", TOO_BUSY, "r6g.large", (*SLOWER, "smaller-cpu"), ""),
        # As many take nothing away, even at 95 %; 60 % of four are 120 % once doubled.
        ("t3.xlarge", {"cpu_ratio": 0.95}, "m6g.xlarge", (), ""),
        ("t3.xlarge", {"cpu_ratio": 0.6, "growth": 2.0}, "m6g.xlarge", (), CPU.format(4, 120)),
        ("t3.xlarge", {"cpu_ratio": 0.6, "growth": 2.0}, "m6g.2xlarge", (), ""),
        # Without measurements nothing becomes smaller, and no class that holds its vCPUs becomes one that does not.
        ("t3.xlarge", {}, "r6g.large", (), "it has 2 vCPUs instead of 4, and CPU was not measured"),
        ("t3.xlarge", {}, "m6g.xlarge", (), ""),
        ("m5.xlarge", {}, "t3.xlarge", SLOWER, "its CPU credits may not suffice, and CPU was not measured"),
        ("t3.xlarge", {}, "t4g.xlarge", SLOWER, ""),
        # With 10 of 16 GiB free 8 GiB would do, but only if somebody says so; with 6 free they would not.
        ("t3.xlarge", IDLE, "m6g.large", (), UNKNOWN_HITS),
        ("t3.xlarge", IDLE, "m6g.large", LESS, ""),
        ("t3.xlarge", FULL, "m6g.large", LESS, f"{MEMORY}10 GiB were in use"),
        # 8 GiB take 901 connections by the formula and some 832 in practice.
        ("t3.xlarge", FEW, "m6g.large", LESS, ""),
        ("t3.xlarge", MANY, "m6g.large", LESS, "it allows about 832 connections by default, and 840 were open"),
        ("t3.xlarge", MANY, "m6g.large", (*LESS, "smaller-connections"), ""),
        # r5.2xlarge carries 2.5 Gbit/s; r6g.large 0.75, which is 93.75 MB/s in each direction.
        ("r5.2xlarge", EVEN, "r6g.large", ALL_BUT_NETWORK, ""),
        ("r5.2xlarge", EVEN | {"growth": 2.0}, "r6g.large", ALL_BUT_NETWORK, NETWORK.format(100)),
        ("r5.2xlarge", IN, "r6g.large", ALL_BUT_NETWORK, ""),
        ("r5.2xlarge", OUT, "r6g.large", ALL_BUT_NETWORK, NETWORK.format(95)),
        # t2.large holds 0.6 vCPUs, and nothing documents that RDS lends it more.
        ("m5.large", {"cpu_ratio": 0.35, "connection_count": 1.0}, "t2.large", SLOWER, CREDITS),
        ("m5.large", {"cpu_ratio": 0.25, "connection_count": 1.0}, "t2.large", SLOWER, ""),
    ],
)
def test_a_class_lacks_what_it_takes_away(before: str, measured: dict, after: str, may: tuple[str, ...], said: str):
    """Nothing, or the first thing that would be too small, in one sentence."""
    assert said == lacks(f"db.{after}", needs(claims(db_class=f"db.{before}"), **measured), *may)


def test_what_was_not_measured_is_kept_and_reported():
    """And that the present class would be too small."""
    grown = needs(claims(), cpu_ratio=0.6, growth=2.0)

    assert "With 2 times the demand, the present 4 vCPUs would be 120 % busy." in grown.notes
    assert ["CPU", "Free memory", "Connections", "The network"] == [
        note.split(" was")[0].split(" were")[0] for note in needs(claims()).notes
    ]


def test_one_direction_alone_does_not_measure_the_network():
    """What was received says nothing about what was sent."""
    assert needs(claims(), network_receive_bytes_per_s=1e6).network_bytes_per_s is None


def test_borrowed_credits_are_counted_by_the_day():
    """
    Two vCPUs at 20 % earn 0.4: one vCPU busy for a day borrows 0.6, which is 36 credits an hour. A class that is
    not burstable borrows none.
    """
    limits, fixed = (catalog().instance_limits(name) for name in ("db.t3.medium", "db.m6g.large"))
    busy, calm_day = (needs(claims(db_class="db.t3.medium"), cpu_ratio=ratio) for ratio in (0.5, 0.2))

    assert busy.surplus_credits_per_hour(limits, catalog()) == pytest.approx(36.0)
    assert calm_day.surplus_credits_per_hour(limits, catalog()) == pytest.approx(0.0)
    assert needs(claims()).surplus_credits_per_hour(limits, catalog()) is None
    assert needs(claims(), cpu_ratio=0.9).surplus_credits_per_hour(fixed, catalog()) == 0.0


def test_storage_that_is_nearly_full_is_reported():
    """60 of 1,200 GiB free are 5 %."""
    full = needs(claims(), free_storage_bytes=60 * GIB)

    assert full.used_gib == pytest.approx(1140)
    assert any(note.startswith("Only 5.0 % of the storage was free") for note in full.notes)
    assert not any("storage" in note for note in calm(claims()).notes)


def test_a_host_without_a_class_has_needs():
    """A machine that is not RDS tells its own cores and memory."""
    host = Instance(vcpu_count=8, memory_bytes=int(32 * GIB), storage=Storage())

    assert needs(host, cpu_ratio=0.5).busy_vcpus == pytest.approx(4.0)
