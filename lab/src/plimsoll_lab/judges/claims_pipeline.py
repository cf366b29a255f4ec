"""
Play the incident of the claims pipeline, and judge what Plimsoll says about each phase.

Each phase is read back from the account over HTTP, as `rds:claims-pipeline`, and then diagnosed and planned by the
functions that the commands use. The last phase runs at the pace of Plimsoll's allowance.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from plimsoll.catalog.load import Catalog, catalog
from plimsoll.model.plan import PlanConstraints
from plimsoll.units import format_bytes, format_bytes_per_s, format_ratio, number
from plimsoll_lab.experiments.claims_pipeline import story
from plimsoll_lab.experiments.claims_pipeline.ground import ClaimsPlan
from plimsoll_lab.experiments.claims_pipeline.play import ClaimsEdges, play
from plimsoll_lab.judges import load_checks
from plimsoll_lab.judges.alerts import slack_messages_of
from plimsoll_lab.judges.batch_pace import RESERVE, gate_pace
from plimsoll_lab.judges.judge import ExperimentJudge, ReadPhase, plan_of, played
from plimsoll_lab.model.experiment import Check, ExperimentFigures, ExperimentProgress, ExperimentReport

ALERT_MINUTES = 30
"""The post's alert comes after an hour with an empty balance. With --quick the whole phase takes less than an hour."""
_HOUR_S = 3600
_PUBLISHED_REFRESH_S = 8 * _HOUR_S
"""Refreshing the views before the change, in the post."""


def play_claims_pipeline(
    plan: ClaimsPlan,
    *,
    report_progress: Callable[[ExperimentProgress], None],
    print_line: Callable[[str], None],
    keep: Path | None = None,
) -> ExperimentReport:
    """
    Play all phases, and return the report; after Ctrl-C, that of the phases before.

    Args:
        plan: how the experiment is played.
        report_progress: called about once a second within a phase.
        print_line: called with a sentence before each step, and with the verdict on each phase.
        keep: folder for a snapshot of each phase, as it was read back; it exists. None for none.

    Raises:
        UsageError: FUSE or a server is missing, or there is too little memory or space.
        SourceError: a server did not start or ended, or the jobs took too long.
        KeyboardInterrupt: it was interrupted before the first phase was over.
    """
    facts = catalog()
    judge = ClaimsJudge(plan, facts, print_line, keep)
    edges = ClaimsEdges(
        pace=lambda gate, setup, dsn: gate_pace(facts, gate, setup, dsn),
        report_progress=report_progress,
        print_line=print_line,
        end_phase=judge.add,
    )
    return played(judge, lambda: play(plan, facts, edges))


class ClaimsJudge(ExperimentJudge):
    """Judges the phases of the claims pipeline."""

    name, title, source = story.NAME, story.TITLE, story.SOURCE

    def __init__(self, plan: ClaimsPlan, facts: Catalog, print_line: Callable[[str], None], keep: Path | None) -> None:
        """Begin without phases; the arguments are those of `ExperimentJudge`."""
        super().__init__(facts, print_line, keep, scale=plan.scale, clock=plan.clock)
        self._plan = plan

    def checks_of(self, found: ReadPhase) -> Iterator[Check]:
        """Yield what is expected of a phase besides its limit."""
        name = found.run.phase.name
        if name == "three-jobs":
            yield load_checks.not_volume_check(found.diagnosis)
            yield load_checks.empty_credits_check(found.snapshot)
            larger = str(story.LARGER.db_class)
            narrow = PlanConstraints(allow=(larger,), keep_storage=True)
            messages = slack_messages_of(found.snapshot, empty_minutes=ALERT_MINUTES)
            yield load_checks.alert_check(messages, empty_minutes=ALERT_MINUTES)
            yield load_checks.class_check(plan_of(found), plan_of(found, narrow), db_class=larger)
        if name == "paced":
            figures = found.run.figures
            yield load_checks.reserve_check(figures, reserve=RESERVE)
            yield load_checks.foreground_check(self._figures("quiet"), self._figures("three-jobs"), figures)

    def notes(self) -> Iterator[str]:
        """Yield remarks about the data, and what the larger class and the pace changed."""
        plan = self._plan
        yield (
            f"The claims are simulated. A file of {format_bytes(plan.played_bytes)} stands for "
            f"{format_bytes(plan.file_bytes)} in emulated time; the post tested with files of about 100 GB."
        )
        yield (
            f"The worker's disk writes and reads {format_bytes_per_s(story.WORKER_BYTES_PER_S)} by choice; the post gives "
            "no rate. So the ratio of the old path to the new one is a choice as well."
        )
        slow, fast, paced = (self._figures(n) for n in ("three-jobs", "larger-class", "paced"))
        if slow is not None and fast is not None:
            yield from self._larger_notes(slow, fast)
        if slow is not None and paced is not None:
            yield from _paced_notes(slow, paced)

    def _figures(self, name: str) -> ExperimentFigures | None:
        read = self.read.get(name)
        return None if read is None else read.run.figures

    def _larger_notes(self, slow: ExperimentFigures, fast: ExperimentFigures) -> Iterator[str]:
        before, after = (self.chain_of(self.read[name].run)[0] for name in ("three-jobs", "larger-class"))
        raised = after.baseline / before.baseline
        saved = [
            f"{name} {format_ratio(1 - new / old)} less"
            for name, old, new in (
                ("loading takes", slow.loading_minutes, fast.loading_minutes),
                ("refreshing", slow.refresh_minutes, fast.refresh_minutes),
                ("both together", slow.jobs_minutes, fast.jobs_minutes),
            )
            if old and new
        ]
        yield (
            f"With the larger class {', '.join(saved)} of the time here; the post says 83 % for loading and about 90 % "
            f"for refreshing. The baselines alone, {format_bytes_per_s(after.baseline)} instead of "
            f"{format_bytes_per_s(before.baseline)}, are {raised:.2f} times as much, which saves "
            f"{format_ratio(1 - 1 / raised)}."
        )
        spent = [
            (one.byte_balance_start - one.byte_balance_min) * stage.capacity
            for one, stage in ((slow, before), (fast, after))
            if one.byte_balance_start is not None and one.byte_balance_min is not None
        ]
        moved = [_moved_bytes(one) for one in (slow, fast)]
        if len(spent) == 2 and all(moved):
            shares = [format_ratio(a / b) for a, b in zip(spent, moved, strict=True)]
            yield (
                f"The rest is credits: they paid for {shares[0]} of the bytes with the old class and for {shares[1]} with "
                "the larger one, whose bucket and burst are larger too."
            )
        bytes_then = _PUBLISHED_REFRESH_S * before.baseline
        hours = (bytes_then - after.capacity) / after.baseline / _HOUR_S
        yield (
            f"The published refresh of 8 h is {format_bytes(bytes_then)} at {format_bytes_per_s(before.baseline)}. With a "
            f"full bucket the larger class needs {number(hours, 2)} h for them, so an hour is more than these limits explain."
        )


def _paced_notes(slow: ExperimentFigures, paced: ExperimentFigures) -> Iterator[str]:
    if not slow.jobs_minutes or not paced.jobs_minutes:
        return
    yield (
        f"At the pace of the allowance the same jobs took {number(paced.jobs_minutes, 2)} min instead of "
        f"{number(slow.jobs_minutes, 2)} min, on the same class."
    )


def _moved_bytes(figures: ExperimentFigures) -> float:
    """Return the bytes that were read and written in a phase, of the whole load."""
    rate = (figures.read_bytes_per_s or 0.0) + (figures.write_bytes_per_s or 0.0)
    return rate * figures.minutes * 60
