"""The examples beside each other, as people see them: before and after a change."""

import importlib.util
from collections.abc import Callable
from functools import cache
from types import ModuleType

import pytest

from alike import is_alike
from contract.tree import ROOT
from plimsoll.app.compare import compare_snapshots, read_sides
from plimsoll.app.options import InstanceOptions, ReadOptions, Split
from plimsoll.app.render import render
from plimsoll.model.comparison import Comparison, LimitsOutcome, MeasuredQuantity, WindowStatistic
from plimsoll.model.snapshot_file.codec import encode_snapshot
from plimsoll.reports.compare.json import render_compare_json

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


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", CASES)
def test_the_text_reads_as_reviewed(name: str, width: int, golden: Callable[[str, str], None]):
    """At 80 and at 120 columns without colour, the whole comparison is what was reviewed."""
    golden(f"compare/{name}-{width}.txt", render(of(name), width=width))


@pytest.mark.parametrize("name", CASES)
def test_the_markdown_reads_as_reviewed(name: str, golden: Callable[[str, str], None]):
    """What goes into a ticket is what was reviewed."""
    golden(f"compare/{name}.md", render(of(name), "markdown"))


@pytest.mark.parametrize("name", ["claims-pipeline", "search-service"])
def test_the_json_is_as_reviewed(name: str, golden: Callable[[str, str], None]):
    """What machines read is what was reviewed: with shared hours, and with what was bought."""
    golden(f"compare/{name}.json", render_compare_json(of(name)).decode())


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
    made = sequel()
    committed = (EXAMPLES / made.NAME / "snapshot.json").read_text(encoding="utf-8")

    assert is_alike(committed, encode_snapshot(made.search_service_after()).decode() + "\n")


def sequel() -> ModuleType:
    """The script that makes the example after the change."""
    spec = importlib.util.spec_from_file_location("reconstruct_after", EXAMPLES / "reconstruct_after.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
