"""An allowance, as people see it."""

from collections.abc import Callable

import pytest

from contract.tree import ROOT
from paced import COUNTED, T3, slow_truth
from plimsoll.app.options import InstanceOptions, PaceTarget
from plimsoll.app.pace import pace_report
from plimsoll.app.render import render
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.pace.law.truths import FastTruth
from plimsoll.model.pace import PaceReport


def without_metrics() -> PaceReport:
    controller = PaceController(T3, PaceTerms())
    return PaceReport(identifier="orders", source="a test", is_simulated=True, allowance=controller.allowance(0))


def with_counters_and_a_peer() -> PaceReport:
    controller = PaceController(T3, PaceTerms(reserve_ratio=0.5), notes=("one more thing",))
    controller.observe_slow(slow_truth(balance=0.8))
    controller.observe_fast(COUNTED)
    controller.observe_fast(FastTruth(start_s=1, end_s=2, batch_bytes=1e6, peers_bytes_per_s=(2e6,)))
    return PaceReport(identifier="orders", source="a test", is_simulated=True, allowance=controller.allowance(100))


def nothing_left() -> PaceReport:
    controller = PaceController(T3, PaceTerms())
    controller.observe_slow(slow_truth(bytes_per_s=340e6, balance=0.1))
    return PaceReport(identifier="orders", source="a test", is_simulated=True, allowance=controller.allowance(0))


CASES = {"no-metrics": without_metrics, "counters": with_counters_and_a_peer, "nothing-left": nothing_left}


@pytest.mark.parametrize("width", [60, 110])
@pytest.mark.parametrize("name", CASES)
def test_the_text_reads_as_reviewed(name: str, width: int, golden: Callable[[str, str], None]):
    """Narrow and wide, without colour."""
    golden(f"pace/{name}-{width}.txt", render(CASES[name](), width=width, color=False))


def test_an_old_instance_is_paced_by_its_legacy_limits(golden: Callable[[str, str], None]):
    """And the report says so."""
    target = PaceTarget(target=str(ROOT / "examples/search-service"), instance=InstanceOptions(launched="2019-06-01"))
    golden("pace/legacy-110.txt", render(pace_report(target, PaceTerms()), width=110, color=False))
