"""
Play the incident of the search service, and judge what Plimsoll says about each phase.

Each phase is read back from the account over HTTP, as `rds:search-service`, and then diagnosed, inspected, planned and
compared by the functions that the commands use.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from plimsoll.app.compare import compare_snapshots
from plimsoll.app.explain import record_server
from plimsoll.app.inspect import inspect_for_diagnosis
from plimsoll.app.observing import Observing
from plimsoll.app.options import StatementChoice
from plimsoll.catalog.load import Catalog, catalog
from plimsoll.model.cause import Inspection
from plimsoll.model.comparison import Comparison
from plimsoll.model.explain import CaptureFile
from plimsoll.units import format_bytes
from plimsoll_lab.experiments.search_service import story
from plimsoll_lab.experiments.search_service.ground import SearchPlan
from plimsoll_lab.experiments.search_service.play import SearchEdges, play
from plimsoll_lab.judges import checks
from plimsoll_lab.judges.judge import ExperimentJudge, ReadPhase, plan_of, played
from plimsoll_lab.model.experiment import Check, ExperimentProgress, ExperimentReport

# At a ceiling a statement takes seconds; longer than this, it would outlast the phase.
_EXPLAIN_TIMEOUT_S = 30
_REMEDY_CLASS = "db.r5.4xlarge"


def play_search_service(
    plan: SearchPlan,
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
        UsageError: FUSE, Java, Maven, make or the service is missing, or there is too little space.
        SourceError: a server or a program of the service did not start, or ended.
        KeyboardInterrupt: it was interrupted before the first phase was over.
    """
    facts = catalog()
    judge = _SearchJudge(plan, facts, print_line, keep)
    edges = SearchEdges(
        watch=lambda dsn: Observing(dsn, print_line).end,
        explain=_explained,
        report_progress=report_progress,
        print_line=print_line,
        end_phase=judge.add,
    )
    return played(judge, lambda: play(plan, facts, edges))


class _SearchJudge(ExperimentJudge):
    name, title, source = story.NAME, story.TITLE, story.SOURCE

    def __init__(self, plan: SearchPlan, facts: Catalog, print_line: Callable[[str], None], keep: Path | None) -> None:
        super().__init__(facts, print_line, keep, scale=plan.scale, clock=plan.clock)
        self._plan = plan

    def notes(self) -> Iterator[str]:
        plan = self._plan
        yield (
            f"{plan.assets:,} documents of 9 kB, {format_bytes(plan.memory_bytes)} of memory. The post had a few hundred "
            "million rows of TOAST."
        )

    def checks_of(self, found: ReadPhase) -> Iterator[Check]:
        """Yield what is expected of a phase besides its limit."""
        name, inspection = found.run.phase.name, self._inspected(found)
        if found.run.phase.binds != "none":
            yield checks.not_iops_check(found.diagnosis)
        if name in ("whole-documents", "more-iops", "vacuum-cancelled"):
            yield checks.cause_check(inspection, rewrites=True)
        if name == "whole-documents":
            captures = [self._captures(one) for one in ("healthy", name)]
            yield checks.plans_check(*captures)
            yield checks.plan_check(plan_of(found), names=(_REMEDY_CLASS,))
        if name == "more-iops":
            compared = self._compared("whole-documents", found)
            yield checks.comparison_check(compared, was_enough=False)
        if isinstance(found.run.phase, story.StoryPhase) and name == "vacuum-cancelled":
            first, second, _ = (segment.minutes for segment in found.run.phase.segments)
            window_s = found.run.window_s
            yield checks.relief_check(found.diagnosis, window_s, (first, first + second))
        if name == "dirty-tracking":
            yield checks.cause_check(inspection, rewrites=False)
        if name == "larger-class":
            compared = self._compared("restarted", found)
            yield checks.comparison_check(compared, was_enough=True)

    def _inspected(self, found: ReadPhase) -> Inspection | None:
        run = found.run
        if run.observation is None:
            return None
        # The database runs one part of the load, so its bytes are compared with one part of the ceiling.
        return inspect_for_diagnosis(found.diagnosis, run.observation, run.credit_clock, parts=self._plan.scale)

    def _captures(self, name: str) -> CaptureFile | None:
        read = self.read.get(name)
        return None if read is None else read.run.captures

    def _compared(self, before: str, after: ReadPhase) -> Comparison | None:
        read = self.read.get(before)
        return None if read is None else compare_snapshots(read.snapshot, after.snapshot)


def _explained(dsn: str, statement: str, value: str) -> CaptureFile:
    choice = StatementChoice(statements=(statement,), parameters=(value,), timeout=f"{_EXPLAIN_TIMEOUT_S}s")
    return record_server(dsn, choice, sleep=time.sleep, now_s=time.time())


def default_system() -> Path:
    """Return the folder of the search service in a clone of the repository."""
    return Path(__file__).parents[4] / "systems" / story.NAME
