"""The examples beside each other, as people see them: before and after a change."""

from functools import cache

import pytest

from alike import is_alike
from contract.tree import ROOT
from golden.together import script
from plimsoll.app.compare import compare_snapshots, read_sides
from plimsoll.app.options import InstanceOptions, ReadOptions, Split
from plimsoll.model.comparison import Comparison, LimitsOutcome, MeasuredQuantity, WindowStatistic
from plimsoll.model.snapshot_file.codec import encode_snapshot

EXAMPLES = ROOT / "examples"
# A change of class; the hours after the loads of a night beside those of the loads; and nothing.
CASES = {
    "search-service": ("search-service", "search-service-after", None),
    "claims-pipeline": ("claims-pipeline", None, "2023-02-14T14:30Z"),
    "quiet": ("quiet", "quiet", None),
}


@cache
def of(name: str) -> Comparison:
    """The comparison of a case, read as the command line would."""
    before, after, at = CASES[name]
    targets = (str(EXAMPLES / before), str(EXAMPLES / after) if after else None)
    none = InstanceOptions()
    return compare_snapshots(*read_sides(targets, Split(at=at), (none, none), ReadOptions()))


def test_the_search_service_gained_what_was_published():
    """Story 1: reads from 5 to 1 ms, writes from 100 to 15 ms, 213 MB/s by day to 325 MB/s."""
    found = of("search-service")
    by_name = {(q.subject, q.statistic): (q.before, q.after) for q in (found.quantities)}
    reads, writes = (
        by_name[subject, WindowStatistic.MEDIAN]
        for subject in (MeasuredQuantity.READ_LATENCY, MeasuredQuantity.WRITE_LATENCY)
    )
    middle = by_name[MeasuredQuantity.THROUGHPUT, WindowStatistic.MEDIAN]

    assert LimitsOutcome.BETTER is found.outcome
    assert reads == (pytest.approx(0.005, rel=0.2), pytest.approx(0.001, rel=0.05))
    assert writes == (pytest.approx(0.1, rel=0.2), pytest.approx(0.015, rel=0.05))
    assert middle == (pytest.approx(213e6, rel=0.01), pytest.approx(325e6, rel=0.05))


def test_the_script_reproduces_the_committed_snapshot(monkeypatch: pytest.MonkeyPatch):
    """Equal seeds give equal files, to twelve digits on every processor."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    made = script("reconstruct_after")
    committed = (EXAMPLES / made.NAME / "snapshot.json").read_text(encoding="utf-8")

    assert is_alike(committed, encode_snapshot(made.search_service_after()).decode() + "\n")
