"""A receiver that takes what is sent to an incoming webhook of Slack."""

import httpx

from plimsoll_lab.experiments.inbox import MessageInbox


def test_messages_are_kept_in_the_order_in_which_they_come():
    with MessageInbox() as inbox:
        answers = [httpx.post(inbox.url, json={"text": text}) for text in ("one", "two")]

    assert [(200, "ok"), (200, "ok")] == [(one.status_code, one.text) for one in answers]
    assert ["one", "two"] == inbox.texts


def test_what_is_no_message_is_refused():
    """As Slack does: the status is 400, and nothing is kept."""
    with MessageInbox() as inbox:
        answers = [httpx.post(inbox.url, content=body) for body in (b"", b"no json", b"[]", b'{"blocks": []}')]

    assert [400] * 4 == [one.status_code for one in answers]
    assert [] == inbox.texts
