"""Reports of what was played and tried, as people see them: full, odd and interrupted ones."""

import math
from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

import experiments
import failover_reports
import pooled_reports
from golden.together import texts, together
from plimsoll.model.ceiling import Dimension, Phase
from plimsoll.model.rehearsal import Rehearsal, Span
from plimsoll_lab.model.experiment import ExperimentProgress
from plimsoll_lab.model.failover import Synchronous
from plimsoll_lab.model.lab import WrongClaim
from plimsoll_lab.model.pooled import PooledProgress
from plimsoll_lab.reports.drawn import drawn
from plimsoll_lab.reports.lab.experiment import experiment_line, experiment_lines
from plimsoll_lab.reports.lab.pooled import pooled_line, pooled_lines
from plimsoll_lab.reports.lab.text import progress_line, progress_lines, render_truth
from plimsoll_lab.reports.pooled.outcome import target_words, verdict
from rehearsals import rehearsal
from unit.reports.fixture_lab import BASELINE, BURST, OPS, PROGRESS, TRUTH
from unit.reports.fixture_toast import case, proof, sample


def played_texts(reports: Mapping[str, object], width: int = 100) -> dict[str, str]:
    """Each report of what was played as text, by its name."""
    return texts({name: drawn(report) for name, report in reports.items()}, width)


def failovers() -> dict[str, str]:
    report, rounds = failover_reports.report, failover_reports.ROUNDS
    alone = tuple(replace(one, services=None) for one in rounds)
    return played_texts(
        {
            "kept": report(),
            "lost": report(lost=7, synchronous=Synchronous.ASYNCHRONOUS),
            "lost and refused there": report(lost=1, refused_there=1),
            "not healed": report(rounds=(failover_reports.UNHEALED,), round_count=3),
            "interrupted": report(round_count=9),
            "without services": report(rounds=alone, services=None, fleet=""),
        }
    )


def loaded(*, whole: Mapping[str, object] | None = None, **present: object) -> Rehearsal:
    """The rehearsal of which the present class, or the `whole`, has other results."""
    plain = rehearsal()
    return replace(plain, present=replace(plain.present, **present), **(whole or {}))


def rehearsals() -> dict[str, str]:
    plain = rehearsal()
    late_s = (plain.present.seconds.low + plain.classes[0].seconds.high) / 2
    late = {"finish_within_s": late_s, "cheapest": plain.classes[0]}
    within = {"finish_within_s": 3600.0, "cheapest": None}
    endless = Span(low=math.inf, likely=math.inf, high=math.inf)
    nothing = Span(low=0.0, likely=None, high=math.inf)
    return texts(
        {
            "plain": plain,
            "late, with a class that is not": loaded(fits=False, whole=late),
            "in time": loaded(fits=True, whole=within),
            "bounds on both sides": loaded(fits=None, whole=within),
            "bounds alone": loaded(seconds=Span(low=60.0, likely=None, high=120.0)),
            "bounds that read alike": loaded(seconds=Span(low=4.01, likely=None, high=4.02), whole={"classes": ()}),
            "sample too small": loaded(seconds=nothing, whole={"input_bytes": 17.0}),
            "for ever": loaded(seconds=endless, end_per_s=0.0),
            "the load itself decides": loaded(binding=None, end_per_s=5e6),
        }
    )


def proofs() -> dict[str, str]:
    blind = sample(resent_same=0, resent_changed=0, resent_unknown=40)
    return texts(
        {
            "held": proof(case(), sample=(sample(),)),
            "not held": proof(case(), case(chunks_dead=4)),
            "a sample that cannot tell": proof(case(), sample=(blind,)),
        }
    )


def pooled() -> dict[str, str]:
    report, phase = pooled_reports.report, pooled_reports.phase
    wrong = replace(pooled_reports.RIGHT, found="none of this", is_right=False)
    found = played_texts(
        {
            "right": report(),
            "void": report(is_void=True, phase_count=8),
            "wrong": report(phases=(phase(checks=(wrong,)),)),
            "interrupted": report(phase_count=7, outcome=None),
            "nothing measured": report(phases=(phase(figures=pooled_reports.NOTHING),)),
        },
        width=110,
    )
    outcome = pooled_reports.OUTCOME
    outcomes = {
        "others": outcome,
        "busy": replace(outcome, processors={"PostgreSQL": 0.95}),
        "idle": replace(outcome, processors={"PostgreSQL": 0.4}),
        "reached": replace(outcome, end_queries_per_s=4_600.0),
        "unknown": replace(outcome, carried_per_s=None),
    }
    said = {f"outcome: {name}": f"{verdict(o)}\n{target_words(o)}" for name, o in outcomes.items()}
    progress = PooledProgress(
        title="Arrivals rise",
        number=2,
        count=7,
        scale=10.0,
        elapsed_s=5.0,
        duration_s=20.0,
        sample=pooled_reports.SAMPLE,
        waiting=249,
        pooled=74,
        refused=3,
        given_up=51,
        latency_s_p95=None,
        held_s=None,
    )
    shown = {
        f"progress: {name}": "\n".join([*pooled_lines(one), pooled_line(one)])
        for name, one in {"first": progress, "held": replace(progress, held_s=1.5)}.items()
    }
    return found | said | shown


def played() -> dict[str, str]:
    experiment, phase = experiments.experiment, experiments.phase
    wrong = replace(experiments.RIGHT, found="unknown", is_right=False)
    load = replace(
        experiments.NOTHING, loading_minutes=9.0, refresh_minutes=41.0, jobs_minutes=50.0, byte_balance_min=0.0
    )
    found = played_texts(
        {
            "right": experiment(phase(), phase(1)),
            "wrong": experiment(phase(), phase(1, checks=(wrong,))),
            "void": experiment(is_void=True),
            "interrupted": experiment(is_interrupted=True),
            "nothing measured": experiment(phase(figures=experiments.NOTHING)),
            "a load": experiment(phase(figures=load)),
        }
    )
    progress = ExperimentProgress(
        title="Load grows", number=2, count=7, scale=20.0, storage=PROGRESS, lag=1234.0, response_s=0.0312
    )
    shown = {
        f"progress: {name}": "\n".join([*experiment_lines(one), experiment_line(one)])
        for name, one in {
            "lag": progress,
            "nothing known": replace(progress, lag=None, response_s=None),
            "files": replace(progress, lag=None, work="2 of 3 files loaded"),
        }.items()
    }
    return found | shown


def lab_runs() -> dict[str, str]:
    shown = {
        f"progress: {name}": "\n".join([*progress_lines(one), progress_line(one)])
        for name, one in {
            "held": PROGRESS,
            "late": replace(PROGRESS, late_ratio=0.03),
            "hardly late": replace(PROGRESS, late_ratio=0.001),
            "nothing in the way": replace(PROGRESS, stages=(OPS,)),
        }.items()
    }
    claim = WrongClaim(name="volume_iops", phase=Phase.FIXED, dimension=Dimension.IOPS, level=2990, seconds=600)
    missed = replace(BASELINE, found_level=None, found_s=None)
    truths = {
        "agrees": TRUTH,
        "nothing held": replace(TRUTH, held=()),
        "a wrong claim": replace(TRUTH, wrong=(claim,)),
        "void": replace(TRUTH, is_void=True, kept_up="This run is void: too late."),
        "missed, and not too short": replace(TRUTH, held=(missed, BURST)),
    }
    told = {f"truth: {n}": render_truth(t, width=80, color=False) for n, t in truths.items()}
    return shown | told | {"truth, narrow": render_truth(TRUTH, width=50, color=False)}


SHEAVES: dict[str, Callable[[], dict[str, str]]] = {
    "failovers": failovers,
    "rehearsals": rehearsals,
    "toast-proofs": proofs,
    "pooled-cluster": pooled,
    "experiments": played,
    "lab-runs": lab_runs,
}


@pytest.mark.parametrize("name", SHEAVES)
def test_they_read_as_reviewed(name: str, golden: Callable[[str, str], None]):
    """Every sentence, number and unknown of each report, below the name of its case."""
    golden(f"variants/{name}.txt", together(SHEAVES[name]()))
