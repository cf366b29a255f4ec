"""What the report of the claims pipeline says about its phases, side by side."""

from types import SimpleNamespace

from msgspec.structs import replace

from experiments import FIGURES
from plimsoll.catalog.load import catalog
from plimsoll_lab.experiments.claims_pipeline.ground import ClaimsPlan
from plimsoll_lab.experiments.claims_pipeline.story import PHASES
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.judges.claims_pipeline import ClaimsJudge

JOBS = replace(
    FIGURES,
    minutes=60.0,
    loading_minutes=20.0,
    refresh_minutes=40.0,
    jobs_minutes=60.0,
    byte_balance_start=0.4,
    byte_balance_min=0.0,
)


def notes(**figures) -> str:
    """The remarks about phases with these figures, as one text."""
    judge = ClaimsJudge(ClaimsPlan(phases=PHASES), catalog(), print, None)
    for phase in PHASES:
        if phase.name in figures:
            run = SimpleNamespace(figures=figures[phase.name], setup=GateSetup(instance=phase.instance))
            judge.read[phase.name] = SimpleNamespace(run=run)
    return "\n".join(judge.notes())


def test_the_larger_class_is_compared_with_the_post():
    """What was saved here, what the baselines alone save, and that credits are the rest."""
    larger = replace(JOBS, loading_minutes=10.0, refresh_minutes=10.0, jobs_minutes=20.0)
    text = notes(**{"three-jobs": JOBS, "larger-class": larger})

    assert "loading takes 50 % less, refreshing 75 % less, both together 67 % less" in text
    assert "1.71 times as much, which saves 41 %" in text
    # 0.4 of 469 GB of 212.5 MB/s for an hour, and 0.4 of 801 GB.
    assert "they paid for 25 % of the bytes with the old class and for 42 %" in text
    # 2.5 TB less 0.8 TB of credits, at 148.5 MB/s.
    assert "needs 3.2 h" in text


def test_the_pace_is_compared_with_the_same_jobs_without_it():
    paced = replace(JOBS, jobs_minutes=84.0)

    assert "the same jobs took 84 min instead of 60 min" in notes(**{"three-jobs": JOBS, "paced": paced})


def test_phases_that_were_not_played_are_not_compared():
    """After Ctrl-C; that the data are simulated, and what was chosen, is said in any case."""
    text = notes(quiet=FIGURES)

    assert "The claims are simulated." in text
    assert "by choice" in text
    assert "less" not in text
    assert "pace" not in text
