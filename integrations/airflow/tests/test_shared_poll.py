"""Many triggers in one process: one reading an interval, and an event loop that is never blocked."""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from account import IDLE, CountingProxy, create, put
from world import PATIENCE_S, until

import plimsoll
from airflow_provider_plimsoll import polls
from airflow_provider_plimsoll.need import BudgetAnswer, BudgetNeed
from airflow_provider_plimsoll.polls import Reading, SharedPoll
from airflow_provider_plimsoll.triggers.io_budget import IoBudgetTrigger

INTERVAL_S = 2.0
# Each answer of the double takes at least so long.
ANSWER_S = 0.5
CROWD = 1000
EXAMPLES = Path(__file__).parents[3] / "examples"


def trigger(number: int = 0, *, until_s: float = 0.0, **more: Any) -> IoBudgetTrigger:
    """Return one that wants more credits than there are; every tenth has a need of its own."""
    given = {
        "plimsoll_conn_id": "plimsoll_default",
        "target": "rds:crowd",
        "need": {"balance_ratio": 0.9 + number % 10 / 1000},
        "interval_s": INTERVAL_S,
        "until_s": until_s or time.time() + 600,
        **more,
    }
    return IoBudgetTrigger(**given)


async def event_of(one: IoBudgetTrigger) -> dict[str, Any]:
    async for event in one.run():
        return event.payload
    raise AssertionError("no event")


def test_a_thousand_sensors_ask_once_an_interval_and_all_go(
    aws: CountingProxy, servers: dict[str, str], connections: dict[str, str]
):
    """
    A thousand triggers, ten different needs: as many readings as one trigger alone would make.
    """

    async def crowd() -> tuple[list[dict[str, Any]], int]:
        waiting = [asyncio.create_task(event_of(trigger(number))) for number in range(CROWD)]
        await asyncio.to_thread(until, lambda: aws.count("GetMetricData", "crowd") >= 4, "readings")
        still = sum(not one.done() for one in waiting)
        await asyncio.to_thread(put, servers["aws"], "crowd", IDLE, 99.9, range(-10, 2))
        events = await asyncio.gather(*waiting)
        return events, still

    aws.delay_s = ANSWER_S
    began_s = time.time()
    try:
        events, still = asyncio.run(crowd())
    finally:
        aws.delay_s = 0.0
    times = aws.times("GetMetricData", "crowd", began_s)
    described = aws.times("DescribeDBInstances", "crowd", began_s)

    assert CROWD == still
    assert {"go"} == {event["status"] for event in events}
    assert len(described) <= (described[-1] - began_s) / INTERVAL_S + 1
    assert len(times) <= 2 * len(described)


class Gate:
    """Holds a function that blocks until it is let through, and notes the threads that call it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.loop_thread = 0
        self.threads: set[int] = set()
        self.begun, self.open = threading.Event(), threading.Event()

    def __call__(self, *arguments: Any) -> Any:
        thread = threading.get_ident()
        self.threads.add(thread)
        self.begun.set()
        # On the loop nobody could open it.
        assert thread == self.loop_thread or self.open.wait(PATIENCE_S)
        return self._function(*arguments)


@pytest.mark.parametrize("name", ["read_now", "judge"])
def test_the_loop_goes_on_while_a_reading_or_its_judgement_blocks(
    name: str, connections: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    """Both run in other threads than the loop's, which takes its turns meanwhile."""
    gate = Gate(getattr(polls, name))
    monkeypatch.setattr(polls, name, gate)

    async def held() -> tuple[bool, list[dict[str, Any]]]:
        gate.loop_thread = threading.get_ident()
        need = {"rate_bytes_per_s": 1.0}
        some = [trigger(target=str(EXAMPLES / "claims-pipeline"), need=need) for _ in range(3)]
        waiting = [asyncio.create_task(event_of(one)) for one in some]
        await asyncio.to_thread(
            until, lambda: gate.begun.is_set() or any(one.done() for one in waiting), f"a call of {name}"
        )
        for _ in range(100):
            await asyncio.sleep(0)
        nobody_went = not any(one.done() for one in waiting)
        gate.open.set()
        return nobody_went, await asyncio.gather(*waiting)

    nobody_went, events = asyncio.run(held())

    assert gate.threads
    assert gate.loop_thread not in gate.threads
    assert nobody_went
    assert ["go"] * 3 == [event["status"] for event in events]


def test_who_comes_later_gets_no_old_reading():
    """A poll that nobody waited for begins again: what it read before says nothing of now."""
    interval_s = 0.1
    readings: list[Reading] = []

    def read() -> Reading:
        readings.append(Reading(None, None))
        return readings[-1]

    async def twice() -> tuple[Reading, Reading, Reading]:
        poll = SharedPoll(read, interval_s)
        poll.enter()
        first = await poll.after(None)
        # Another who begins to wait in the same interval.
        same = await poll.after(None)
        poll.leave()
        await asyncio.sleep(5 * interval_s)
        poll.enter()
        later = await poll.after(None)
        poll.leave()
        return first, same, later

    first, same, later = asyncio.run(twice())

    assert first is same
    assert later is not first


def test_a_poll_that_starts_again_waits_for_a_new_reading():
    """One and a half intervals later the old reading is not offered while the new one is made."""
    interval_s = 0.4
    again = threading.Event()
    readings: list[Reading] = []

    def read() -> Reading:
        assert not readings or again.wait(PATIENCE_S)
        readings.append(Reading(None, None))
        return readings[-1]

    async def twice() -> tuple[Reading, bool, Reading]:
        poll = SharedPoll(read, interval_s)
        poll.enter()
        first = await poll.after(None)
        poll.leave()
        await asyncio.sleep(1.5 * interval_s)
        poll.enter()
        waiting = asyncio.create_task(poll.after(None))
        await asyncio.sleep(0)
        has_waited = not waiting.done()
        again.set()
        later = await waiting
        poll.leave()
        return first, has_waited, later

    first, has_waited, later = asyncio.run(twice())

    assert has_waited
    assert later is not first


@pytest.mark.parametrize(("later_s", "may_go"), [(0.0, True), (120.0, True), (1200.0, False), (86_400.0, False)])
def test_a_yes_must_hold_at_the_present_time(later_s: float, may_go: bool, monkeypatch: pytest.MonkeyPatch):
    """The same reading is asked at once, and later: an answer of before is no answer for now."""
    full = plimsoll.read(EXAMPLES / "claims-pipeline")
    # A minute later all samples are complete.
    read_s = full.window_s[1] + 60.0
    reading, need = Reading(full, read_s), BudgetNeed(rate_bytes_per_s=1.0)

    async def asked_twice() -> list[BudgetAnswer]:
        found = []
        for now_s in (read_s, read_s + later_s):
            monkeypatch.setattr(polls.time, "time", lambda now_s=now_s: now_s)
            found.append(await reading.answer(need))
        return found

    soon, late = asyncio.run(asked_twice())

    assert soon.may_go
    assert may_go is late.may_go
    assert may_go or "sample is" in late.text


def test_a_minute_that_was_read_half_full_stays_left_out(monkeypatch: pytest.MonkeyPatch):
    """It was incomplete when it was read, and judging it later does not complete it."""
    full = plimsoll.read(EXAMPLES / "claims-pipeline")
    read_s = full.window_s[1] + 1.0
    need = BudgetNeed(rate_bytes_per_s=1.0)
    monkeypatch.setattr(polls.time, "time", lambda: read_s + 120.0)
    answer = asyncio.run(Reading(full, read_s).answer(need))

    assert polls.judge(full, need, read_s) == answer
    assert polls.judge(full, need, read_s + 120.0) != answer


def test_it_is_the_same_after_a_round_trip():
    one = trigger(3)
    path, given = one.serialize()

    assert "airflow_provider_plimsoll.triggers.io_budget.IoBudgetTrigger" == path
    assert one.serialize() == IoBudgetTrigger(**given).serialize()


def test_an_instance_without_metrics_is_waited_for_and_the_sentence_says_so(
    aws: CountingProxy, servers: dict[str, str], connections: dict[str, str]
):
    """Nothing measured is never a yes."""
    create(servers["aws"], "silent")
    one = trigger(target="rds:silent", need={"rate_bytes_per_s": 1.0}, until_s=time.time())
    event = asyncio.run(event_of(one))

    assert "timeout" == event["status"]
    assert "CloudWatch has no sample of 'silent'" in event["text"]


def test_an_account_that_does_not_answer_is_waited_for(connections: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    event = asyncio.run(event_of(trigger(until_s=time.time())))

    assert "timeout" == event["status"]
    assert event["text"].startswith("the metrics cannot be read: ")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"target": "rds:nobody"}, "nobody"),
        ({"plimsoll_conn_id": "absent"}, "absent"),
        ({"target": "nothing/here.json"}, "does not exist"),
    ],
)
def test_what_waiting_does_not_mend_is_an_error(
    given: dict[str, Any], text: str, aws: CountingProxy, connections: dict[str, str]
):
    event = asyncio.run(event_of(trigger(**given)))

    assert "error" == event["status"]
    assert text in event["text"]
    assert "\n" not in event["text"]
