"""Messages reach receivers at least once, in order, and are tried again for ever."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll.watch.delivery import Delivery, DeliveryThread, wait_after
from plimsoll.watch.ledger import Ledger, LedgerError
from plimsoll.watch.receivers.receiver import BusyReceiver, RefusedError
from scenes import Book, Scene, broken, full
from unit.watch.test_ledger import outcome


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A ledger with two messages of one episode."""
    return Scene(tmp_path)


@pytest.fixture
def ledger(scene: Scene) -> Iterator[Ledger]:
    """Its lease is ours."""
    with scene.open() as found:
        assert found.take_lease(scene.real_s)
        found.store(outcome(1, 2), ["ops"], now_s=scene.real_s)
        yield found


def test_messages_are_sent_once_and_in_order(scene: Scene, ledger: Ledger):
    """The second one is handed what the receiver returned for the first."""
    scene.send(ledger)
    scene.send(ledger)

    assert scene.book.states == [("bound", 1), ("bound", 2)]
    assert scene.book.earlier == ["", "m1"]
    assert ledger.waiting_count() == 0


def test_waits_double_up_to_ten_minutes():
    """However often it failed."""
    assert [wait_after(n) for n in (0, 1, 2, 6, 7, 10_000)] == [5, 10, 20, 320, 600, 600]


def test_a_receiver_that_is_down_for_an_hour_loses_nothing(scene: Scene, ledger: Ledger):
    """It is tried again and again, with waits, and then gets both messages once."""
    scene.book.error = broken()
    for _ in range(360):
        scene.send(ledger)
        scene.real_s += 10
    failed = len(scene.events("not sent"))
    scene.book.error = None
    for _ in range(61):
        scene.send(ledger)
        scene.real_s += 10

    assert 8 <= failed <= 16
    assert scene.book.states == [("bound", 1), ("bound", 2)]


@pytest.mark.parametrize(
    ("error", "wait_s"),
    [
        (RefusedError("the token was revoked"), 3600),
        (BusyReceiver("slow down", wait_s=120.0), 120),
        (BusyReceiver("slow down"), 5),
        (broken(), 5),
        (ZeroDivisionError(), 5),
    ],
)
def test_how_long_to_wait_depends_on_the_error(scene: Scene, ledger: Ledger, error: Exception, wait_s: int):
    """A refusal waits for a person, a busy receiver says how long, and a mistake of ours does not end the sender."""
    scene.book.error = error
    scene.send(ledger)
    scene.book.error = None

    scene.real_s += wait_s - 1
    scene.send(ledger)
    assert scene.book.got == []
    scene.real_s += 1
    scene.send(ledger)
    assert len(scene.book.got) == 2


def test_a_message_that_could_not_be_marked_is_not_sent_again(
    scene: Scene, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    """While the same process lives it knows that the message was sent, however full the disk is."""
    delivery = Delivery(scene.book, ledger, now_s=scene.clock.now_s, log=scene.log)

    with monkeypatch.context() as patched:
        patched.setattr(ledger, "mark_sent", full)
        for _ in range(3):
            with pytest.raises(LedgerError):
                delivery.send_due()
            scene.real_s += 600
    delivery.send_due()

    assert scene.book.states == [("bound", 1), ("bound", 2)]


def test_nothing_is_sent_that_cannot_be_claimed(scene: Scene, ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    """A full disk is found before the message is sent."""
    monkeypatch.setattr(ledger, "claim", full)
    with pytest.raises(LedgerError):
        scene.send(ledger)

    assert scene.book.got == []


def test_a_receiver_that_forgets_hears_the_newest_message_again(scene: Scene, ledger: Ledger):
    """Every so often, with what it returned the last time, and only the newest."""
    scene.book.repeat_s, scene.book.repeat_resolved_s = 60, 300
    for _ in range(4):
        scene.send(ledger)
        scene.real_s += 60

    assert scene.book.states == [("bound", 1), ("bound", 2), *[("bound", 2)] * 3]
    assert scene.book.earlier[-1] == "m2"


def test_a_thread_sends_while_it_may(scene: Scene, ledger: Ledger):
    """It sends what waits when it begins, and ends when it is stopped."""
    sent: list[int] = []
    book = Book(write=lambda message: sent.append(message.number))
    thread = DeliveryThread(book, scene.open, may_send=lambda: True, now_s=scene.clock.now_s, log=scene.log)
    for _ in range(200):
        if len(sent) == 2:
            break
        thread.wake()
        thread._thread.join(0.02)

    assert thread.stop(10.0)
    assert sent == [1, 2]


def test_a_spare_sends_nothing(scene: Scene, ledger: Ledger):
    """Without the lease it does not even look."""
    thread = DeliveryThread(scene.book, scene.open, may_send=lambda: False, now_s=scene.clock.now_s, log=scene.log)
    thread.wake()
    thread._thread.join(0.05)

    assert thread.stop(10.0)
    assert scene.book.got == []
    assert ledger.waiting_count() == 2
