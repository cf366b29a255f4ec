"""
The progress of an experiment for a terminal or a log.

Rule: the scale is shown with every rate that it multiplies.
"""

from plimsoll_lab.model.experiment import ExperimentProgress
from plimsoll_lab.reports.lab.text import progress_line, progress_lines

# Column of the names, as in text.py.
_NAME = 17


def experiment_lines(progress: ExperimentProgress) -> list[str]:
    """Return the live display: the phase, the storage against its limits, the work and the database."""
    return [
        f"phase {progress.number} of {progress.count}: {progress.title} (scale 1:{progress.scale:g})",
        *progress_lines(progress.storage),
        f"{'jobs' if progress.work else 'service':<{_NAME}}{_work(progress)}; {_response(progress)}",
    ]


def experiment_line(progress: ExperimentProgress) -> str:
    """Return the same in one line, for a log."""
    return f"{progress_line(progress.storage)}; {_work(progress)}; {_response(progress)}"


def _work(progress: ExperimentProgress) -> str:
    if progress.work:
        return progress.work
    return "lag unknown" if progress.lag is None else f"lag {progress.lag:,.0f} events"


def _response(progress: ExperimentProgress) -> str:
    if progress.response_s is None:
        return "no response yet"
    return f"the database answers in {progress.response_s * 1e3:.0f} ms"
