"""What every receiver does: take a message, and return what it needs to update that message later."""

from typing import Protocol

from plimsoll.errors import SourceError, Throttled
from plimsoll.watch.law.message import Message


class RefusedError(SourceError):
    """The receiver will never accept this message, for example because a token was revoked: do not try again soon."""


class BusyReceiver(Throttled):
    """The receiver asked us to wait: try again, but not before `wait_s` seconds have passed."""

    def __init__(self, message: str, hint: str = "", *, wait_s: float = 0.0) -> None:
        """Keep what every error has, and the wait that the receiver asked for; 0 if it named none."""
        super().__init__(message, hint)
        self.wait_s = wait_s


class Receiver(Protocol):
    """One place where messages go."""

    name: str
    """From the configuration; unique."""
    repeat_s: int
    """Send the newest message of an open episode again after this many seconds; 0: send each message once."""
    repeat_resolved_s: int
    """Go on repeating for this many seconds after the message that ends the episode; 0 if nothing is repeated."""

    def send(self, message: Message, earlier: str) -> str:
        """
        Deliver a message, and return what identifies it at the receiver; empty if nothing does.

        The same (key, number) may be sent twice after a crash; receivers that can merge it do. A repetition is
        the same call with the same message and the text that the last call returned.

        Args:
            message: what to say.
            earlier: what the last successful call for the same episode returned; empty for the first.

        Raises:
            BusyReceiver: not delivered; the receiver said how long to wait.
            SourceError: not delivered; try again later.
            RefusedError: not delivered, and trying again soon is of no use.
        """
        ...
