"""What a need grants: each condition, and that nothing unmeasured is a yes. The bundled data are simulated."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import plimsoll
from airflow_provider_plimsoll.need import BudgetNeed, judge

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def full() -> Any:
    """All credits are there, and others take little."""
    return plimsoll.read(EXAMPLES / "claims-pipeline")


def without(snapshot: Any, *words: str) -> Any:
    kept = {
        metric: series for metric, series in snapshot.series.items() if not any(word in metric.value for word in words)
    }
    return msgspec.structs.replace(snapshot, series=kept)


def test_a_rate_below_the_allowance_is_granted_and_one_above_is_not(full: Any):
    rate = plimsoll.allowance(full).unstepped_bytes_per_s
    below = judge(full, BudgetNeed(rate_bytes_per_s=0.9 * rate), None)
    above = judge(full, BudgetNeed(rate_bytes_per_s=1.1 * rate), None)

    assert (True, False) == (below.may_go, above.may_go)
    assert rate == below.bytes_per_s
    assert f"{rate / 1e6:,.1f} MB/s of input" in above.text


def test_a_batch_needs_its_size_in_its_time(full: Any):
    """The same batch fits into many hours and not into a minute."""
    gib = 20 * 3600 * plimsoll.allowance(full).unstepped_bytes_per_s / 2**30 / 100

    assert judge(full, BudgetNeed(batch_gib=gib, within_s=24 * 3600), None).may_go
    assert not judge(full, BudgetNeed(batch_gib=gib, within_s=60), None).may_go


def test_all_conditions_must_hold(full: Any):
    assert judge(full, BudgetNeed(balance_ratio=0.5, rate_bytes_per_s=1.0), None).may_go
    assert not judge(full, BudgetNeed(balance_ratio=0.5, rate_bytes_per_s=1e12), None).may_go


@pytest.mark.parametrize("words", [("balance",), ("read", "write"), ("byte_balance",), ("write_bytes",)])
def test_what_is_not_measured_is_no_yes(full: Any, words: tuple[str, ...]):
    """
    Without credits or without rates even the smallest need is not granted, and the answer says why.
    """
    part = without(full, *words)
    answer = judge(part, BudgetNeed(rate_bytes_per_s=1.0), None)

    assert len(part.series) < len(full.series)
    assert not answer.may_go
    assert answer.text


def test_old_metrics_are_no_yes(full: Any):
    now_s = full.window_s[1] + 3600.0
    answer = judge(full, BudgetNeed(rate_bytes_per_s=1.0), now_s)

    assert not answer.may_go
    assert "sample is" in answer.text


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"batch_gib": 1.0},
        {"within_s": 60.0},
        {"balance_ratio": 1.5},
        {"rate_bytes_per_s": 0.0},
        {"rate_bytes_per_s": 1.0, "reserve_ratio": 1.0},
    ],
)
def test_a_need_that_cannot_be_judged_is_refused(given: dict[str, float]):
    with pytest.raises(ValueError):
        BudgetNeed(**given)


def test_credits_come_back_sooner_if_others_take_less(full: Any):
    """The forecast of the retry goes by what others took before the batch began."""
    from plimsoll.kernel import Stage
    from plimsoll.load.pace.law.forecast import DeviceRate, time_to_hold_s

    stage = Stage(name="instance_ebs_throughput", baseline=100.0, burst=200.0, capacity=1e5, counts="bytes")

    def time_s(taken: float) -> float | None:
        rate = DeviceRate(start_s=0, end_s=60, bytes_per_s=taken, ops_per_s=taken / 10)
        return time_to_hold_s(stage, 0.1, 0.6, rate=rate, longest_s=86_400)

    assert pytest.approx(500, rel=0.01) == time_s(0.0)
    assert pytest.approx(1000, rel=0.01) == time_s(50.0)
    assert time_s(100.0) is None
