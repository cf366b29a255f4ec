"""A real mount on this machine has the rates, credits and changes of the instance it stands for."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from live.gate_machine import BASELINE, BURST, CAPACITY, T3, fill, quick_folder, rate_of, read_for
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.metric import Metric
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.gate.record import RecordLine

pytestmark = pytest.mark.realtime

# Four lines of the record a second, so that some lie wholly within what is measured.
CLOCK = 240.0
# Idle time of less is made up for.
SLACK_S = 0.05
THROUGHPUT = Family.INSTANCE_EBS_THROUGHPUT.value


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    """db.t3.xlarge at credit clock 240, with a file of 64 MiB in it."""
    with quick_folder() as folder:
        (folder / "data").mkdir()
        fill(folder / "data")
        with Gate(GateSetup(instance=T3, clock=CLOCK), folder / "data", folder / "disk") as mounted:
            yield mounted


@pytest.fixture
def table(gate: Gate) -> Path:
    """The file, behind the limits of db.t3.xlarge whatever the test before made of them."""
    gate.change(T3)
    gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, 1.0)
    return gate.mount / "table"


def lines_within(gate: Gate, since_s: float) -> list[RecordLine]:
    """Lines of the record whose seconds lie after a real time."""
    return [line for line in gate.lines() if line.t - line.dt >= since_s]


def test_without_credits_the_rate_is_the_baseline(gate: Gate, table: Path):
    """Drained, reads get 86.875 MB/s, and the gate says what binds."""
    gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, 0.0)
    rate = rate_of(gate, table)
    status = gate.status()

    assert rate.is_of(BASELINE), rate
    assert (Family.INSTANCE_EBS_THROUGHPUT.value, Phase.BASELINE) == (status.binding, status.phase)
    assert 0.0 == pytest.approx(status.balance[Family.INSTANCE_EBS_THROUGHPUT.value], abs=0.001)


def test_with_credits_it_bursts_and_pays(gate: Gate, table: Path):
    """347.5 MB/s, and the balance falls by what was read above the baseline, 240-fold on this clock."""
    # A balance that is not full: a full one loses the credits that arrive in between.
    gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, 0.9)
    began_s = time.time()
    rate = rate_of(gate, table)
    status = gate.status()
    first, *rest = lines_within(gate, began_s)
    moved = sum(line.read_bytes - BASELINE * line.dt for line in rest)
    before, after = (line.balance[THROUGHPUT] or 0.0 for line in (first, rest[-1]))

    assert rate.is_of(BURST), rate
    assert moved / (CAPACITY / CLOCK) == pytest.approx(before - after, abs=0.01)
    assert before - after > 0.05
    # What is left lasts as long as the law says at this rate.
    left = (status.balance[THROUGHPUT] or 0.0) * CAPACITY / CLOCK
    empty_s = left / (status.bytes_per_s - BASELINE)
    assert empty_s == pytest.approx(status.empty_in_s(THROUGHPUT), rel=0.05)


def test_a_larger_class_lifts_the_rate_while_it_runs(gate: Gate, table: Path):
    """db.m6g.xlarge holds 148.5 MB/s forever; the file stays open through the change."""
    gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, 0.0)
    with table.open("rb"):
        before = rate_of(gate, table)
        gate.change(replace(T3, db_class="db.m6g.xlarge"))
        after = rate_of(gate, table)

    assert before.is_of(BASELINE), before
    assert after.is_of(148.5e6), after
    assert "class db.t3.xlarge → db.m6g.xlarge" in {change.text for change in gate.changes()}


def test_idle_credits_come_back_at_the_baseline(gate: Gate, table: Path):
    """Half a second without a read brings back the baseline's bytes: 2.2 % of the bucket at clock 240."""

    def balance() -> tuple[float, float, float]:
        """The balance, and two moments between which it was so."""
        asked_s = time.monotonic()
        found = gate.status().balance[THROUGHPUT] or 0.0
        return found, asked_s, time.monotonic()

    gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, 0.0)
    read_for(table, 0.3)
    before, *then = balance()
    time.sleep(0.5)
    after, *now = balance()
    refilled_s = (after - before) * CAPACITY / CLOCK / BASELINE

    # What the gate makes up for after idle time is not a credit yet.
    assert (now[0] - then[1] - SLACK_S) * 0.98 <= refilled_s <= (now[1] - then[0]) * 1.02


def test_the_record_counts_every_byte_once():
    """What a reader got past the page cache is what the lines of the record add up to, exactly."""
    with quick_folder() as folder:
        (folder / "data").mkdir()
        fill(folder / "data")
        setup = GateSetup(instance=T3, clock=240.0, credits=0.0)
        with Gate(setup, folder / "data", folder / "disk") as mounted:
            total, _ = read_for(mounted.mount / "table", 0.8)

    assert total == sum(line.read_bytes for line in mounted.lines())
    series = mounted.snapshot().series
    assert {Metric.READ_BYTES_PER_S, Metric.QUEUE_DEPTH, Metric.BYTE_BALANCE_RATIO} <= set(series)
    # Up to 50 ms of idle time are made up for, in a sample of a quarter of a second.
    assert BASELINE * 1.25 > series[Metric.READ_BYTES_PER_S].value.max()
