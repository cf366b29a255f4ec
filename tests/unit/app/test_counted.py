"""`--counts FILE`: metrics of an application, read with those of the storage."""

from pathlib import Path

import numpy as np
import pytest

import builders
from plimsoll.app.read import with_counts
from plimsoll.errors import DataError
from plimsoll.model.metric import Metric

MEASURED = builders.snapshot({Metric.READ_OPS_PER_S: np.full(120, 500.0)})


def table(folder: Path, *, start_s: int = builders.START_S, column: str = "arrivals_per_s") -> Path:
    """Two hours of a column by the minute, as CSV with times in UTC."""
    lines = [f"time,{column}"]
    for step in range(120):
        moment = np.datetime64(start_s + 60 * step, "s")
        lines.append(f"{moment}Z,{step}")
    file = folder / "app.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_series_of_the_same_time_are_added(tmp_path: Path):
    """What came stands beside what was served; what was measured stays."""
    both = with_counts(MEASURED, [table(tmp_path)])

    assert both.series[Metric.ARRIVALS_PER_S].value.tolist() == list(range(120))
    assert both.series[Metric.READ_OPS_PER_S] == MEASURED.series[Metric.READ_OPS_PER_S]


@pytest.mark.parametrize(
    ("given", "cause", "hint"),
    [
        # The window it reaches over is said.
        ({"start_s": builders.START_S + 86_400}, "covers none of the time", "2021-03-09"),
        # The measured series win, and the names that would be of use are given.
        ({"column": "ReadIOPS"}, "no metric that the target lacks: read_ops_per_s", "arrivals_per_s"),
    ],
)
def test_a_file_that_brings_nothing_new_is_refused(tmp_path: Path, given: dict, cause: str, hint: str):
    with pytest.raises(DataError, match=cause) as raised:
        with_counts(MEASURED, [table(tmp_path, **given)])

    assert hint in str(raised.value.hint)
