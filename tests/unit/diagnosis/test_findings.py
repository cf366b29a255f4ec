"""What is reported first, and what to do: the free thing before the paid one."""

import numpy as np
import pytest

import builders
from builders import ceiling
from plimsoll.diagnosis.findings import findings_of
from plimsoll.model.ceiling import Ceiling, Family, Phase
from plimsoll.model.diagnosis import CeilingTime, Evidence, Finding, Forecast, Interval, Resource, Verdict
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.units import mib_per_s
from unit.reports import fixture_parts as parts

BYTES, VOLUME_BALANCE = Metric.BYTE_BALANCE_RATIO, Metric.VOLUME_BALANCE_RATIO
EBS, IOPS = Family.INSTANCE_EBS_THROUGHPUT, Family.INSTANCE_EBS_IOPS
BASELINE = ceiling(EBS, Phase.BASELINE, 287.5e6, balance=BYTES)
BURST = ceiling(EBS, Phase.BURST, 593.75e6, balance=BYTES)
LEGACY = ceiling(EBS, Phase.LEGACY, 212.5e6, legacy=Phase.BASELINE, balance=BYTES, valid_to="2019-12-04")
GP2 = ceiling(Family.VOLUME_IOPS, Phase.BASELINE, 3000, balance=VOLUME_BALANCE)
GP3_IOPS = ceiling(Family.VOLUME_IOPS, Phase.FIXED, 12_000)
GP3 = ceiling(Family.VOLUME_THROUGHPUT, Phase.FIXED, mib_per_s(500))
CEILINGS = (BASELINE, BURST, LEGACY, GP2, GP3)
R5 = Instance(identifier="orders", db_class="db.r5.2xlarge")
START_S = 1_615_198_440  # 2021-03-08 10:14
EMPTY = Evidence(kind="balance", text="no credits left", weight=2.5)


def interval(row: Ceiling | None, *, start_s: int = START_S, **more) -> Interval:
    """An hour at a ceiling, or at 150 MB/s that nothing documents, of which only the balance is known."""
    unknown = {} if row else {"family": Family.UNKNOWN, "phase": Phase.FIXED, "ceiling": None}
    fields = {"latency_s": None, "latency_reference_s": None, "queue_depth": None, "evidence": (EMPTY,)}
    at = row or BASELINE
    return parts.interval(
        start_s,
        start_s + 3600,
        at,
        level=row.value if row else 150e6,
        **(unknown | fields | {"former_phase": None} | more),
    )


def time_at(one: Interval, seconds: float = 5400) -> CeilingTime:
    return CeilingTime(
        family=one.family, phase=one.phase, dimension=one.dimension, level=one.level,
        seconds=seconds, interval_count=1, ceiling=one.ceiling,
    )  # fmt: skip


def resource(row: Ceiling, peak: float, verdict: Verdict, above: float | None = 42.0) -> Resource:
    return Resource(
        family=row.family, name="instance EBS throughput", verdict=verdict, unit=row.unit,
        ceiling=row, peak=peak, p99=peak, mean=peak, minutes_above_80=above, headroom=0.0,
    )  # fmt: skip


def of(*intervals: Interval, instance=R5, **given) -> tuple[Finding, ...]:
    parts = {"resources": (), "forecasts": (), "ceilings": CEILINGS, "series": {}} | given
    return findings_of(
        instance,
        time_at=tuple(time_at(i) for i in intervals),
        intervals=intervals,
        measured_s=48 * 3600,
        step_s=60,
        end_s=builders.START_S + 48 * 3600,
        **parts,
    )


def test_where_no_storage_could_be_judged_none_is_said_to_be_free():
    """The report does not claim that no limit was reached."""
    assert ["NoCeilingReached"] == [f.code for f in of(resources=(resource(BASELINE, 143.75e6, Verdict.SLACK),))]
    assert () == of(resources=(resource(BASELINE, 143.75e6, Verdict.UNKNOWN),))


def test_the_first_moment_is_the_earliest_interval_at_that_ceiling():
    """An earlier interval at another ceiling does not count."""
    found = of(interval(BASELINE), interval(GP2, start_s=START_S - 7200))

    assert "first at 2021-03-08 10:14" in found[0].title
    assert "first at 2021-03-08 08:14" in found[1].title


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (BASELINE, "EBSByteBalanceExhausted"),
        (BURST, "EBSThroughputUnderprovisioned"),
        (LEGACY, "EBSThroughputUnderprovisioned"),
        (ceiling(IOPS, Phase.BASELINE, 12_000), "EBSIOBalanceExhausted"),
        (GP2, "BurstBalanceExhausted"),
        (GP3, "EBSVolumeThroughputUnderprovisioned"),
        (GP3_IOPS, "EBSVolumeIOPSUnderprovisioned"),
        (None, "UndocumentedLimitReached"),
    ],
)
def test_codes_are_compute_optimizers_where_it_has_one(row, code):
    """Machines know each finding by a stable code."""
    assert code == of(interval(row))[0].code


def test_a_balance_is_called_exhausted_only_where_that_is_known():
    """At a baseline whose balance nobody saw or could calculate, the limit itself is the finding."""
    unseen = (Evidence(kind="credits", text="only if it was not full at first"),)

    assert "EBSThroughputUnderprovisioned" == of(interval(BASELINE, evidence=unseen))[0].code


def test_a_legacy_limit_is_lifted_for_free_first():
    """
    Before anything that costs money: stop and start, with what the class has now. Where that is no more, or
    today's number binds, stopping and starting would not help.
    """
    higher = ceiling(EBS, Phase.LEGACY, 700e6, legacy=Phase.FIXED)
    (found,), (no_more,), (present,) = (of(interval(row)) for row in (LEGACY, higher, BASELINE))

    assert found.moves[0].startswith("Stop and start the instance")
    assert "287.5 MB/s (baseline) and 593.75 MB/s (burst)" in found.moves[0]
    assert "until 2019-12-04" in found.text
    assert not [move for move in (*no_more.moves, *present.moves) if "Stop and start" in move]
    assert "Spread or reduce the I/O" in present.moves[0]
    assert "More storage throughput would not help" in present.moves[1]


@pytest.mark.parametrize(
    ("row", "move"), [(GP2, "gp2 to gp3"), (GP3_IOPS, "Provision more IOPS"), (GP3, "Provision more throughput")]
)
def test_a_volumes_limit_is_lifted_on_the_volume(row, move):
    """Where the volume is the narrower one a larger class is advised against."""
    (found,) = of(interval(row))

    assert move in found.moves[0]
    assert "A larger class would not help" in found.moves[1]


def test_an_unknown_limit_asks_for_the_facts_first():
    """Where nothing fits, what was bought is checked before anything is done."""
    (known,) = of(interval(None))
    (host,) = of(interval(None), instance=Instance(identifier="db1"))

    assert "an unknown throughput limit" in known.title
    assert "Check class" in known.moves[0]
    assert host.title.startswith("db1 stayed at 150 MB/s")
    assert "--class" in host.moves[0]


def test_what_bound_longest_comes_first():
    """Findings follow the time at each ceiling."""
    found = of(interval(GP2), interval(BASELINE))

    assert ["BurstBalanceExhausted", "EBSByteBalanceExhausted"] == [f.code for f in found]


@pytest.mark.parametrize("above", [42.0, 0.0, None])
def test_near_is_a_warning_with_peak_and_time(above: float | None):
    """Coming near has peak and ceiling, and the time above four fifths unless it is none or not known."""
    found = of(resources=(resource(BASELINE, 270e6, Verdict.NEAR, above=above),))
    near = next(f for f in found if f.severity == "warning")

    assert "peaked at 270 MB/s" in near.title
    assert "287.5 MB/s" in near.title
    assert bool(above) == ("above 80 %" in near.title)
    assert bool(above) == ("above 80 % for 42 min" in near.title)


def test_amounts_are_reported_as_shares():
    """Connections and memory are reported in percent of their ceiling, not as a rate."""
    row = ceiling(Family.CONNECTIONS, Phase.FIXED, 500)
    found = of(resources=(resource(row, 450, Verdict.NEAR),))

    assert "peaked at 90 % of its ceiling" in found[-1].title
    assert "MB/s" not in found[-1].title


def forecast(empty_in_s: float | None) -> Forecast:
    return Forecast(
        family=EBS, balance_ratio=0.3, change_per_s=-1e-4, empty_in_s=empty_in_s,
        empty_in_s_low=None, empty_in_s_high=None, text="credits: 30 % left",
    )  # fmt: skip


@pytest.mark.parametrize(("empty_in_s", "count"), [(None, 0), (0.0, 0), (1800, 1), (6 * 3600, 1), (8 * 3600, 0)])
def test_credits_that_end_within_six_hours_are_a_warning(empty_in_s, count):
    """An end that is far, unknown, or already there, is no warning of its own."""
    found = of(forecasts=(forecast(empty_in_s),))

    assert ["EBSByteBalanceExhausted"] * count == [f.code for f in found]


@pytest.mark.parametrize(
    ("value", "titles"), [([0, 12.0, np.nan, 30.5], ["42 vCPU-minutes"]), ([], []), ([0.0, 0.0], []), ([np.nan], [])]
)
def test_cpu_credits_that_were_billed_are_reported(value, titles):
    """RDS bills a burstable CPU; nothing charged, or nothing read, costs nothing that we know of."""
    charged = builders.series(Metric.CPU_SURPLUS_CREDITS_CHARGED, value)
    found = of(series={charged.metric: charged})

    assert ["CPUCreditsCharged"] * len(titles) == [f.code for f in found]
    assert all(title in f.title for title, f in zip(titles, found, strict=True))


@pytest.mark.parametrize(
    ("ops", "bytes_per_s", "rows", "words"),
    [
        # 30,000 IOPS bought for a class that takes 18,750 at most are paid for in part only.
        (
            30_000.0,
            None,
            (
                ceiling(Family.VOLUME_IOPS, Phase.FIXED, 30_000),
                ceiling(IOPS, Phase.BASELINE, 12_000),
                ceiling(IOPS, Phase.BURST, 18_750),
            ),
            ("30,000 IOPS", "18,750 IOPS"),
        ),
        # 1,000 MiB/s bought for a class that takes 593.75 MB/s at most.
        (
            None,
            mib_per_s(1000),
            (ceiling(Family.VOLUME_THROUGHPUT, Phase.FIXED, mib_per_s(1000)), *(BASELINE, BURST, LEGACY)),
            ("1,000 MiB/s", "593.75 MB/s"),
        ),
        # Within a tenth of what the class takes, nothing is wasted.
        (19_000.0, None, (ceiling(Family.VOLUME_IOPS, Phase.FIXED, 19_000), ceiling(IOPS, Phase.BURST, 18_750)), ()),
    ],
    ids=["IOPS", "throughput", "within a tenth"],
)
def test_storage_beyond_the_instance_is_reported(ops, bytes_per_s, rows, words):
    """Both numbers are in the title; what was not bought is not paid in vain."""
    storage = Storage(kind="io1", provisioned_ops_per_s=ops, provisioned_bytes_per_s=bytes_per_s)
    found = of(instance=Instance(storage=storage), ceilings=rows)

    assert ["StorageBeyondInstance"] * bool(words) == [f.code for f in found]
    assert all(word in f.title for f in found for word in words)
    assert () == of(instance=Instance(storage=Storage(kind="io1")), ceilings=rows)
