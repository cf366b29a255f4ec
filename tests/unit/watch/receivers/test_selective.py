"""A receiver of critical messages gets an episode from its first critical message to its end."""

from fixtures.receivers.messages import BOUND, EMPTY, NEARING, RESOLVED, UNKNOWN
from plimsoll.watch.law.message import Message
from plimsoll.watch.receivers.selective import SelectiveReceiver


class Kept:
    """Keeps what it is sent."""

    name = "team"
    repeat_s = 60
    repeat_resolved_s = 300

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def send(self, message: Message, earlier: str) -> str:
        self.messages.append(message)
        return f"{message.number} after {earlier}"


def sent(least, *messages) -> list[Message]:
    """What arrives of an episode."""
    kept, earlier = Kept(), ""
    receiver = SelectiveReceiver(kept, least)
    for message in messages:
        earlier = receiver.send(message, earlier)
    assert ("team", 60, 300) == (receiver.name, receiver.repeat_s, receiver.repeat_resolved_s)
    return kept.messages


def test_an_episode_begins_with_its_first_severe_message():
    """What comes after it is sent, less severe or not, so its end is never missing."""
    assert [BOUND, RESOLVED] == sent("critical", NEARING, BOUND, RESOLVED)
    assert [NEARING, BOUND, RESOLVED] == sent("warning", NEARING, BOUND, RESOLVED)
    assert [EMPTY, UNKNOWN] == sent("critical", EMPTY, UNKNOWN)


def test_the_end_of_an_episode_that_was_left_out_is_left_out():
    assert [] == sent("critical", NEARING, RESOLVED)
    assert [] == sent("note", RESOLVED)
