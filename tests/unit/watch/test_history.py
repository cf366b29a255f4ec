"""What the page reads of the ledger, and that somebody knows of an alert."""

from pathlib import Path

import pytest

from plimsoll.watch.history import History
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.ledger import Acknowledgement, LeaseLostError, LedgerError
from scenes import EPOCH_S, Scene

AT_LIMIT = "." * 20 + "b" * 60


def known(key: str, number: int = 1) -> Acknowledgement:
    """Somebody knows of a transition."""
    return Acknowledgement(key=key, number=number, person="Ada", note="known", at_s=EPOCH_S)


def bound(folder: Path) -> Scene:
    """A watch that has found a ceiling, and has sent nothing yet."""
    scene = Scene(folder, AT_LIMIT)
    scene.real_s += 40 * 60
    with scene.open() as ledger:
        scene.watch(ledger).round()
    return scene


def test_transitions_come_with_their_messages(tmp_path: Path):
    """Newest first, with what became of them; without their pictures."""
    scene = bound(tmp_path)
    history = History(scene.path)
    with scene.open() as ledger:
        (instance,) = [record.instance for record in ledger.records()]
    (found,) = [t for t in history.transitions(instance, count_max=9) if t.rule == "bound"]

    assert (found.state, found.number) == (WatchState.BOUND, 1)
    (delivery,) = found.deliveries
    assert (delivery.receiver, delivery.sent_s, delivery.error) == ("ops", None, "")


def test_what_somebody_knows_of_is_not_sent(tmp_path: Path):
    """What still waits of the episode is dropped; the acknowledgement can be withdrawn."""
    scene = bound(tmp_path)
    with scene.open() as ledger:
        (instance,) = [record.instance for record in ledger.records()]
        (found,) = [t for t in History(scene.path).transitions(instance, count_max=9) if t.rule == "bound"]
        before = ledger.waiting_count()
        assert not ledger.acknowledge(known(found.key, 2), now_s=scene.real_s)
        assert not ledger.acknowledge(known("another"), now_s=scene.real_s)
        assert ledger.acknowledge(known(found.key), now_s=scene.real_s)
        assert ledger.waiting_count() == before - 1
        assert History(scene.path).acknowledgements() == {found.key: known(found.key)}
        ledger.withdraw(found.key, now_s=scene.real_s)
        assert History(scene.path).acknowledgements() == {}


def test_only_the_owner_of_the_lease_writes(tmp_path: Path):
    """A spare cannot acknowledge."""
    scene = bound(tmp_path)
    with scene.open("second") as spare, pytest.raises(LeaseLostError):
        spare.acknowledge(known("any"), now_s=scene.real_s)


def test_a_ledger_that_is_gone_is_an_error(tmp_path: Path):
    """And no file is made where there was none."""
    with pytest.raises(LedgerError):
        History(tmp_path / "none.db").acknowledgements()
    assert not (tmp_path / "none.db").exists()
