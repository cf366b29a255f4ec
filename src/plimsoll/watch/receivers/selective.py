"""
Leave out what is not severe enough for a receiver, for example warnings for people who are woken up.

Rule: an episode that the receiver knows stays complete: everything after its first message is sent.
"""

from plimsoll.model.severity import SEVERITIES, Severity
from plimsoll.watch.law.message import Message
from plimsoll.watch.receivers.receiver import Receiver


class SelectiveReceiver:
    """Passes an episode on from its first message of a severity."""

    def __init__(self, receiver: Receiver, least: Severity) -> None:
        """Pass messages to `receiver` once one of the severity `least`, or a more severe one, has come."""
        self.name = receiver.name
        self.repeat_s = receiver.repeat_s
        self.repeat_resolved_s = receiver.repeat_resolved_s
        self._receiver = receiver
        self._sent = frozenset(SEVERITIES[: SEVERITIES.index(least) + 1])

    def send(self, message: Message, earlier: str) -> str:
        """Deliver a message, or leave it out, which counts as delivered and returns nothing."""
        is_first = not earlier
        if is_first and (message.is_resolved or message.severity not in self._sent):
            return ""
        return self._receiver.send(message, earlier)
