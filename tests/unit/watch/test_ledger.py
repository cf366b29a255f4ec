"""What the watch remembers."""

import os
import sqlite3
import stat
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

import watched
from plimsoll.errors import UsageError
from plimsoll.model.ceiling import Family
from plimsoll.watch.law.days import DAY_S, DaySummary
from plimsoll.watch.law.machine import Standing
from plimsoll.watch.law.message import Message, WatchState
from plimsoll.watch.ledger import (
    InstanceOutcome,
    LeaseLostError,
    Ledger,
    LedgerError,
    QueuedMessage,
    RememberedInstance,
)

RECORD = RememberedInstance(instance=watched.INSTANCE, target="rds:*", data_end_s=watched.END_S)
NOW_S = 1_000_000.0
DAY = DaySummary(day=10, family=Family.CPU, high_s=60.0, measured_s=600.0, peak_ratio=0.9)


def outcome(*numbers: int, key: str = "k" * 16) -> InstanceOutcome:
    """What follows from a reading with these transitions, all of them announced."""
    return InstanceOutcome(
        record=RECORD,
        standings=(Standing(subject=watched.SUBJECT, at_s=watched.END_S),),
        days=(DAY,),
        messages=tuple(watched.message(n, key=key) for n in numbers),
        announced=frozenset((key, n) for n in numbers),
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A new one, whose lease is ours."""
    found = Ledger(tmp_path / "l.db", owner="me")
    assert found.take_lease(NOW_S)
    return found


def first_due(ledger: Ledger, receiver: str = "ops", *, now_s: float = NOW_S) -> QueuedMessage:
    """The message that a receiver is to get next."""
    found = ledger.due(receiver, now_s=now_s, longest_wait_s=3600.0)
    assert found is not None
    return found


def due(ledger: Ledger, *, now_s: float = NOW_S) -> int | None:
    """The number of the message that is due."""
    found = ledger.due("ops", now_s=now_s, longest_wait_s=3600.0)
    return None if found is None else found.message.number


def test_what_is_stored_is_there_after_a_restart(ledger: Ledger, tmp_path: Path):
    """Another connection finds record, standings, days and the messages that wait."""
    ledger.store(outcome(1), ["ops"], now_s=NOW_S)
    ledger.store(outcome(), ["ops"], now_s=NOW_S)

    with Ledger(tmp_path / "l.db", owner="other") as again:
        assert again.records() == [RECORD]
        assert again.standings(watched.INSTANCE) == list(outcome().standings)
        (day,) = again.days(watched.INSTANCE, 10)
        assert (day.high_s, day.measured_s) == (120.0, 1200.0)
        assert again.days(watched.INSTANCE, 11) == ()
        assert due(again) == 1
        assert again.waiting_count() == 1


def test_a_picture_is_kept_for_as_long_as_somebody_waits_for_it(ledger: Ledger):
    """Until the last receiver has it; and never where nobody gets the message."""

    def kept() -> bytes:
        rows = ledger._db.execute("SELECT message FROM transitions").fetchall()
        return b"".join(msgspec.json.decode(row[0], type=Message).picture_png for row in rows)

    unheard, heard = (
        replace(one, messages=tuple(replace(message, picture_png=b"png") for message in one.messages))
        for one in (outcome(1), outcome(1, key="o" * 16))
    )
    ledger.store(replace(unheard, announced=frozenset()), ["ops"], now_s=NOW_S)
    assert kept() == b""
    ledger.store(heard, ["ops", "mail"], now_s=NOW_S)
    for receiver, left in (("ops", b"png"), ("mail", b"")):
        queued = first_due(ledger, receiver)
        assert queued.message.picture_png == b"png"
        ledger.mark_sent(queued, "", now_s=NOW_S)
        assert kept() == left


def test_all_or_nothing(ledger: Ledger):
    """A transition that is there already is refused, and nothing else of the same reading is written."""
    ledger.store(outcome(1), ["ops"], now_s=NOW_S)
    later = replace(RECORD, data_end_s=watched.END_S + 60)

    with pytest.raises(LedgerError):
        ledger.store(replace(outcome(2, 1), record=later), ["ops"], now_s=NOW_S)

    assert ledger.records() == [RECORD]
    assert ledger.waiting_count() == 1


def test_messages_of_an_episode_go_in_order(ledger: Ledger):
    """The second waits until the first is sent, also while the first waits for its next try."""
    ledger.store(outcome(1, 2), ["ops"], now_s=NOW_S)
    first = first_due(ledger)
    ledger.claim(first, due_s=NOW_S + 5)
    ledger.mark_failed(first, "no", due_s=NOW_S + 5)

    assert due(ledger) is None
    assert due(ledger, now_s=NOW_S + 5) == 1
    ledger.mark_sent(first, "thread 7", now_s=NOW_S + 6)
    second = first_due(ledger)
    assert (second.message.number, second.identity) == (2, "thread 7")


def test_a_clock_that_was_set_back_delays_nothing(ledger: Ledger):
    """A message that would be due later than the longest wait is due now."""
    ledger.store(outcome(1), ["ops"], now_s=NOW_S)
    queued = first_due(ledger)
    ledger.mark_failed(queued, "no", due_s=NOW_S + 600)

    assert due(ledger, now_s=NOW_S + 1) is None
    assert due(ledger, now_s=NOW_S - 3600) == 1


def test_one_lease_one_owner(ledger: Ledger, tmp_path: Path):
    """Another process gets the lease when it has run out or was given up, and not before."""
    with Ledger(tmp_path / "l.db", owner="other") as other:
        assert not other.take_lease(NOW_S + 59)
        assert ledger.take_lease(NOW_S + 59)
        assert not other.take_lease(NOW_S + 118)
        assert other.take_lease(NOW_S + 120)
        assert not ledger.take_lease(NOW_S + 121)
        other.release_lease()
        assert ledger.take_lease(NOW_S + 121)


def test_a_spare_that_waited_for_the_file_takes_nothing(ledger: Ledger, tmp_path: Path):
    """It looked at the clock before the owner renewed the lease, and reads the lease after that."""
    with Ledger(tmp_path / "l.db", owner="other") as other:
        assert ledger.take_lease(NOW_S + 9)
        assert not other.take_lease(NOW_S)


@pytest.mark.parametrize("step_s", [3600.0, -3600.0])
def test_a_step_of_the_clock_never_makes_two_owners(ledger: Ledger, tmp_path: Path, step_s: float):
    """Whoever is first after the step has the lease; the other one writes nothing."""
    with Ledger(tmp_path / "l.db", owner="other") as other:
        assert other.take_lease(NOW_S + step_s)
        with pytest.raises(LeaseLostError):
            ledger.store(outcome(1), ["ops"], now_s=NOW_S + step_s)
        assert not ledger.take_lease(NOW_S + step_s)
        assert ledger.waiting_count() == 0


def test_the_former_owner_sends_nothing(ledger: Ledger, tmp_path: Path):
    """A message is claimed by the owner of the lease only."""
    ledger.store(outcome(1), ["ops"], now_s=NOW_S)
    queued = first_due(ledger)
    with Ledger(tmp_path / "l.db", owner="other") as other:
        assert other.take_lease(NOW_S + 61)

    with pytest.raises(LeaseLostError):
        ledger.claim(queued, due_s=NOW_S)


def test_the_newest_message_is_repeated(ledger: Ledger):
    """For receivers that forget: every so often while the episode is open."""
    ledger.store(outcome(1), ["ops"], now_s=NOW_S)
    queued = first_due(ledger)
    ledger.mark_sent(queued, "", now_s=NOW_S)

    def repeated(now_s: float) -> int | None:
        found = ledger.repeat("ops", now_s=now_s, every_s=60.0, resolved_for_s=300.0)
        return None if found is None else found.message.number

    assert repeated(NOW_S + 59) is None
    assert repeated(NOW_S + 60) == 1
    ledger.note_repeat(queued, now_s=NOW_S + 60)
    assert repeated(NOW_S + 119) is None
    ended = replace(watched.message(2, key="k" * 16), state=WatchState.OK)
    ledger.store(replace(outcome(2), messages=(ended,)), ["ops"], now_s=NOW_S + 61)
    assert repeated(NOW_S + 200) is None
    ledger.mark_sent(first_due(ledger, now_s=NOW_S + 61), "", now_s=NOW_S + 61)
    assert repeated(NOW_S + 121) == 2
    assert repeated(NOW_S + 361) is None


def test_old_episodes_are_forgotten_and_what_waits_is_not(ledger: Ledger):
    """After a season; an episode that is open, or whose message was not sent, stays."""
    ended = replace(watched.message(2, key="k" * 16), state=WatchState.OK)
    closed = replace(outcome(1, 2), messages=(watched.message(1, key="k" * 16), ended))
    ledger.store(closed, [], now_s=NOW_S)
    ledger.store(outcome(1, key="open" * 4), ["ops"], now_s=NOW_S)
    later_s = watched.END_S + 91.0 * DAY_S

    ledger.prune(later_s)

    ledger.store(closed, [], now_s=NOW_S)
    assert due(ledger) == 1
    with pytest.raises(LedgerError):
        ledger.store(outcome(1, key="open" * 4), [], now_s=NOW_S)


def test_own_requests_are_counted_by_month(ledger: Ledger):
    """They add up, and another month begins at zero."""
    ledger.add_spending("2026-11", 14)
    ledger.add_spending("2026-11", 28)

    assert (ledger.spent("2026-11"), ledger.spent("2026-12")) == (42, 0)


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path):
    """One sentence for a text file, for a folder that is not there, and for another version."""
    (tmp_path / "text").write_text("this is not a database, and long enough to be seen as none\n" * 9)
    with sqlite3.connect(tmp_path / "newer.db") as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()

    for name in ("text", "absent/l.db", "", "newer.db"):
        with pytest.raises(UsageError) as caught:
            Ledger(tmp_path / name, owner="me")
        assert caught.value.message[0].islower()
        assert caught.value.hint.endswith(".")


def test_the_database_of_another_program_stays_as_it_is(tmp_path: Path):
    """Refused before anything is written to it."""
    path = tmp_path / "contacts.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE instances (a)")
    other.close()
    before = path.read_bytes()

    with pytest.raises(UsageError, match="is not a ledger of plimsoll watch"):
        Ledger(path, owner="me")

    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["contacts.db"]


def test_messages_for_receivers_that_are_gone_are_dropped(ledger: Ledger):
    """Only those that were not sent; the others stay as they are."""
    ledger.store(outcome(1), ["ops", "old"], now_s=NOW_S)

    assert ledger.drop_receivers(["ops"]) == {"old": 1}
    assert ledger.drop_receivers(["ops"]) == {}
    assert (due(ledger), ledger.waiting_count()) == (1, 1)


def test_an_instance_is_removed_with_its_last_messages(ledger: Ledger):
    """Its state and days go, its messages are still sent."""
    ledger.store(outcome(1), ["ops"], now_s=NOW_S)
    ledger.remove(replace(outcome(2), standings=()), ["ops"], now_s=NOW_S)

    assert ledger.records() == []
    assert ledger.standings(watched.INSTANCE) == []
    assert ledger.days(watched.INSTANCE, 0) == ()
    assert ledger.waiting_count() == 2


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o277])
def test_a_ledger_is_for_its_owner_alone(tmp_path: Path, mask: int):
    """It and its log, whatever the umask allows."""
    before = os.umask(mask)
    try:
        with Ledger(tmp_path / "ledger", owner="a") as ledger:
            ledger.take_lease(NOW_S)
            modes = {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()}
    finally:
        os.umask(before)

    assert {0o600} == modes
