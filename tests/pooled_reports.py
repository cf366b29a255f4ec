"""A small report of the pooled cluster, for tests of its forms. Invented numbers."""

from msgspec.structs import replace

from plimsoll_lab.experiments.pooled_cluster.play import PooledRun
from plimsoll_lab.experiments.pooled_cluster.story import Expected, fleet_of, phases_of
from plimsoll_lab.model.experiment import Check, PublishedPhase
from plimsoll_lab.model.pooled import PooledFigures, PooledOutcome, PooledPhaseReport, PooledReport, PooledSample

FIGURES = PooledFigures(
    seconds=2.0,
    connections_max=389,
    connections_end=380,
    active_max=25,
    idle_max=40,
    in_transaction_max=335,
    aborted_max=2,
    arrivals_per_s=151.0,
    done_per_s=6.1,
    queries_per_s=3302.0,
    useful_per_s=201.0,
    latency_s_p50=0.4,
    latency_s_p95=18.4,
    opened=340,
    closed=12,
    refused=140,
    held_s=1.5,
    given_up={"no_answer": 2800, "refused": 211},
    retries=900,
    load_average_max=64.7,
    processors={"PostgreSQL": 0.5, "Pgpool-II": 0.25, "other programs": 0.2, "Plimsoll": 0.001},
)
NOTHING = replace(FIGURES, latency_s_p50=None, latency_s_p95=None, held_s=None, given_up={}, opened=0, refused=0)
SAMPLE = PooledSample(
    time_s=1.0,
    active=25,
    idle=27,
    in_transaction=335,
    aborted=2,
    arrivals_per_s=151.0,
    done_per_s=6.0,
    queries_per_s=3302.0,
    load_average=64.7,
)
RIGHT = Check(
    command="inspect",
    expected="a storm of connections",
    found="Connections rose from 54 to 198 within 14 s",
    is_right=True,
)


OUTCOME = PooledOutcome(
    target_per_s=54.0,
    carried_per_s=60.0,
    storm_useful_per_s=320.0,
    end_queries_per_s=1_800.0,
    end_useful_per_s=1_760.0,
    other_useful_per_s=2_100.0,
    queries_wanted_per_s=4_500.0,
    ratio_wanted=5.0,
    processors={"PostgreSQL": 0.5, "Pgpool-II": 0.25, "other programs": 0.2},
    processor_count=2,
)


def phase(**other: object) -> PooledPhaseReport:
    """The storm."""
    made = PooledPhaseReport(
        name="storm",
        title="Arrivals rise",
        action="Arrivals rise to the target.",
        began_s=1.0,
        pooler="Pgpool-II without the fix of 2020, connection_life_time 6 s; 28 pools of 25",
        figures=FIGURES,
        published=(
            PublishedPhase(name="connections", text="more than 7,000"),
            PublishedPhase(name="effect", text="none"),
        ),
        named=("Connections rose from 54 to 198 within 14 s",),
        checks=(RIGHT,),
    )
    return replace(made, **other)


def report(**other: object) -> PooledReport:
    """One phase of one, of two seconds."""
    made = PooledReport(
        name="pooled-cluster",
        title="Pooled cluster",
        source="a post",
        scale=10.0,
        machine="2 processors, 24 GB",
        phases=(phase(),),
        samples=(SAMPLE, replace(SAMPLE, time_s=2.0)),
        notes=("Scale 1:10.",),
        phase_count=1,
        outcome=OUTCOME,
    )
    return replace(made, **other)


def run(expected: Expected, **other: object) -> PooledRun:
    """The first phase of the story of which this is true."""
    made = PooledRun(
        phase=next(one for one in phases_of(is_quick=True) if one.expected is expected),
        fleet=fleet_of(10.0),
        figures=FIGURES,
        samples=(),
        observation=None,
        sizing=None,
    )
    return replace(made, **other)
