"""The order of the phases, on a ground and with a clock that are not there."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from plimsoll_lab.experiments.pooled_cluster import play as playing
from plimsoll_lab.experiments.pooled_cluster.ground import PooledPlan
from plimsoll_lab.experiments.pooled_cluster.play import PooledEdges, PooledRun, play
from plimsoll_lab.experiments.pooled_cluster.story import fleet_of, phases_of
from pooled_reports import FIGURES


class NoProbe:
    """Sessions that nobody counts."""

    def __init__(self, *_given) -> None:
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_error) -> None:
        pass


@pytest.mark.parametrize(("proved", "played"), [(8, 8), (7, 8), (1, 2), (0, 1)])
def test_no_phase_follows_one_that_proves_nothing(monkeypatch, proved: int, played: int):
    """The phase that proves nothing is the last one."""
    found: list[str] = []
    lines: list[str] = []

    def end_phase(run: PooledRun) -> bool:
        found.append(run.phase.name)
        return len(found) <= proved

    ground = SimpleNamespace(dsn="", pooler_url="", versions="", services=object(), end_services=lambda: None)
    monkeypatch.setattr(playing, "prepare", lambda *_: ground)
    monkeypatch.setattr(playing, "SessionProbe", NoProbe)
    monkeypatch.setattr(playing._StormPlay, "_begin", lambda *_: None)
    monkeypatch.setattr(playing._StormPlay, "_sized", lambda _: None)
    monkeypatch.setattr(
        playing,
        "watched",
        lambda phase, place, _: PooledRun(
            phase=phase, fleet=place.fleet, figures=FIGURES, samples=(), observation=None, sizing=None
        ),
    )
    phases = phases_of(is_quick=True)
    edges = PooledEdges(
        report_progress=lambda _: None,
        print_line=lines.append,
        watch=lambda *_: lambda: None,
        size=lambda _: None,
        end_phase=end_phase,
    )

    play(PooledPlan(phases=phases, fleet=fleet_of(10.0), system=Path(), unmended=Path()), edges)

    assert [phase.name for phase in phases[:played]] == found
    left = [line for line in lines if "would prove nothing" in line]
    assert [f"nothing: {8 - played}"] * (played < 8) == [line[-10:] for line in left]
