"""A gate's record becomes what CloudWatch would show, and the truth with it."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from plimsoll.errors import DataError
from plimsoll.model.ceiling import Phase
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import EventKind
from plimsoll.model.snapshot_file.codec import decode_snapshot, encode_snapshot
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.record import LATE_RATIO_MAX, Bound, GateChange, encode_truth, snapshot_of, truth_of
from unit.gate.gate_lines import START_S, held, line, lines

T3 = Instance(db_class="db.t3.xlarge", engine="postgres", storage=Storage(kind="gp2", size_gib=1000))
AT_60 = GateSetup(instance=T3, clock=60.0)
SIZE = 131_072


def test_a_second_at_clock_60_is_a_minute():
    """Three seconds are three samples a minute apart, with the real rates; nothing is finer."""
    snapshot = snapshot_of(lines(3), AT_60)
    reads = snapshot.series[Metric.READ_BYTES_PER_S]

    assert 60 == reads.step_s
    assert [int(START_S) + 60 * i for i in range(3)] == reads.time_s.tolist()
    assert [80e6] * 3 == pytest.approx(reads.value.tolist())
    assert 6e6 / SIZE == pytest.approx(snapshot.series[Metric.WRITE_OPS_PER_S].value[0])
    assert 0.004 == pytest.approx(snapshot.series[Metric.READ_LATENCY_S].value[0])
    # Little's law: 86 MB/s of 128 KiB, 4 ms each.
    assert 86e6 / SIZE * 0.004 == pytest.approx(snapshot.series[Metric.QUEUE_DEPTH].value[0])
    assert {} == snapshot_of(lines(3), AT_60).fine


def test_a_real_minute_takes_sixty_lines():
    """At clock 1 a sample of CloudWatch is a minute, and the seconds are kept with it."""
    snapshot = snapshot_of(lines(125), GateSetup(instance=T3))

    assert 2 == snapshot.series[Metric.READ_BYTES_PER_S].value.size
    fine = snapshot.fine[Metric.READ_BYTES_PER_S]
    assert (1, 125) == (fine.step_s, fine.value.size)
    assert [80e6] * 125 == pytest.approx(fine.value.tolist())


@pytest.mark.parametrize(("clock", "step_s"), [(1, 1), (7.5, 10), (10, 10), (30, 30)])
def test_what_is_finer_than_a_minute_has_a_step_that_divides_it(clock: float, step_s: int):
    """A second is `clock` emulated seconds long, so nothing finer is known."""
    snapshot = snapshot_of(lines(80), replace(AT_60, clock=clock))

    assert step_s == snapshot.fine[Metric.READ_BYTES_PER_S].step_s


def test_balances_are_those_at_the_end_of_the_minute():
    """A balance that falls is shown as low as it is at the end; stages without credits have none."""
    falling = [line(i, balance={"instance_ebs_throughput": 0.9 - 0.1 * i, "volume_throughput": None}) for i in range(4)]
    snapshot = snapshot_of(falling, AT_60)

    assert [0.9, 0.8, 0.7, 0.6] == pytest.approx(snapshot.series[Metric.BYTE_BALANCE_RATIO].value.tolist())
    assert Metric.IO_BALANCE_RATIO not in snapshot.series
    assert Metric.VOLUME_BALANCE_RATIO not in snapshot.series


def test_a_minute_that_was_not_whole_is_no_sample():
    """The end of a record, and a minute in which the machine slept, are left out rather than guessed."""
    slept = [line(0), line(1), line(3.4, 0.6), line(4), line(5, 0.5)]
    snapshot = snapshot_of(slept, AT_60)
    minutes = (snapshot.series[Metric.READ_BYTES_PER_S].time_s - int(START_S)) // 60

    assert [0, 1, 4] == minutes.tolist()


def test_minutes_begin_where_the_record_begins():
    """
    A record that begins in the middle of a minute of the day loses nothing of its first one. A user who
    looked at another clock needs the right minute; files keep the relation.
    """
    snapshot = snapshot_of([line(i + 17.25) for i in range(3)], AT_60)
    clock = decode_snapshot(encode_snapshot(snapshot)).credit_clock

    assert 3 == snapshot.series[Metric.READ_BYTES_PER_S].value.size
    assert int(START_S) == snapshot.series[Metric.READ_BYTES_PER_S].time_s[0]
    assert 60 == clock.ratio
    assert [START_S + 17.25, START_S + 20.25] == [clock.real_of(t) for t in snapshot.window_s]


def test_a_record_shorter_than_a_minute_is_an_error():
    """Half a minute gives no sample; the message says what to do."""
    with pytest.raises(DataError) as raised:
        snapshot_of(lines(20), GateSetup(instance=T3))

    assert "not one whole emulated minute at credit clock 1" in raised.value.message
    assert "--clock" in raised.value.hint
    with pytest.raises(DataError):
        snapshot_of([], AT_60)


def test_a_minute_without_a_write_has_no_write_latency():
    """The latency of nothing is unknown, not zero; rates of zero are known."""
    snapshot = snapshot_of([*lines(2, write_bytes_per_s=0.0), line(2)], AT_60)

    assert 1 == snapshot.series[Metric.WRITE_LATENCY_S].value.size
    assert [0.0, 0.0] == snapshot.series[Metric.WRITE_BYTES_PER_S].value[:2].tolist()


def test_every_snapshot_says_that_limits_were_emulated_and_at_which_clock():
    """The load is real, so it is not simulated. The limits are emulated, and the note says so."""
    snapshot = snapshot_of(lines(2), AT_60)

    assert not snapshot.is_simulated
    assert "gate, db.t3.xlarge on this machine" == snapshot.source
    assert (
        "A real load under emulated limits: db.t3.xlarge with gp2, 1,000 GiB, at credit clock 60: "
        "one emulated minute is 1 s." == snapshot.note
    )
    assert "cpu_ratio" in {gap.metric for gap in snapshot.gaps}
    assert snapshot == decode_snapshot(encode_snapshot(snapshot))


def test_changes_are_on_the_credit_clock():
    """Ten real seconds after the start are ten minutes in the snapshot; its instance is the last one."""
    bigger = replace(T3, db_class="db.t3.2xlarge")
    changes = (
        GateChange(
            t=START_S + 10, text="class db.t3.xlarge → db.t3.2xlarge", kind=EventKind.CLASS_CHANGE, instance=bigger
        ),
        GateChange(t=START_S + 12.5, text="balance of instance ebs throughput set to 0 %"),
    )
    snapshot = snapshot_of(lines(20), AT_60, changes=changes)

    assert [600, 750] == [a.time_s - int(START_S) for a in snapshot.annotations]
    assert EventKind.CLASS_CHANGE == snapshot.annotations[0].kind
    assert bigger == snapshot.instance


@given(st.lists(st.floats(0.05, 1.5), min_size=1, max_size=60), st.floats(1, 600), st.floats(0, 59))
def test_no_byte_is_lost_or_counted_twice(lengths: list[float], clock: float, offset: float):
    """However long the lines are and wherever minutes begin, the samples have the same totals."""
    starts = np.concatenate(([0.0], np.cumsum(lengths)))
    record = [line(offset + s, dt) for s, dt in zip(starts, lengths, strict=False)]
    emulated_s = sum(lengths) * clock
    if emulated_s < 60:
        return
    snapshot = snapshot_of(record, replace(AT_60, clock=clock))
    reads = snapshot.series[Metric.READ_BYTES_PER_S]

    assert int(emulated_s // 60) <= reads.value.size <= int(emulated_s // 60) + 1
    # All lines have one rate, so every sample has it, whatever it is cut from.
    assert reads.value.tolist() == pytest.approx([80e6] * reads.value.size, rel=1e-6)


@given(st.lists(st.floats(0, 6e8), min_size=2, max_size=40))
def test_rates_that_change_are_shared_out_by_time(rates: list[float]):
    """Seconds of any rates at clock 6: a sample is the mean of the ten seconds it covers."""
    record = [line(i, read_bytes_per_s=rate) for i, rate in enumerate(rates * 10)]
    snapshot = snapshot_of(record, replace(AT_60, clock=6.0))
    expected = np.array(rates * 10).reshape(-1, 10).mean(axis=1)

    np.testing.assert_allclose(snapshot.series[Metric.READ_BYTES_PER_S].value, expected, rtol=1e-6, atol=10)


def test_the_truth_names_what_made_requests_wait():
    """Of several stages in one step the one that bound longest; a step that nothing bound has none."""
    both = held(0.7) | {"volume_iops": Bound(0.2, Phase.BURST)}
    truth = truth_of([line(0, binding=both), line(1), line(2, binding=held(1.0))])
    first, calm, last = truth.moments

    assert ("instance_ebs_throughput", Phase.BASELINE, 0.7) == (*(first.binding, first.phase, first.bound_s),)
    assert (None, None, 0.0) == (calm.binding, calm.phase, calm.bound_s)
    assert 86e6 / SIZE * 0.004 == pytest.approx(first.waited_s)
    assert 86e6 == pytest.approx(first.bytes_per_s)
    assert (START_S + 2, 1.0) == pytest.approx((last.time_s, last.length_s))
    assert {("instance_ebs_throughput", Phase.BASELINE): 1.7} == pytest.approx(truth.bound_s())
    assert 3.0 == truth.length_s


def test_a_host_slower_than_the_emulated_disk_makes_the_run_void():
    """The share of late operations decides; the sentence has the share and the worst delay."""
    ops = (line(0).read_ops + line(0).write_ops) * 2
    late_lines = [line(0), line(1, late_ops=ops * 0.12, late_s_max=0.34)]
    late = truth_of(late_lines)
    kept_up = truth_of([line(0), line(1, late_ops=ops * 0.9 * LATE_RATIO_MAX, late_s_max=0.002)])

    assert late.is_void
    assert "12 % of 1,312 operations completed late, at most 340 ms late" in (late.sentence)
    assert late.sentence.startswith("This run is void")
    # A snapshot is passed on without its truth.
    assert "This run is void" in snapshot_of(late_lines, AT_60).note
    assert not kept_up.is_void
    assert "kept up" in kept_up.sentence
    assert "this machine is too slow for it" in late.sentence
    assert "no operation was late" in truth_of(lines(2)).sentence


@pytest.mark.parametrize(
    ("held_s", "cpu_wait_s", "starved"),
    [(0.8, 0.9, 0.12), (0.8, 0.1, 0.0), (0.2, 0.9, 0.0), (0.8, None, 0.0)],
    ids=["starved", "idle by itself", "below the limit", "not told"],
)
def test_clients_without_a_processor_make_the_run_void(held_s: float, cpu_wait_s: float | None, starved: float):
    """305.9 of 347.5 MB/s were served and nothing was late: the clients sent fewer requests, without a CPU."""
    bound = {"instance_ebs_throughput": Bound(held_s, Phase.BURST, 0.12)}
    step = line(0, binding=bound)
    truth = truth_of([replace(step, cpu_wait_s=cpu_wait_s)] * 10)

    assert starved == pytest.approx(truth.starved_ratio)
    assert (starved > 0) == truth.is_void
    if starved:
        assert "for 12 % of the time under a limit, clients waited for a processor" in truth.sentence
    assert starved == pytest.approx(json.loads(encode_truth(truth, AT_60))["starved_ratio"])


def test_a_limit_used_in_full_makes_no_run_void():
    """On a busy machine requests came in bunches, and the limit made up for the time between them."""
    bound = {"instance_ebs_iops": Bound(0.55, Phase.BASELINE)}

    assert 0.0 == truth_of([replace(line(0, binding=bound), cpu_wait_s=1.0)]).starved_ratio


def test_one_long_delay_differs_from_many_short_ones():
    """The sum of the delays is reported as a share of all waiting, with the number of late operations."""
    waited_s = 2 * (line(0).read_wait_s_sum + line(0).write_wait_s_sum)
    many = truth_of([line(0), line(1, late_ops=20, late_s_max=0.001, late_s_sum=0.02)])
    one = truth_of([line(0), line(1, late_ops=1, late_s_max=0.6, late_s_sum=0.25 * waited_s)])

    assert 0.02 / waited_s == pytest.approx(many.late_wait_ratio)
    assert 0.25 == pytest.approx(one.late_wait_ratio)
    assert one.late_ratio < many.late_ratio
    assert "600 ms late, which is 25 % of all waiting." in one.sentence
    assert (False, True) == (many.is_void, one.is_void)
    assert 0.25 == pytest.approx(json.loads(encode_truth(one, AT_60))["late_wait_ratio"])
    assert 0.0 == truth_of(lines(2)).late_wait_ratio


def test_the_truth_is_a_document_with_the_clock_in_it():
    """The file has the setup, the seconds for which each limit bound, and each step."""
    truth = truth_of(lines(2, binding=held(0.9, Phase.BURST)))
    change = GateChange(t=START_S, text="balance of volume iops set to 0 %")
    document = json.loads(encode_truth(truth, AT_60, (change,)))

    assert ("plimsoll.gate-truth/1", 60.0, 1.0, False) == tuple(
        document[key] for key in ("schema", "credit_clock", "emulated_minute_s", "is_void")
    )
    assert [{"stage": "instance_ebs_throughput", "phase": "burst", "seconds": 1.8}] == (document["bound"])
    assert "burst" == document["moments"][0]["phase"]
    assert "other" == document["changes"][0]["kind"]
