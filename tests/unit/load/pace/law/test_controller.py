"""The allowance of a batch: what is missing, what others and peers take, steps, and the work that is left."""

import dataclasses
import math

import pytest
from msgspec.structs import replace

from paced import IOPS, MB, T3, THROUGHPUT, VOLUME, counted, slow_truth
from plimsoll.errors import UsageError
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.forecast import DeviceRate
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.pace.law.truths import FastTruth, SlowTruth, peers_told
from plimsoll.model.pace import PaceBasis

TERMS = PaceTerms()


def controller(**slow) -> PaceController:
    made = PaceController(T3, TERMS)
    made.observe_slow(slow_truth(**slow))
    return made


def test_every_ceiling_has_its_parts():
    """db.t3.xlarge with full buckets: 0.9 × the burst rate would be 313 MB/s; a fifth of the credits stays."""
    found = controller(end_s=0).allowance(60)
    by_name = {one.family.value: one for one in found.ceilings}

    assert [THROUGHPUT, IOPS, VOLUME] == list(by_name)
    throughput = by_name[THROUGHPUT]
    # 87 + 0.8 × 469,800 ÷ 1,800
    assert 295.8 * MB == pytest.approx(throughput.total_per_s, rel=1e-3)
    assert 20 * MB == pytest.approx(throughput.others_per_s, rel=1e-6)
    assert 275.8 * MB == pytest.approx(throughput.batch_per_s, rel=1e-3)
    assert 275.8 * MB / 5 == pytest.approx(throughput.batch_bytes_per_s, rel=1e-3)
    assert 0.9 * 4 * 262 * MB == by_name[VOLUME].total_per_s
    assert None is by_name[VOLUME].balance_ratio
    assert PaceBasis.MEASURED is found.basis
    assert () == found.notes


def test_the_narrowest_ceiling_decides():
    """Others that send small requests leave fewer operations than bytes."""
    found = controller(end_s=0, bytes_per_s=20 * MB, ops_per_s=12_900).allowance(10)

    assert IOPS == found.binding.value
    assert found.unstepped_bytes_per_s == min(one.batch_bytes_per_s for one in found.ceilings)


def test_without_metrics_the_baseline_is_shared():
    found = PaceController(T3, TERMS).allowance(0)

    assert PaceBasis.BASELINE_SHARE is found.basis
    assert 87 * MB / 2 / 5 == pytest.approx(found.bytes_per_s)
    assert ("no metrics were read; the batch gets 50 % of each baseline, and no credits",) == (found.notes)


@pytest.mark.parametrize(("age_s", "basis"), [(300, "measured"), (301, "baseline_share")])
def test_metrics_count_for_five_minutes(age_s, basis):
    assert basis == controller(end_s=0).allowance(age_s).basis


def test_a_balance_that_was_not_measured_gives_no_credits():
    """The baseline is granted, less its headroom, and the report says so."""
    found = controller(end_s=0, balance={IOPS: 1.0}).allowance(1)

    assert 0.9 * 87 * MB == pytest.approx(found.ceilings[0].total_per_s)
    assert any("credits of instance EBS throughput were not measured" in n for n in found.notes)


def test_operations_that_were_not_measured_are_shared():
    """Ceilings in operations then give half of their baseline; ceilings in bytes go by what is known."""
    found = controller(end_s=0, ops_per_s=math.nan).allowance(1)

    assert None is found.ceilings[1].others_per_s
    assert 2_000 == pytest.approx(found.ceilings[1].batch_per_s)
    assert 20 * MB == pytest.approx(found.ceilings[0].others_per_s)


def test_nothing_is_left_where_others_take_all():
    found = controller(end_s=0, bytes_per_s=340 * MB, balance=0.1).allowance(1)

    assert 0 == found.bytes_per_s == found.unstepped_bytes_per_s


def test_below_the_reserve_credits_come_back():
    """Half of the reserve is missing: it is earned back over the time left."""
    found = controller(end_s=0, balance=0.1).allowance(0)

    missing = 0.1 * T3[0].capacity / 1800
    assert 87 * MB - missing == pytest.approx(found.ceilings[0].total_per_s, rel=0.03)


def test_the_rate_rises_in_steps_and_falls_at_once():
    made = controller(end_s=0)
    first = made.allowance(0).bytes_per_s
    second = made.allowance(1).bytes_per_s

    assert 87 * MB / 2 / 5 == pytest.approx(first)
    assert 1.1 * first == pytest.approx(second)
    made.observe_slow(slow_truth(end_s=2, balance=0.2, bytes_per_s=86 * MB))
    assert made.allowance(3).bytes_per_s < first


def test_two_batches_share_in_equal_parts():
    """A peer that takes its part leaves half; one that takes less leaves more."""
    made = controller(end_s=0)
    alone = made.allowance(1).ceilings[0].batch_per_s
    for peer, part in ((alone / 2, 1 / 2), (alone / 4, 3 / 4), (alone, 1 / 2)):
        made.observe_fast(FastTruth(start_s=0, end_s=1, batch_bytes=0, peers_bytes_per_s=(peer / 5,)))
        found = made.allowance(1)

        assert part * alone == pytest.approx(found.ceilings[0].batch_per_s, rel=0.01)
        assert 2 == found.peer_count


@pytest.mark.parametrize("is_measured", [True, False])
def test_a_server_that_does_not_answer_gives_no_batch_the_whole_share(is_measured):
    """Of four batches each keeps its quarter, with metrics and without; the note says so."""
    made = controller(end_s=0) if is_measured else PaceController(T3, TERMS)
    peers = (60 * MB, 60 * MB, 60 * MB)
    made.observe_fast(FastTruth(start_s=0, end_s=1, batch_bytes=0, peers_bytes_per_s=peers))
    before = made.allowance(1)
    made.observe_fast(FastTruth(start_s=1, end_s=2, batch_bytes=0, peers_bytes_per_s=None))
    after = made.allowance(2)

    assert 4 == before.peer_count == after.peer_count
    assert before.unstepped_bytes_per_s == pytest.approx(after.unstepped_bytes_per_s, rel=1e-3)
    assert "the server has not answered for 1 s; 3 others count as before" in after.notes


@pytest.mark.attack(
    "Another role opens sixty sessions that call themselves paced batches, at any rate",
    "together they count as one batch, and what they tell is not taken as measured",
)
@pytest.mark.parametrize("is_measured", [True, False])
@pytest.mark.parametrize("rate", [1.0, 30 * MB, 99_999_999_999.0])
def test_one_role_cannot_take_the_allowance_with_many_sessions(is_measured: bool, rate: float):
    """Sixty sessions of another role that call themselves batches count as one batch, whatever they tell."""
    peers = peers_told([(rate, 7, False)] * 60)
    made = controller(end_s=0) if is_measured else PaceController(T3, TERMS)
    alone = made.allowance(1).ceilings[0].batch_per_s
    told = {"foreign_bytes_per_s": peers.foreign_bytes_per_s, "part_count": peers.part_count}
    made.observe_fast(FastTruth(start_s=0, end_s=1, batch_bytes=0, **told))

    assert made.allowance(1).ceilings[0].batch_per_s >= 0.49 * alone


def test_roles_share_and_batches_of_a_role_share_its_part():
    """Two batches of ours and one of another role: a quarter, a quarter and a half; together no more than there is."""
    of_ours = peers_told([(1.0, 1, True), (1.0, 2, False)])
    of_theirs = peers_told([(1.0, 1, False), (1.0, 1, False)])

    assert (4, 2) == (of_ours.part_count, of_theirs.part_count)
    assert 1 == 2 / of_ours.part_count + 1 / of_theirs.part_count
    assert 1 == peers_told([]).part_count


@pytest.mark.parametrize("told", [99_999_999_999.0, 1e30, 400 * MB])
def test_rates_that_the_server_did_not_count_teach_nothing(told: float):
    """Another role that tells a rate of which nothing is written does not make a byte of ours look cheap."""
    honest, fooled = controller(end_s=0), controller(end_s=0)
    for t in range(40):
        for made, peers in ((honest, ()), (fooled, (told,))):
            sent = 10 * MB if t % 2 else 0.0
            moved = counted(20 * MB + 5 * sent)
            made.observe_fast(
                FastTruth(start_s=t, end_s=t + 1, batch_bytes=sent, server=moved, foreign_bytes_per_s=peers)
            )
    found = fooled.allowance(40)

    assert honest.allowance(40).ratio == found.ratio
    assert all(math.isfinite(one.others_per_s or 0.0) for one in found.ceilings)


@pytest.mark.parametrize("told", [1e15, 1e300])
def test_a_rate_above_the_ceiling_is_the_ceiling(told: float):
    """The time to finish is that of peers as fast as the storage lets them be."""
    made = controller(end_s=0)
    made.observe_fast(FastTruth(start_s=0, end_s=1, batch_bytes=0, peers_bytes_per_s=(told,)))

    assert made._peers.rates[0] <= 4 * 262 * MB / 0.5


def test_bytes_of_peers_that_are_not_seen_are_still_theirs():
    """A sample of metrics from that time is split as before it: others did not become slower."""
    made = controller(end_s=0)
    made.observe_fast(FastTruth(start_s=0, end_s=1, batch_bytes=0, peers_bytes_per_s=(8 * MB,)))
    made.observe_fast(FastTruth(start_s=1, end_s=61, batch_bytes=0, peers_bytes_per_s=None))

    assert 8 * MB == pytest.approx(made._history.all_bytes_per_s((1, 61)))


def test_counters_of_the_server_teach_the_ratio():
    """A batch of 10 MB/s for which the server writes 30 MB/s more than before costs 3 bytes a byte."""
    made = controller(end_s=0)
    for t in range(40):
        counts = counted(50 * MB, wal_bytes=15 * MB, full_page_images=100)
        made.observe_fast(FastTruth(start_s=t, end_s=t + 1, batch_bytes=10 * MB, server=counts))
    found = made.allowance(40).ratio

    assert 3 == pytest.approx(found.bytes_per_byte, rel=0.05)
    assert found.is_learned
    assert 1.5 == pytest.approx(found.wal_per_byte)
    assert 100 * 8192 / 15e6 == pytest.approx(found.full_page_ratio)


def test_counters_that_report_late_teach_the_same_ratio():
    """A session reports 24 MB of writes at the end of each eighth second, and WAL at once: 4 bytes a byte."""
    made = controller(end_s=0, bytes_per_s=0)
    ratios = []
    for t in range(400):
        late = 24 * MB if t % 8 == 7 else 0
        counts = counted(MB + late, wal_bytes=MB)
        made.observe_fast(FastTruth(start_s=t, end_s=t + 1, batch_bytes=1 * MB, server=counts))
        ratios.append(made.allowance(t + 1).ratio.bytes_per_byte)

    assert 4 == pytest.approx(sum(ratios[-8:]) / 8, rel=0.1)


def test_credits_for_pages_that_are_not_written_are_spent():
    """47 GB that wait in the cache are a tenth of a db.t3.xlarge's credits."""
    tenth = T3[0].capacity / 10
    made = controller(end_s=0, balance=0.5)
    grown = dataclasses.replace(counted(0), extend_bytes=tenth, cache_bytes=2 * tenth)
    made.observe_fast(FastTruth(start_s=0, end_s=1, batch_bytes=0, server=grown))
    found = made.allowance(1)
    without = controller(end_s=0, balance=0.4).allowance(1)

    assert tenth == found.unwritten_bytes
    assert 0.5 == pytest.approx(found.ceilings[0].balance_ratio, abs=0.01)
    assert without.ceilings[0].total_per_s == pytest.approx(found.ceilings[0].total_per_s, rel=0.02)


@pytest.mark.parametrize("is_written", [False, True], ids=["owed", "written"])
def test_new_pages_cost_the_operations_of_merged_writes(is_written):
    """10 MB/s grow a table by as much, and WAL is 80 requests: 10 MB in requests of 128 KiB are 76 more, now or later."""
    made = controller(end_s=0, bytes_per_s=0, ops_per_s=0)
    wal = dataclasses.replace(counted(10 * MB, wal_bytes=10 * MB), ops=80, extend_bytes=10 * MB)
    if is_written:
        pages = 10 * MB / wal.block_bytes
        wal = dataclasses.replace(wal, ops=80 + pages, write_bytes=10 * MB)
    counts = dataclasses.replace(wal, cache_bytes=10_000 * MB)
    for t in range(200):
        made.observe_fast(FastTruth(start_s=t, end_s=t + 1, batch_bytes=10 * MB, server=counts))

    assert (80 + 76.3) / (10 * MB) == pytest.approx(made.allowance(200).ratio.ops_per_byte, rel=0.05)


def test_a_batch_that_fills_the_device_sends_less():
    """
    For minutes a byte cost 2, and in the last seconds 3.2. The device served 340 MB/s of at most 348, less a tenth: the
    batch may take 313 − 20 of 340 − 20.
    """
    made = PaceController(T3, replace(TERMS, horizon_s=900))
    made.observe_slow(slow_truth(end_s=300))
    for t in range(310):
        sent, taken = (50 * MB, 120 * MB) if t < 300 else (100 * MB, 340 * MB)
        made.observe_fast(FastTruth(start_s=t, end_s=t + 1, batch_bytes=sent, server=counted(taken)))
    found = made.allowance(310).ceilings[0]
    others = found.others_per_s

    expected = 100 * MB * (0.9 * 348 * MB - others) / (340 * MB - others)
    assert expected == pytest.approx(found.batch_bytes_per_s)
    assert found.batch_bytes_per_s < 100 * MB


def test_reads_that_the_page_cache_answers_are_calibrated_apart():
    """The device sees a tenth of the reads and all of the writes; a write is not taken for a tenth."""
    made = PaceController(T3, TERMS)
    both = dataclasses.replace(counted(20 * MB), read_bytes=100 * MB)
    for t in range(1200):
        made.observe_fast(FastTruth(start_s=t, end_s=t + 1, batch_bytes=0, server=both))
    rates = tuple(
        DeviceRate(start_s=s, end_s=s + 60, bytes_per_s=30 * MB, ops_per_s=640, read_bytes_per_s=10 * MB)
        for s in range(0, 1200, 60)
    )
    made.observe_slow(SlowTruth(rates=rates))
    made.observe_fast(FastTruth(start_s=1200, end_s=1201, batch_bytes=0, server=counted(20 * MB)))

    assert 20 * MB == pytest.approx(made.device_total(1201).bytes_per_s, rel=0.01)


def test_counters_are_calibrated_by_metrics():
    """Where the page cache answers half of what the server counts, the device sees half."""
    made = PaceController(T3, TERMS)
    for t in range(120):
        counts = counted(40 * MB)
        made.observe_fast(FastTruth(start_s=t, end_s=t + 1, batch_bytes=0, server=counts))
    rates = [DeviceRate(start_s=s, end_s=s + 60, bytes_per_s=20 * MB, ops_per_s=640) for s in (0, 60)]
    for k in range(1, 3):
        made.observe_slow(SlowTruth(rates=tuple(rates[:k])))
    made.observe_fast(FastTruth(start_s=120, end_s=121, batch_bytes=0, server=counted(40 * MB)))

    # That both count the same is assumed with the weight of one minute: (2 × 20 + 40) / (3 × 40).
    assert 2 / 3 * 40 * MB == pytest.approx(made.device_total(121).bytes_per_s)


def test_work_that_is_left_gives_the_time_left():
    """The credits above the reserve are spent so that the batch ends soonest, and the time is told."""
    made = controller(end_s=0, balance=0.6)
    made.set_work_left(60e9)
    found = made.allowance(0)

    # 5 × 60 GB at the device = 0.4 × 469.8 GB of credits + (87 − 20) MB/s × t
    expected = (300e9 - 0.4 * 469.8e9) / (67 * MB)
    assert expected == pytest.approx(made.time_to_finish_s(0), rel=0.03)
    assert expected == pytest.approx(found.time_left_s, rel=0.03)


def test_work_that_never_ends_has_no_time():
    made = controller(end_s=0, balance=0.2, bytes_per_s=88 * MB)
    made.set_work_left(1e15)

    assert None is made.time_to_finish_s(0)


def test_a_deadline_that_is_over_spends_no_faster_than_metrics_follow():
    made = PaceController(T3, replace(TERMS, deadline_s=0.0))
    made.observe_slow(slow_truth(end_s=0, balance=0.3))

    assert 180 == made.allowance(100).time_left_s


@pytest.mark.parametrize(
    ("chain", "terms", "cause"),
    [
        ((), {}, "nothing to pace by"),
        *(
            (T3, {name: value}, "not possible")
            for name, value in (
                ("reserve_ratio", 1.0),
                ("reserve_ratio", -0.1),
                ("baseline_share_ratio", 0.0),
                ("headroom_ratio", 1.0),
                ("horizon_s", 0.0),
                ("step_ratio", 0.0),
            )
        ),
    ],
)
def test_terms_that_are_not_possible_are_refused(chain, terms, cause):
    with pytest.raises(UsageError, match=cause):
        PaceController(chain, PaceTerms(**terms))


def test_a_machine_that_slept_for_hours_goes_on():
    controller = PaceController(T3, PaceTerms())
    controller.observe_slow(slow_truth(end_s=0.0))
    before = controller.allowance(1.0)
    for hours in (2, 8, 1000):
        later = controller.allowance(hours * 3600.0)

    assert 0 < later.bytes_per_s < 1e12
    assert before.bytes_per_s > 0
