"""The first signal ends the work; later ones do not end what is done after it."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from plimsoll.load.rehearse.interrupts import InterruptedOnce


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """SIGTERM like Ctrl-C, as in a command."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGTERM, before)


def send(sign: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), sign)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_only_the_first_signal_ends_the_block(sign):
    done = []

    def run() -> None:
        with InterruptedOnce():
            try:
                send(sign)
                done.append("work")
            finally:
                send(sign)
                send(signal.SIGINT)
                done.append("ending")

    with pytest.raises(KeyboardInterrupt):
        run()
    assert ["ending"] == done


@pytest.mark.parametrize("error", [None, ValueError("of the block")])
def test_a_signal_after_the_work_counts_when_the_block_has_ended(error):
    """An error of the block counts more."""
    done = []

    def run() -> None:
        with InterruptedOnce() as signals:
            signals.hold()
            send()
            done.append("ending")
            if error is not None:
                raise error

    with pytest.raises(KeyboardInterrupt if error is None else ValueError):
        run()
    assert ["ending"] == done


def test_afterwards_signals_are_as_before():
    before = signal.getsignal(signal.SIGINT)
    with InterruptedOnce():
        pass

    assert before is signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        send()


def test_in_another_thread_nothing_changes():
    before, seen = signal.getsignal(signal.SIGINT), []

    def run() -> None:
        with InterruptedOnce():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()

    assert [before] == seen
