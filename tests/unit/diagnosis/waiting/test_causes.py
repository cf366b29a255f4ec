"""What may have made requests wait: evidence first, and a check for each."""

import msgspec
import numpy as np
import pytest

import builders
from builders import HOUR, START_S, wander
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Annotation, EventKind

COUNT = 24 * HOUR
AT = slice(600, 780)
R5 = Instance(
    identifier="orders",
    db_class="db.m5.2xlarge",
    engine="postgres",
    storage=Storage(kind="gp3", size_gib=500.0),
    multi_az=True,
)


def values(*, load: float = 1.0, still: bool = False):
    """A day with three slow hours, at `load` times the usual rate, which may stand still."""
    rng = np.random.default_rng(1)
    rate = 40e6 * wander(rng, COUNT, 0.15)
    rate[AT] = 40e6 * load * wander(rng, 180, 0.004 if still else 0.15)
    latency = 0.0008 * wander(rng, COUNT, 0.1)
    latency[AT] *= 20
    return builders.storage(rate, latency_s=latency)


def causes_of(given, *notes: Annotation, instance: Instance = R5):
    snapshot = builders.snapshot(given, instance=instance)
    return diagnose(msgspec.structs.replace(snapshot, annotations=notes), catalog()).waiting_causes


def note(kind: EventKind, minutes_before: int) -> Annotation:
    return Annotation(time_s=START_S + 60 * (600 - minutes_before), kind=kind, text="as the source told it")


def test_the_same_load_that_did_not_wait_before_points_at_storage():
    """Nothing but the latency changed: a neighbour, a volume or the host; with what would tell."""
    first = causes_of(values())[0]

    assert ("storage_fault", True) == (first.code, first.has_evidence)
    assert "neighbour" in first.text
    assert "AWS Support" in first.check


def test_without_evidence_a_fault_is_merely_possible():
    """At four times the load, what slowed it may be the load."""
    last = causes_of(values(load=4.0))[-1]

    assert ("storage_fault", False) == (last.code, last.has_evidence)


def test_a_rate_that_stands_still_points_at_an_undocumented_limit():
    """Demand varies; what keeps within two percent while requests wait is a limit."""
    first = causes_of(values(still=True))[0]

    assert "undocumented_limit" == first.code
    assert "± 0.4 %" in first.text


@pytest.mark.parametrize(
    ("kind", "minutes_before", "is_named"),
    [
        (EventKind.RESTORE, 600, True),
        (EventKind.BACKUP, 30, True),
        (EventKind.BACKUP, 300, False),
        (EventKind.FAILOVER, 20, True),
        (EventKind.OPTIMISATION, 400, True),
        (EventKind.OTHER, 5, False),
    ],
)
def test_an_event_counts_for_as_long_as_it_acts(kind, minutes_before, is_named):
    """A restore and an optimisation act for a day, a backup or a failover for an hour, others not at all."""
    codes = [c.code for c in causes_of(values(), note(kind, minutes_before))]

    assert is_named == (codes[0] == "events")
    assert is_named == ("events" in codes)


def test_a_busy_cpu_is_named():
    """Processors that are busy all the time take up finished I/O late."""
    given = values()
    given[Metric.CPU_RATIO] = np.full(COUNT, 0.4)
    assert "cpu" not in [c.code for c in causes_of(given)]
    given[Metric.CPU_RATIO][AT] = 0.99

    assert "cpu" in [c.code for c in causes_of(given)]


def test_writes_alone_point_at_the_standby():
    """Only where there is a standby, and only where reads did not wait."""
    given = values()
    given[Metric.READ_LATENCY_S][AT] /= 20
    given[Metric.WRITE_LATENCY_S][AT] *= 2
    single = msgspec.structs.replace(R5, multi_az=False)

    assert "replication" in [c.code for c in causes_of(given)]
    assert "replication" not in [c.code for c in causes_of(given, instance=single)]
    assert "replication" not in [c.code for c in causes_of(values())]


def test_a_baseline_with_credits_left_is_not_the_ceiling_within_the_minute():
    """Credits lift the baseline, so what could be reached is the burst or the volume."""
    given = values(load=3.0)
    assert "instance EBS IOPS baseline" in _within(causes_of(given))
    for metric in (Metric.IO_BALANCE_RATIO, Metric.BYTE_BALANCE_RATIO):
        given[metric] = np.full(COUNT, 0.9)

    assert "baseline" not in _within(causes_of(given))


def _within(causes) -> str:
    return "".join(c.text for c in causes if c.code == "within_sample")


def test_a_host_of_ones_own_is_not_given_aws_causes():
    """Without a class the checks are about the device, not about a provider."""
    host = causes_of(values(), instance=Instance(identifier="db1"))

    assert host
    assert not [c for c in host if "AWS" in c.check + c.text]
