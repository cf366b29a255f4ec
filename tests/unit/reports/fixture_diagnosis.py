"""
Three diagnoses made by hand, so that every renderer has something full, quiet and empty to show.

The figures of `pressed` are those of the search service of 2021 (see examples/search-service),
filled up with plausible ones; nothing here was measured, and `is_simulated` says so.
"""

import numpy as np
from msgspec.structs import replace

from plimsoll.app.render import Report, render
from plimsoll.model.cause import Inspection
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import (
    BucketFit,
    CeilingTime,
    Diagnosis,
    Evidence,
    Finding,
    Forecast,
    Missing,
    RuledOut,
    Verdict,
)
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.plan import Plan
from plimsoll.model.snapshot import Annotation, EventKind, Gap, Snapshot
from plimsoll.reports.chart.drawing import vega_script
from unit.reports.fixture_parts import (
    BASELINE,
    CEILINGS,
    CONNECTIONS,
    CPU,
    DAY,
    DAY_S,
    EBS,
    HOUR_S,
    IOPS_BASELINE,
    IOPS_BURST,
    LEGACY_BASELINE,
    LEGACY_BURST,
    MEMORY,
    NIGHT,
    SPACE,
    START_S,
    STEP_S,
    VOLUME_IOPS,
    VOLUME_THROUGHPUT,
    interval,
    resource,
    series,
    snapshot,
    wobble,
)


def pressed_series():
    """The day of the search service: pegged at 437.5 MB/s by night and at 212.5 MB/s by day."""
    n = DAY_S // STEP_S
    time = START_S + STEP_S * np.arange(n)
    hour = (time - START_S) / HOUR_S
    demand = 120e6 + 55e6 * np.sin((hour - 3) / 24 * 2 * np.pi) + wobble(n, 1, 24e6)
    by_day = (time >= DAY[0]) & (time < DAY[1])
    by_night = ((time >= NIGHT[0][0]) & (time < NIGHT[0][1])) | ((time >= NIGHT[1][0]) & (time < NIGHT[1][1]))
    total = np.where(by_day, 212.6e6 + wobble(n, 2, 0.4e6), demand)
    total = np.where(by_night, 437.4e6 + wobble(n, 3, 1.2e6), total)
    share = 0.62 + 0.1 * np.sin(hour) + wobble(n, 4, 0.04)
    size = np.where(by_day, 15.2e3, 13.1e3) + wobble(n, 5, 300)
    size = np.where(by_night, 25.6e3, size)
    pressed = by_day | by_night
    balance = np.clip(1 - np.cumsum(np.where(pressed, 1.0, -1.4)) / 300 - 0.0, 0, 1)
    balance = np.where(by_day, np.clip(1 - (time - DAY[0]) / 2400, 0, 1), np.clip(balance, 0.4, 1))
    return {
        Metric.READ_BYTES_PER_S: total * share,
        Metric.WRITE_BYTES_PER_S: total * (1 - share),
        Metric.READ_OPS_PER_S: total * share / size,
        Metric.WRITE_OPS_PER_S: total * (1 - share) / size,
        Metric.READ_LATENCY_S: np.where(pressed, 5.1e-3, 1.0e-3) * (1 + wobble(n, 6, 0.3)),
        Metric.WRITE_LATENCY_S: np.where(pressed, 98e-3, 14e-3) * (1 + wobble(n, 7, 0.3)),
        Metric.QUEUE_DEPTH: np.where(pressed, 72.0, 4.0) * (1 + wobble(n, 8, 0.35)),
        Metric.BYTE_BALANCE_RATIO: balance,
        Metric.IO_BALANCE_RATIO: np.full(n, 0.99),
        Metric.CPU_RATIO: 0.4 + wobble(n, 9, 0.1),
    }


EVIDENCE = (
    Evidence(
        kind="flatness",
        text="Reads and writes together stayed within 0.2 % of 212.6 MB/s for 9 h 12 min, "
        "while their shares moved between 52 % and 76 % reads.",
        value=0.002,
        weight=2.0,
    ),
    Evidence(
        kind="match",
        text="212.6 MB/s is 0.05 % from the legacy baseline of the class, 212.5 MB/s; the present "
        "one, 287.5 MB/s, is 35 % away.",
        value=212.6e6,
        reference=212.5e6,
        weight=4.4,
    ),
    Evidence(
        kind="waiting",
        text="Writes took 98 ms at the ceiling and 14 ms before and after.",
        value=0.098,
        reference=0.014,
        weight=2.5,
    ),
    Evidence(kind="persistence", text="The level was held for 9 h 12 min.", weight=1.6),
    Evidence(kind="balance", text="EBSByteBalance% reached 0 % at 10:28 and stayed there.", weight=1.5),
)
RULED_OUT = (
    RuledOut(
        ceiling=IOPS_BASELINE,
        reason="14,000 IOPS were served for hours, above the baseline of 12,000 IOPS, and "
        "EBSIOBalance% stayed at 99 %.",
    ),
    RuledOut(ceiling=VOLUME_IOPS, reason="The peak of 17,100 IOPS is 57 % of the provisioned 30,000 IOPS."),
    RuledOut(ceiling=VOLUME_THROUGHPUT, reason="212.6 MB/s is 10 % of what the volume can do at this I/O size."),
)
SHORT = tuple(
    interval(
        START_S + 70_020 + 900 * i,
        START_S + 70_020 + 900 * i + 180 + 60 * (i % 3),
        LEGACY_BASELINE,
        level=81.3e6,
        family=Family.UNKNOWN,
        phase=Phase.FIXED,
        former_phase=None,
        ceiling=None,
        confidence=0.91,
        io_size_bytes=None,
        latency_s=None,
        latency_reference_s=None,
        queue_depth=None,
        evidence=EVIDENCE[:1],
    )
    for i in range(14)
)
INTERVALS = (
    interval(*NIGHT[0], LEGACY_BURST, level=437.4e6, evidence=EVIDENCE[2:4], context="lazy loading after a restore"),
    interval(*NIGHT[1], LEGACY_BURST, level=437.3e6, confidence=0.98, evidence=EVIDENCE[2:4]),
    interval(
        *DAY,
        LEGACY_BASELINE,
        level=212.6e6,
        evidence=EVIDENCE,
        ruled_out=RULED_OUT,
        step_s=1,
        context="storage optimisation after a change of storage",
    ),
    *SHORT,
)

TIME_AT = tuple(
    CeilingTime(
        family=family,
        phase=phase,
        dimension=Dimension.THROUGHPUT,
        level=level,
        seconds=float(sum(i.end_s - i.start_s for i in at)),
        interval_count=len(at),
        ceiling=at[0].ceiling,
    )
    for family, phase, level, at in (
        (EBS, Phase.LEGACY, 212.6e6, INTERVALS[2:3]),
        (EBS, Phase.LEGACY, 437.4e6, INTERVALS[:2]),
        (Family.UNKNOWN, Phase.FIXED, 81.3e6, SHORT),
    )
)


GIB = 1024.0**3
RESOURCES = (
    resource(EBS, Verdict.BINDS, "instance EBS throughput", LEGACY_BASELINE, 438.5e6, 438.2e6, 171.3e6, 672.0),
    resource(
        Family.INSTANCE_EBS_IOPS, Verdict.NEAR, "instance EBS IOPS", IOPS_BURST, 17_100.0, 16_900.0, 12_800.0, 85.0
    ),
    resource(
        Family.VOLUME_THROUGHPUT, Verdict.SLACK, "volume throughput", VOLUME_THROUGHPUT, 438.5e6, 438.2e6, 171.3e6, 0.0
    ),
    resource(Family.VOLUME_IOPS, Verdict.SLACK, "volume IOPS", VOLUME_IOPS, 17_100.0, 16_900.0, 12_800.0, 0.0),
    resource(Family.CPU, Verdict.SLACK, "CPU", CPU, 0.52, 0.5, 0.4, 0.0),
    resource(Family.MEMORY, Verdict.SLACK, "memory", MEMORY, 33 * GIB, 32.8 * GIB, 31 * GIB, 0.0),
    resource(Family.CONNECTIONS, Verdict.SLACK, "connections", CONNECTIONS, 612.0, 590.0, 340.0, 0.0),
    resource(
        Family.NETWORK,
        Verdict.UNKNOWN,
        "network",
        None,
        None,
        None,
        None,
        None,
        unit="bytes/s",
        note="NetworkReceiveThroughput and NetworkTransmitThroughput are not in the export.",
    ),
    resource(Family.STORAGE_SPACE, Verdict.SLACK, "storage space", SPACE, 2010 * GIB, 2009 * GIB, 1990 * GIB, 0.0),
)

FINDINGS = (
    Finding(
        code="EBSThroughputUnderprovisioned",
        severity="critical",
        title="The instance's EBS throughput was at its legacy baseline of 212.5 MB/s from 2021-03-08 09:48 to 19:00.",
        text="The class has had a baseline of 287.5 MB/s since 2019-12-04; an instance launched "
        "earlier keeps the legacy limits until it is stopped and started.",
        moves=(
            "Stop and start the instance to get the present limits, 287.5 and 593.75 MB/s (free).",
            "Lower the demand: find what writes in those hours, for example an autovacuum.",
            "Move to db.r5.4xlarge, whose baseline is 593.75 MB/s.",
        ),
    ),
    Finding(
        code="EBSVolumeIOPSUnreachable",
        severity="warning",
        title="11,250 of the 30,000 provisioned IOPS cannot be reached: the class ends at 18,750 IOPS.",
        text="They are paid for every month.",
        moves=("Lower the provisioned IOPS to 18,750, or take a larger class.",),
    ),
    Finding(code="BalanceEmpty", severity="note", title="EBSByteBalance% was 0 % for 8 h 32 min."),
)


ANNOTATIONS = (
    Annotation(time_s=DAY[0], text="autovacuum of the largest TOAST table"),
    Annotation(
        time_s=START_S - 2 * HOUR_S, text="Restored from snapshot rds:search-primary-2021-03-07", kind=EventKind.RESTORE
    ),
    Annotation(time_s=START_S + 10_800, text="Backing up DB instance", kind=EventKind.BACKUP),
    Annotation(time_s=START_S + 11_400, text="Finished DB Instance backup", kind=EventKind.BACKUP),
    Annotation(time_s=START_S + 69_000, text="DB instance restarted", kind=EventKind.RESTART),
)


def calm(shot, **found):
    """The diagnosis of a measured day in which nothing was found but what is given."""
    plain = Diagnosis(
        instance=shot.instance,
        window_s=(START_S, START_S + DAY_S),
        step_s=STEP_S,
        measured_s=float(DAY_S),
        is_simulated=False,
        source=shot.source,
        note="",
        verdict=Verdict.SLACK,
        binding=None,
        next_ceiling=BASELINE,
        intervals=(),
        time_at=(),
        resources=(),
        buckets=(),
        forecasts=(),
        findings=(),
        missing=(),
        ceilings=CEILINGS,
    )
    return replace(plain, **found)


def pressed():
    """A database against a legacy limit: diagnosis and snapshot."""
    note = "Reconstructed from published figures; not a recording of a real instance."
    shot = snapshot(
        pressed_series(),
        source="simulated from the published figures of the search service, 2021",
        is_simulated=True,
        note=note,
        annotations=ANNOTATIONS,
    )
    diagnosis = calm(
        shot,
        is_simulated=True,
        note=note,
        verdict=Verdict.BINDS,
        binding=TIME_AT[0],
        intervals=INTERVALS,
        time_at=TIME_AT,
        resources=RESOURCES,
        buckets=(
            BucketFit(
                family=EBS,
                baseline=212.1e6,
                baseline_se=1.9e6,
                capacity=533e9,
                capacity_se=8.1e9,
                sample_count=118,
                residual_ratio=0.006,
                is_reliable=True,
                grant_s=(START_S + 50_700,),
                grant_clock="14:05 UTC",
                text="The throughput bucket holds 533 ± 8 GB and refills at 212.1 MB/s; it was "
                "filled at 14:05 UTC while credits were being spent.",
            ),
        ),
        forecasts=(
            Forecast(
                family=EBS,
                balance_ratio=0.62,
                change_per_s=-5.2e-5,
                empty_in_s=11_923.0,
                empty_in_s_low=10_400.0,
                empty_in_s_high=13_900.0,
                text="At the rate of the last hour EBSByteBalance% reaches 0 % in 3 h 19 min "
                "(2 h 53 min to 3 h 52 min).",
            ),
        ),
        findings=FINDINGS,
        missing=(
            Missing(
                name="NetworkReceiveThroughput",
                hides="whether the network was a limit",
                remedy="Export NetworkReceiveThroughput and NetworkTransmitThroughput, or allow "
                "cloudwatch:GetMetricData for them.",
            ),
        ),
        annotations=ANNOTATIONS,
    )
    return diagnosis, shot


def quiet():
    """A database with room everywhere."""
    n = DAY_S // STEP_S
    hour = np.arange(n) / 60
    total = 31e6 + 14e6 * np.sin((hour - 9) / 24 * 2 * np.pi) + wobble(n, 1, 9e6)
    shot = snapshot(
        {
            Metric.READ_BYTES_PER_S: total * 0.3,
            Metric.WRITE_BYTES_PER_S: total * 0.7,
            Metric.READ_OPS_PER_S: total * 0.3 / 14e3,
            Metric.WRITE_OPS_PER_S: total * 0.7 / 14e3,
            Metric.READ_LATENCY_S: np.full(n, 0.7e-3) + wobble(n, 2, 0.1e-3),
            Metric.WRITE_LATENCY_S: np.full(n, 1.2e-3) + wobble(n, 3, 0.2e-3),
            Metric.QUEUE_DEPTH: np.full(n, 1.4) + wobble(n, 4, 0.4),
            Metric.CPU_RATIO: np.full(n, 0.21) + wobble(n, 5, 0.05),
        },
        source="export folder metrics",
    )
    diagnosis = calm(
        shot,
        resources=(
            resource(*(EBS, Verdict.SLACK, "instance EBS throughput", BASELINE), *(54e6, 53.2e6, 31e6, 0.0)),
            resource(
                *(Family.INSTANCE_EBS_IOPS, Verdict.SLACK, "instance EBS IOPS", IOPS_BASELINE),
                *(3_857.0, 3_790.0, 2_214.0, 0.0),
            ),
            resource(Family.CPU, Verdict.SLACK, "CPU", CPU, 0.26, 0.25, 0.21, 0.0),
        ),
    )
    return diagnosis, shot


def unknown():
    """A host of which next to nothing was measured."""
    host = Instance(identifier="db7")
    shot = Snapshot(
        instance=host,
        series={Metric.CPU_RATIO: series(Metric.CPU_RATIO, np.full(60, 0.31) + wobble(60, 1, 0.04))},
        source="export file cpu.json",
        gaps=(Gap(metric="read_bytes_per_s", reason="not in the export", remedy="Export ReadThroughput."),),
    )
    lost = ("ReadThroughput", "WriteThroughput", "ReadIOPS", "WriteIOPS")
    diagnosis = calm(
        shot,
        window_s=(START_S, START_S + HOUR_S),
        measured_s=0.0,
        verdict=Verdict.UNKNOWN,
        next_ceiling=None,
        ceilings=(),
        resources=(
            resource(
                *(EBS, Verdict.UNKNOWN, "instance EBS throughput", None, None, None, None, None),
                unit="bytes/s",
                note="The class is not known and reads and writes were not measured.",
            ),
            resource(Family.CPU, Verdict.SLACK, "CPU", CPU, 0.35, 0.349, 0.31, 0.0),
        ),
        missing=(
            *(
                Missing(
                    name=name,
                    hides="whether storage was a limit",
                    remedy=f"Export {name}; live, this needs cloudwatch:GetMetricData.",
                )
                for name in lost
            ),
            Missing(
                name="instance class",
                hides="every documented ceiling",
                remedy="Give describe-db-instances JSON, or --class.",
            ),
        ),
    )
    return diagnosis, shot


CASES = {"pressed": pressed, "quiet": quiet, "unknown": unknown}


def page_of(
    diagnosis: Diagnosis, shot: Snapshot, plan: Plan | None = None, inspection: Inspection | None = None
) -> str:
    """The page of a diagnosis without the bundled library, which is not ours to hold."""
    text = render(Report(diagnosis=diagnosis, snapshot=shot, plan=plan, inspection=inspection), "html")
    return text.replace(vega_script(), "")


def text_of(diagnosis: Diagnosis, shot: Snapshot, *, width: int | None = 80) -> str:
    """A diagnosis as text."""
    return render(Report(diagnosis=diagnosis, snapshot=shot), width=width)
