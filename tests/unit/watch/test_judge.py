"""The end of the data, and what messages have besides their transition."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import builders
import watched
from plimsoll.model.metric import Metric
from plimsoll.watch.judge import Judge, data_end_of
from plimsoll.watch.law.evaluation import WatchedInstance
from plimsoll.watch.law.message import Message
from plimsoll.watch.law.rulebook import RuleTables
from plimsoll.watch.ledger import InstanceOutcome, RememberedInstance
from plimsoll.watch.targets import Computations
from scenes import EPOCH_S, TARGET, Scene
from watched import END_S, HOUR_S, MINUTE, START_S


def test_the_newest_minute_is_left_out_while_it_may_grow():
    """Only samples that end by then count."""
    found = watched.snapshot()

    assert data_end_of(found, END_S) == END_S
    assert data_end_of(found, END_S - 1) == END_S - MINUTE
    assert data_end_of(found, START_S) is None


def test_all_rates_must_have_come():
    """A minute that one of them lacks is not complete; a metric that stopped long ago holds nobody up."""
    late = builders.snapshot(
        {m: np.ones(60) for m in builders.RATES[:3]}, builders.series(Metric.WRITE_OPS_PER_S, np.ones(58))
    )
    dead = builders.snapshot(
        {m: np.ones(60) for m in builders.RATES[:3]}, builders.series(Metric.WRITE_OPS_PER_S, np.ones(30))
    )

    assert data_end_of(late, END_S) == START_S + 58 * MINUTE
    assert data_end_of(dead, END_S) == START_S + 60 * MINUTE


def test_without_rates_any_metric_tells_the_time():
    """And without a sample nothing does."""
    cpu = builders.snapshot({Metric.CPU_RATIO: np.ones(10)})

    assert data_end_of(cpu, END_S) == START_S + 10 * MINUTE
    assert data_end_of(builders.snapshot(), END_S) is None


AT_S = EPOCH_S + 20 * MINUTE
WORKING = {"advise": lambda *_: ("Look at it",), "draw": lambda *_: b"p"}


def judge_of(scene: Scene, log: Callable[..., None] | None = None, **other: object) -> Judge:
    """A judge of a scene, some of whose computations are others."""
    parts = {"diagnose": scene.diagnose} | WORKING | other
    return Judge(RuleTables(), Computations(**parts), runbook_base="", log=log or scene.log)  # type: ignore[arg-type]


def remembered(name: str) -> RememberedInstance:
    """An instance whose data were read a quarter of an hour ago."""
    instance = WatchedInstance(account="", region="", name=name)
    return RememberedInstance(instance=instance, target=TARGET, data_end_s=AT_S - 15 * MINUTE)


def outcome_of(judge: Judge, record: RememberedInstance) -> InstanceOutcome:
    """What follows from three hours of data."""
    snapshot = watched.snapshot(start_s=AT_S - 3 * HOUR_S, minutes=180)
    return judge.of_data(snapshot, record, [], (), at_s=AT_S, window_s=3 * HOUR_S)


def test_only_the_first_messages_of_a_round_have_advice_and_a_picture(tmp_path: Path):
    """Fifteen instances reach a ceiling in one round: all are told, twelve with advice; in the next round all again."""
    judge = judge_of(Scene(tmp_path, "b" * 30))

    def bound(number: int) -> Message:
        outcome = outcome_of(judge, remembered(f"orders-{number}"))
        (message,) = (m for m in outcome.messages if m.rule == "bound")
        return message

    first = [bound(number) for number in range(15)]
    judge.begin_round()

    assert [bool(one.advice and one.picture_png) for one in first] == [True] * 12 + [False] * 3
    assert bound(15).advice == ("Look at it",)


def failing(*_: object) -> None:
    """Fail as our own mistakes do."""
    raise IndexError


@pytest.mark.usefixtures("contained")
@pytest.mark.parametrize("part", ["diagnose", "advise", "draw"])
def test_an_internal_error_costs_a_reading_its_part(part: str, tmp_path: Path):
    """Without advice or a picture the message goes out; an instance that cannot be judged is silent, with the reason."""
    lines: list[tuple[str, dict[str, object]]] = []
    log = lambda event, **fields: lines.append((event, fields))  # noqa: E731
    judge = judge_of(Scene(tmp_path, "b" * 30), log, **{part: failing})
    record = remembered("orders")
    outcomes = [outcome_of(judge, record) for _ in range(2)]

    said = [fields["error"] for event, fields in lines if "could not be evaluated" in event]
    assert len(said) == 1
    assert str(said[0]).startswith("internal error IndexError")
    if part == "diagnose":
        assert outcomes[0].record.reason.startswith("it could not be judged: internal error")
        assert outcomes[0].record.data_end_s == record.data_end_s
    else:
        assert [m.rule for m in outcomes[0].messages] == ["bound"]
