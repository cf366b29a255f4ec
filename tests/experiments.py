"""A small experiment report, for tests of its forms. Invented numbers."""

from msgspec import structs
from msgspec.structs import replace

from plimsoll_lab.model.experiment import (
    Check,
    ExperimentFigures,
    ExperimentReport,
    MinuteRates,
    PhaseReport,
    PublishedPhase,
)
from plimsoll_lab.model.lab import GroundTruth

START_S = 1_700_000_040
FIGURES = ExperimentFigures(
    minutes=20.0,
    read_bytes_per_s=120e6,
    write_bytes_per_s=92.5e6,
    ops_per_s=9000.0,
    read_latency_s=0.02,
    write_latency_s=0.09,
    queue_depth=90.0,
    throttled_minutes=14.0,
    applied_per_s=1100.0,
    lag_start=3,
    lag_end=420,
    response_s_p50=0.03,
    response_s_p95=0.25,
    freshness_s_p50=4.0,
    freshness_s_p99=31.0,
    dead_tuples_per_update=6.0,
    vacuum_due_minutes=4.7,
)
NOTHING = ExperimentFigures(
    minutes=20.0, throttled_minutes=0.0, **dict.fromkeys({*structs.asdict(FIGURES)} - {"minutes", "throttled_minutes"})
)
RIGHT = Check(
    command="diagnose",
    expected="instance EBS throughput, legacy baseline, 212.5 MB/s",
    found="instance EBS throughput, legacy baseline, 212.6 MB/s, for 14 min",
    is_right=True,
)


def phase(number: int = 0, **other: object) -> PhaseReport:
    """A phase of twenty emulated minutes."""
    start_s = START_S + number * 1200
    made = PhaseReport(
        name="whole-documents",
        title="Load grows",
        action="More events arrive.",
        instance="db.r5.2xlarge, io1, 3,000 GiB, 20,000 IOPS",
        window_s=(start_s, start_s + 1200),
        figures=FIGURES,
        published=(PublishedPhase(name="throughput", text="213 MB/s"), PublishedPhase(name="effect", text="none")),
        headline="search-service was up against its instance EBS throughput.",
        truth=GroundTruth(clock=60.0, recorded_s=20.0, held=(), wrong=(), is_void=False, kept_up="It kept up."),
        checks=(RIGHT,),
    )
    return replace(made, **other)


def experiment(*phases: PhaseReport, **other: object) -> ExperimentReport:
    """An experiment of these phases, or of one."""
    phases = phases or (phase(),)
    made = ExperimentReport(
        name="search-service",
        title="Search service",
        source="A post (2021)",
        scale=40.0,
        clock=60.0,
        machine="2 processors, 24 GiB",
        phases=phases,
        minutes=tuple(
            MinuteRates(
                time_s=one.window_s[0] + 60 * minute,
                read_bytes_per_s=120e6,
                write_bytes_per_s=92e6,
                ceiling_bytes_per_s=212.5e6,
            )
            for one in phases
            for minute in range(20)
        ),
        is_void=False,
        notes=("Scale 1:40.",),
    )
    return replace(made, **other)
