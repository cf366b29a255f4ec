"""What a window needs besides storage, in numbers one can check by hand."""

import numpy as np
import pytest

from plan_cases import GIB, calm, claims, needs
from plimsoll.catalog.load import catalog
from plimsoll.model.instance import Instance, Storage
from plimsoll.plan.market.needs import ResourceNeeds, shortfall

NOTHING: frozenset[str] = frozenset()


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


def test_a_class_with_fewer_vcpus_stays_below_four_fifths():
    """1.6 busy vCPUs are 80 % of two and pass; 1.64 are 82 % and do not."""
    fits = needs(claims(), cpu_ratio=0.4, connection_count=1.0)
    tight = needs(claims(), cpu_ratio=0.41, connection_count=1.0)

    # db.r6g.large has 2 vCPUs and the 16 GiB of db.t3.xlarge.
    assert lacks("db.r6g.large", fits, "smaller-network") == ""
    assert lacks("db.r6g.large", tight, "smaller-network") == (
        "its 2 vCPUs would be 82 % busy (99th percentile), more than 80 %"
    )
    assert lacks("db.r6g.large", tight, "smaller-network", "smaller-cpu") == ""


def test_as_many_vcpus_are_enough_however_busy_they_are():
    """A class with as many vCPUs takes nothing away, even at 95 %."""
    assert lacks("db.m6g.xlarge", needs(claims(), cpu_ratio=0.95)) == ""


def test_grown_cpu_needs_more_vcpus():
    """60 % of four vCPUs are 120 % once doubled: four are too few, also for the present class."""
    grown = needs(claims(), cpu_ratio=0.6, growth=2.0)

    assert "its 4 vCPUs would be 120 % busy" in lacks("db.m6g.xlarge", grown)
    assert lacks("db.m6g.2xlarge", grown) == ""
    assert "With 2 times the demand, the present 4 vCPUs would be 120 % busy." in grown.notes


def test_what_was_not_measured_is_kept_and_reported():
    """Without measurements no class has fewer vCPUs, less memory, fewer connections or a slower network."""
    unknown = needs(claims())

    assert "it has 2 vCPUs instead of 4, and CPU was not measured" in lacks("db.r6g.large", unknown)
    assert lacks("db.m6g.xlarge", unknown) == ""
    assert [note.split(" was")[0].split(" were")[0] for note in unknown.notes] == [
        "CPU",
        "Free memory",
        "Connections",
        "The network",
    ]


def test_less_memory_is_asked_for_and_never_below_the_working_set():
    """With 10 of 16 GiB free 8 GiB would do, but only if somebody says so; with 6 free they would not."""
    idle = needs(claims(), cpu_ratio=0.1, freeable_memory_bytes=10 * GIB, connection_count=1.0)
    full = needs(claims(), cpu_ratio=0.1, freeable_memory_bytes=6 * GIB, connection_count=1.0)
    may = ("smaller-memory", "smaller-network")

    assert "--allow smaller-memory permits it" in lacks("db.m6g.large", idle)
    assert lacks("db.m6g.large", idle, *may) == ""
    assert lacks("db.m6g.large", full, *may) == ("it has 8 GiB of memory instead of 16 GiB, and 10 GiB were in use")


def test_connections_are_compared_with_the_default_of_the_class():
    """8 GiB take 901 connections by the formula and some 832 in practice: 830 fit, 840 do not."""
    few = needs(claims(), cpu_ratio=0.1, freeable_memory_bytes=10 * GIB, connection_count=830.0)
    many = needs(claims(), cpu_ratio=0.1, freeable_memory_bytes=10 * GIB, connection_count=840.0)
    may = ("smaller-memory", "smaller-network")

    assert lacks("db.m6g.large", few, *may) == ""
    assert lacks("db.m6g.large", many, *may) == ("it allows about 832 connections by default, and 840 were open")
    assert lacks("db.m6g.large", many, *may, "smaller-connections") == ""


def test_the_network_grows_with_the_load():
    """50 MB/s in each direction fit db.r6g.large, which carries 93.75; twice as much does not."""
    instance = claims(db_class="db.r5.2xlarge")
    rates = {"network_receive_bytes_per_s": 50e6, "network_transmit_bytes_per_s": 50e6}
    may = ("smaller-cpu", "smaller-memory", "smaller-connections")

    assert lacks("db.r6g.large", needs(instance, **rates), *may) == ""
    assert lacks("db.r6g.large", needs(instance, growth=2.0, **rates), *may) != ""


def test_the_network_is_compared_with_what_it_carries_forever():
    """db.r5.2xlarge carries 2.5 Gbit/s; db.r6g.large 0.75, which is 93.75 MB/s."""
    instance = claims(db_class="db.r5.2xlarge")
    slow = needs(instance, network_receive_bytes_per_s=90e6, network_transmit_bytes_per_s=1e6)
    fast = needs(instance, network_receive_bytes_per_s=1e6, network_transmit_bytes_per_s=95e6)
    may = ("smaller-cpu", "smaller-memory", "smaller-connections")

    assert lacks("db.r6g.large", slow, *may) == ""
    assert "its network baseline is 93.75 MB/s, and 95 MB/s" in lacks("db.r6g.large", fast, *may)


def test_one_direction_alone_does_not_measure_the_network():
    """What was received says nothing about what was sent."""
    assert needs(claims(), network_receive_bytes_per_s=1e6).network_bytes_per_s is None


def test_borrowed_credits_are_counted_by_the_day():
    """Two vCPUs at 20 % earn 0.4: one vCPU busy for a day borrows 0.6, which is 36 credits an hour."""
    limits = catalog().instance_limits("db.t3.medium")
    busy = needs(claims(db_class="db.t3.medium"), cpu_ratio=0.5)
    calm_day = needs(claims(db_class="db.t3.medium"), cpu_ratio=0.2)

    assert busy.surplus_credits_per_hour(limits, catalog()) == pytest.approx(36.0)
    assert calm_day.surplus_credits_per_hour(limits, catalog()) == pytest.approx(0.0)
    assert needs(claims()).surplus_credits_per_hour(limits, catalog()) is None


def test_a_class_that_earns_no_credits_borrows_none():
    """db.m6g.large is not burstable: it costs what it costs."""
    limits = catalog().instance_limits("db.m6g.large")

    assert needs(claims(), cpu_ratio=0.9).surplus_credits_per_hour(limits, catalog()) == 0.0


def test_a_class_that_cannot_borrow_must_earn_the_busiest_day():
    """db.t2.large holds 0.6 vCPUs, and nothing documents that RDS lends it more."""
    busy = needs(claims(db_class="db.m5.large"), cpu_ratio=0.35, connection_count=1.0)
    calm_day = needs(claims(db_class="db.m5.large"), cpu_ratio=0.25, connection_count=1.0)

    assert lacks("db.t2.large", busy, "smaller-network") == (
        "its CPU credits last for 0.6 vCPUs, and the busiest day uses 0.7"
    )
    assert lacks("db.t2.large", calm_day, "smaller-network") == ""


def test_unmeasured_cpu_does_not_turn_into_credits():
    """From a class that holds all its vCPUs to one that holds a share of them, CPU must be known."""
    unknown = needs(claims(db_class="db.m5.xlarge"))

    assert "CPU was not measured" in lacks("db.t3.xlarge", unknown, "smaller-network")
    assert lacks("db.t4g.xlarge", needs(claims()), "smaller-network") == ""


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
