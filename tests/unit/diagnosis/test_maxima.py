"""Every resource can bind: what is at a maximum that nothing exceeds for minutes is at a limit, and says what to do."""

import numpy as np
import pytest

import builders
from builders import HOUR
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.ceiling import Family
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.units import gib

HOURS = 12
GP3 = Instance(
    identifier="orders",
    db_class="db.m5.large",
    engine="postgres",
    connection_max=500,
    storage=Storage(kind="gp3", size_gib=100),
)
SERVERLESS = Instance(identifier="srv", db_class="db.serverless", engine="aurora-postgresql", capacity_acu_max=8.0)
# Of the maximum: what the metric shows where a share of it is used.
MEASURED = {
    Family.CPU: lambda share: (Metric.CPU_RATIO, share),
    Family.CONNECTIONS: lambda share: (Metric.CONNECTION_COUNT, 500 * share),
    Family.STORAGE_SPACE: lambda share: (Metric.FREE_STORAGE_BYTES, gib(100) * (1 - share)),
    Family.MEMORY: lambda share: (Metric.FREEABLE_MEMORY_BYTES, gib(8) * (1 - share)),
    Family.CAPACITY: lambda share: (Metric.CAPACITY_RATIO, share),
}


def used(family: Family, share, *, minutes: int, step_s: int = 60, at: int = 3 * HOUR) -> Diagnosis:
    """Half a day of light load in which a resource is used to half, and for some minutes to a share."""
    rng = np.random.default_rng(5)
    count = HOURS * 3600 // step_s
    shares = np.full(count, 0.5)
    first = at * 60 // step_s
    shares[first : first + minutes * 60 // step_s] = share
    metric, values = MEASURED[family](shares)
    calm = builders.storage(5e6 * builders.wander(rng, count, 0.2))
    instance = SERVERLESS if family is Family.CAPACITY else GP3
    return diagnose(builders.snapshot(calm, {metric: values}, instance=instance, step_s=step_s), catalog())


def beside(metrics: dict, *, instance: Instance = GP3, rate: float = 5e6) -> Diagnosis:
    """What is found where these were measured beside a light and even load."""
    calm = builders.storage(np.full(HOURS * HOUR, rate))
    return diagnose(builders.snapshot(calm, metrics, instance=instance), catalog())


@pytest.mark.parametrize("family", MEASURED)
@pytest.mark.parametrize(("share", "minutes", "step_s"), [(1.0, 300, 60), (0.992, 6, 60), (1.0, 5, 300)])
def test_minutes_at_a_maximum_bind(family, share, minutes, step_s):
    """Hours, or minutes, at one step or another: it binds, since when is known, and the first step is its own."""
    found = used(family, share, minutes=minutes, step_s=step_s)
    (resource,) = (r for r in found.resources if r.family is family)

    assert (Verdict.BINDS, Verdict.BINDS) == (found.verdict, resource.verdict)
    assert found.binding.family is family
    assert minutes * 60 == found.binding.seconds
    assert builders.START_S + 3 * 3600 == found.intervals[0].start_s
    assert found.findings[0].moves
    assert "at the maximum" in found.findings[0].title


@pytest.mark.parametrize("family", MEASURED)
@pytest.mark.parametrize(("share", "minutes"), [(0.98, 300), (1.0, 4), (0.5, 300)])
def test_what_is_below_a_maximum_or_short_does_not_bind(family, share, minutes):
    found = used(family, share, minutes=minutes)

    assert () == found.time_at
    assert Verdict.BINDS is not found.verdict


@pytest.mark.parametrize(
    ("full", "families", "first"),
    [
        (slice(-20, None), [Family.STORAGE_SPACE, Family.CPU], "Enlarge the storage"),
        (slice(-90, -70), [Family.CPU, Family.STORAGE_SPACE], "Find the"),
    ],
)
def test_a_full_disk_leads_until_it_has_space_again(full, families, first):
    """A database without space stands; hours of full CPU only slow it down. More than an hour later it is over."""
    rng = np.random.default_rng(5)
    count = HOURS * HOUR
    cpu, free = np.full(count, 1.0), np.full(count, gib(20))
    free[full] = 0.0
    calm = builders.storage(5e6 * builders.wander(rng, count, 0.2))
    found = diagnose(
        builders.snapshot(calm, {Metric.CPU_RATIO: cpu, Metric.FREE_STORAGE_BYTES: free}, instance=GP3), catalog()
    )

    assert families == [at.family for at in found.time_at]
    assert first in found.findings[0].moves[0]


def test_a_full_disk_that_is_not_measured_any_more_is_not_over():
    """A metric that ends with the last byte says nothing about space since."""
    free = np.full(10 * HOUR, gib(20))
    free[-20:] = 0.0
    found = beside({Metric.FREE_STORAGE_BYTES: free})

    assert found.binding.family is Family.STORAGE_SPACE
    assert found.binding.over_s is None


@pytest.mark.parametrize(("values", "binds"), [("rises", True), ("stays", False), ("passes", False)])
def test_connections_that_stay_below_the_default_are_at_it(values, binds):
    """The default formula is an upper bound: a count that rises and then stays closely below it met the real one."""
    count = HOURS * HOUR
    top = 0.93 * 901
    curve = {
        "rises": np.minimum(np.linspace(0.3, 2.0, count) * top, top),
        "stays": np.full(count, top),
        "passes": (1 - 0.7 * np.abs(np.linspace(-1, 1, count))) * top,
    }[values]
    instance = Instance(db_class="db.m5.large", engine="postgres", storage=GP3.storage)
    found = beside({Metric.CONNECTION_COUNT: curve}, instance=instance)

    assert binds == any(at.family is Family.CONNECTIONS for at in found.time_at)


@pytest.mark.parametrize(
    ("level", "spread", "binds"), [(93.5e6, 0.004, True), (93.5e6, 0.1, False), (70e6, 0.004, False)]
)
def test_a_network_that_stays_at_its_baseline_is_at_it(level, spread, binds):
    """0.75 Gbit/s is the baseline of m5.large; no metric shows its credits, so only use that stays there tells."""
    rng = np.random.default_rng(8)
    count = HOURS * HOUR
    sent = np.full(count, 2e6)
    sent[HOUR : 6 * HOUR] = level * builders.wander(rng, 5 * HOUR, spread)
    received = np.full(count, 1e6)
    found = beside({Metric.NETWORK_TRANSMIT_BYTES_PER_S: sent, Metric.NETWORK_RECEIVE_BYTES_PER_S: received})

    assert binds == any(at.family is Family.NETWORK for at in found.time_at)


@pytest.mark.parametrize(("cpu", "binds"), [(0.2, True), (0.12, False), (0.6, False)])
def test_a_burstable_class_without_credits_is_held_at_its_baseline(cpu, binds):
    """t2.medium sustains 20 %; above it the class runs unlimited, below it nothing holds it."""
    rng = np.random.default_rng(8)
    count = HOURS * HOUR
    left, ratio = np.full(count, 100.0), 0.5 * builders.wander(rng, count, 0.05)
    left[4 * HOUR :], ratio[4 * HOUR :] = 0.0, cpu * builders.wander(rng, 8 * HOUR, 0.02)
    instance = Instance(db_class="db.t2.medium", engine="postgres", storage=Storage(kind="gp2", size_gib=100))
    found = beside({Metric.CPU_CREDITS: left, Metric.CPU_RATIO: ratio}, instance=instance, rate=1e6)

    assert binds == any(at.family is Family.CPU_CREDITS for at in found.time_at)


@pytest.mark.parametrize(
    ("metric", "instance", "family"),
    [
        (Metric.BYTE_BALANCE_RATIO, GP3, Family.THROUGHPUT_CREDITS),
        (Metric.IO_BALANCE_RATIO, GP3, Family.IOPS_CREDITS),
        (
            Metric.VOLUME_BALANCE_RATIO,
            Instance(db_class="db.m5.xlarge", engine="postgres", storage=Storage(kind="gp2", size_gib=300)),
            Family.VOLUME_CREDITS,
        ),
    ],
    ids=["EBSByteBalance%", "EBSIOBalance%", "BurstBalance"],
)
def test_an_empty_balance_speaks(metric, instance, family):
    """For how long and since when; and that a rate far below the baseline contradicts it."""
    count = HOURS * HOUR
    balance = np.linspace(1.0, -1.0, count).clip(0)
    light = builders.storage(3e6 * builders.wander(np.random.default_rng(2), count, 0.3))
    found = diagnose(builders.snapshot(light, {metric: balance}, instance=instance), catalog())

    assert Verdict.BINDS is found.verdict
    assert family is found.binding.family
    assert 6 * 3600 <= found.binding.seconds <= 6.1 * 3600
    assert "contradict" in found.findings[0].text


def test_a_balance_that_never_empties_is_silent():
    balance = np.linspace(1.0, 0.02, HOURS * HOUR)

    assert () == beside({Metric.BYTE_BALANCE_RATIO: balance}, rate=3e6).time_at


def test_a_disk_that_fills_is_not_full_before_it_is():
    """The last five percent are no time at the maximum; a moment above it between two that are not is."""
    count = HOURS * HOUR
    share = np.minimum(np.linspace(0.5, 1.2, count), 1.0)
    share[-30:-25] = 0.97
    (interval,) = beside({Metric.FREE_STORAGE_BYTES: gib(100) * (1 - share)}).intervals

    assert builders.START_S + 60 * int(np.argmax(share >= 0.99)) == interval.start_s
    assert builders.START_S + 60 * count == interval.end_s
