"""
Send queued messages: claim, send, mark.

A message is sent at least once. The process may end between sending and marking: then the same (key, number) is
sent again, and the receiver merges it where it can.
"""

import threading
from collections.abc import Callable

from plimsoll.errors import PlimsollError, SourceError
from plimsoll.watch.law.metrics import FAILED, SENT
from plimsoll.watch.ledger import Ledger, LedgerError, QueuedMessage
from plimsoll.watch.receivers.receiver import BusyReceiver, Receiver, RefusedError
from plimsoll.watch.tally import EventTally

# Five seconds let a restart of the receiver pass; then twice as long each time, up to ten minutes, so that
# people read at most ten minutes after the receiver is back.
_FIRST_WAIT_S = 5.0
_LONGEST_WAIT_S = 600.0
# A receiver that refuses for good needs a person. An hour is often enough to look whether one came.
_REFUSED_WAIT_S = 3600.0
# How often the outbox is looked at; a transition wakes the sender up at once.
_IDLE_S = 1.0

Log = Callable[..., None]
"""Takes the name of an event, and its fields by name."""


def wait_after(attempts: int) -> float:
    """
    Return the seconds to wait after a failure.

    Args:
        attempts: failures before this one, ≥ 0.
    """
    # Beyond ten doublings it is the longest wait anyway.
    return float(min(_FIRST_WAIT_S * 2 ** min(attempts, 10), _LONGEST_WAIT_S))


class Delivery:
    """Sends the messages of one receiver, in its own connection to the ledger."""

    def __init__(
        self,
        receiver: Receiver,
        ledger: Ledger,
        *,
        now_s: Callable[[], float],
        log: Log,
        tally: EventTally | None = None,
    ) -> None:
        """Send nothing yet."""
        self._receiver, self._ledger, self._now_s, self._log = receiver, ledger, now_s, log
        self._tally = tally or EventTally()
        self._unmarked: dict[tuple[str, int], str] = {}

    def send_due(self, *, is_stopping: Callable[[], bool] = lambda: False) -> int:
        """
        Send every message that is due, each once; return how many were sent.

        Raises:
            LedgerError: the ledger cannot be written, or another process sends now.
        """
        count = 0
        while not is_stopping():
            queued = self._ledger.due(
                self._receiver.name, now_s=self._now_s(), longest_wait_s=max(_LONGEST_WAIT_S, _REFUSED_WAIT_S)
            )
            if queued is None:
                break
            count += self._send(queued)
        while self._receiver.repeat_s and not is_stopping() and self._repeat():
            pass
        return count

    def _repeat(self) -> bool:
        """Send one message again if one is due for that; return whether there was one."""
        queued = self._ledger.repeat(
            self._receiver.name,
            now_s=self._now_s(),
            every_s=self._receiver.repeat_s,
            resolved_for_s=self._receiver.repeat_resolved_s,
        )
        if queued is None:
            return False
        # Noted before it is sent: a repetition that fails is made up for by the next one.
        self._ledger.note_repeat(queued, now_s=self._now_s())
        found = self._attempt(queued)
        if isinstance(found, PlimsollError):
            self._log("not repeated", receiver=self._receiver.name, error=found.message)
        return True

    def _attempt(self, queued: QueuedMessage) -> str | PlimsollError:
        """Send a message; return what identifies it at the receiver, or why it was not sent."""
        try:
            return self._receiver.send(queued.message, queued.identity)
        except PlimsollError as error:
            return error
        except Exception as error:  # noqa: BLE001  a mistake in one receiver must not silence the others
            return SourceError(f"the receiver made a mistake: {type(error).__name__}")

    def _send(self, queued: QueuedMessage) -> bool:
        message = queued.message
        name = (message.key, message.number)
        self._ledger.claim(queued, due_s=self._now_s() + wait_after(queued.attempts))
        if name not in self._unmarked:
            found = self._attempt(queued)
            if isinstance(found, PlimsollError):
                self._failed(queued, found)
                return False
            self._unmarked[name] = found
            self._tally.add(SENT.name, self._receiver.name)
        # If the ledger refuses here, the message was sent all the same; it is only marked at the next try.
        self._ledger.mark_sent(queued, self._unmarked[name], now_s=self._now_s())
        del self._unmarked[name]
        self._log(
            "sent",
            receiver=self._receiver.name,
            key=message.key,
            number=message.number,
            state=message.state.value,
            instance=message.instance,
            rule=message.rule,
        )
        return True

    def _failed(self, queued: QueuedMessage, error: PlimsollError) -> None:
        wait_s = wait_after(queued.attempts)
        if isinstance(error, RefusedError):
            wait_s = _REFUSED_WAIT_S
        elif isinstance(error, BusyReceiver):
            wait_s = min(max(error.wait_s, wait_s), _REFUSED_WAIT_S)
        self._tally.add(FAILED.name, self._receiver.name)
        self._ledger.mark_failed(queued, error.message, due_s=self._now_s() + wait_s)
        self._log(
            "not sent",
            receiver=self._receiver.name,
            key=queued.message.key,
            number=queued.message.number,
            error=error.message,
            hint=error.hint,
            again_in_s=wait_s,
        )


class DeliveryThread:
    """Sends the messages of one receiver until it is stopped, so that a slow one delays nobody else."""

    def __init__(
        self,
        receiver: Receiver,
        open_ledger: Callable[[], Ledger],
        *,
        may_send: Callable[[], bool],
        now_s: Callable[[], float],
        log: Log,
        tally: EventTally | None = None,
    ) -> None:
        """
        Start sending.

        Args:
            receiver: where to.
            open_ledger: called in the thread.
            may_send: whether this process owns the lease, as far as it knows.
            now_s: the wall clock.
            log: takes events.
            tally: counts messages.
        """
        self._tally = tally or EventTally()
        self._tally.begin([SENT.name, FAILED.name], [receiver.name])
        self._receiver, self._open_ledger, self._may_send = receiver, open_ledger, may_send
        self._now_s, self._log = now_s, log
        self._stopping = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"delivery-{receiver.name}", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look at the outbox now."""
        self._woken.set()

    def stop(self, patience_s: float) -> bool:
        """Finish the current message, and return whether that took no longer than `patience_s`."""
        self._stopping.set()
        self._woken.set()
        self._thread.join(patience_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        said = ""
        while not self._stopping.is_set():
            try:
                with self._open_ledger() as ledger:
                    delivery = Delivery(self._receiver, ledger, now_s=self._now_s, log=self._log, tally=self._tally)
                    said = self._until_stopped(delivery, said)
            except PlimsollError as error:
                said = self._note(error, said)
                self._stopping.wait(_IDLE_S)

    def _until_stopped(self, delivery: Delivery, said: str) -> str:
        while not self._stopping.is_set():
            try:
                if self._may_send():
                    delivery.send_due(is_stopping=self._stopping.is_set)
                    said = ""
            except LedgerError as error:
                said = self._note(error, said)
            self._woken.wait(_IDLE_S)
            self._woken.clear()
        return said

    def _note(self, error: PlimsollError, said: str) -> str:
        """Log an error once for as long as it lasts."""
        if error.message != said:
            self._log("outbox", receiver=self._receiver.name, error=error.message)
        return error.message
