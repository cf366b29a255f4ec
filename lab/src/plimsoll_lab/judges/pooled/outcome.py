"""
What the experiment with the pooled cluster reached at its end, compared with the storm.

Rule: what was not played is missing, never zero.
"""

import os
from collections.abc import Sequence

from plimsoll_lab.experiments.pooled_cluster import story
from plimsoll_lab.experiments.pooled_cluster.figures import carried_per_s
from plimsoll_lab.experiments.pooled_cluster.play import PooledRun
from plimsoll_lab.experiments.pooled_cluster.story import Expected
from plimsoll_lab.model.pooled import PooledOutcome

# The storm is the time from which arrivals are too many until the clients leave.
_STORM = (Expected.STORM, Expected.PILE_UP)


def outcome_of(runs: Sequence[PooledRun]) -> PooledOutcome | None:
    """
    Return the outcome; None if the storm or the end was not played.

    Args:
        runs: the phases that were played, in order.
    """
    storm = [run for run in runs if run.phase.expected in _STORM]
    end, other = (
        next((run for run in runs if run.phase.expected is expected), None)
        for expected in (Expected.SIZED, Expected.OTHER_POOLER)
    )
    if not storm or end is None:
        return None
    seconds = sum(run.figures.seconds for run in storm)
    useful = sum(run.figures.useful_per_s * run.figures.seconds for run in storm)
    return PooledOutcome(
        target_per_s=end.phase.rate,
        carried_per_s=carried_per_s(end.figures),
        storm_useful_per_s=useful / seconds,
        end_queries_per_s=end.figures.queries_per_s,
        end_useful_per_s=end.figures.useful_per_s,
        other_useful_per_s=None if other is None else other.figures.useful_per_s,
        queries_wanted_per_s=story.QUERIES_WANTED_PER_S,
        ratio_wanted=story.RATIO_WANTED,
        processors=end.figures.processors,
        processor_count=os.cpu_count() or 1,
    )
