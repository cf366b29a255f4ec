"""
Lay out a message as blocks of Slack.

Rule 1: a text that comes from a database is an element of rich text or a plain text, which Slack shows as it is:
        no mention, link, emoji or markup in it takes effect. In the notification it is escaped.
Rule 2: every text is within Slack's limits; a message beyond one of them would be refused as a whole.

Source: Slack's Block Kit reference: header 150 characters, text 3,000, context 10 elements, message 50 blocks.
"""

from typing import Any

from plimsoll.watch.law.message import Message, WatchState
from plimsoll.watch.receivers.wording import (
    NAME_LENGTH_MAX,
    SENTENCE_LENGTH_MAX,
    headline,
    links_of,
    moment,
    one_line,
    sentences,
    where,
)

Block = dict[str, Any]

_HEADER_LENGTH_MAX = 150  # of a header block
_CONTEXT_LENGTH_MAX = 600  # of an element of a context: a judgement, five lines on a phone

_SIGNS = {WatchState.OK: "🟢", WatchState.NEARING: "🟠", WatchState.BOUND: "🔴", WatchState.UNKNOWN: "⚪"}


def blocks_of(message: Message, *, is_thread_below: bool = False) -> list[Block]:
    """
    Return the blocks of a message.

    Args:
        message: what to say.
        is_thread_below: whether the thread of the message has the history, which is then pointed out.
    """
    header = one_line(f"{_SIGNS[message.state]} {headline(message)}", _HEADER_LENGTH_MAX)
    return [
        {"type": "header", "text": {"type": "plain_text", "text": header, "emoji": True}},
        {"type": "rich_text", "elements": _sentences(message)},
        {"type": "context", "elements": _context(message, is_thread_below=is_thread_below)},
    ]


def notification_of(message: Message) -> str:
    """Return the text of the notification, which Slack reads as mrkdwn."""
    return escaped(f"{headline(message)}. {one_line(message.title, SENTENCE_LENGTH_MAX)}")


def escaped(text: str) -> str:
    """Return a text in which Slack finds no mention and no link: its three special characters are escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _sentences(message: Message) -> list[Block]:
    title = one_line(message.title, SENTENCE_LENGTH_MAX) or headline(message)
    elements = [_section(_text(title, bold=True))]
    if facts := sentences(message.facts):
        elements.append(_list("bullet", facts))
    if advice := sentences(message.advice):
        elements += [_section(_text("What to do first", bold=True)), _list("ordered", advice)]
    return elements


def _context(message: Message, *, is_thread_below: bool) -> list[Block]:
    parts = [message.severity, *_names(message.ceiling, message.rule), where(message)]
    facts = one_line(" · ".join(part for part in parts if part), _CONTEXT_LENGTH_MAX)
    # Slack shows the time in the zone of each reader.
    since = f"<!date^{message.since_s}^{{date_short_pretty}} {{time}}|{moment(message.since_s)}>"
    until = f"<!date^{message.at_s}^{{date_short_pretty}} {{time}}|{moment(message.at_s)}>"
    links = [f"<{escaped(url)}|{name}>" for name, url in links_of(message)]
    elements: list[Block] = [
        {"type": "plain_text", "text": facts, "emoji": False},
        {"type": "mrkdwn", "text": f"Open since {since}, data until {until}"},
    ]
    if links:
        elements.append({"type": "mrkdwn", "text": " · ".join(links)})
    if is_thread_below:
        elements.append({"type": "mrkdwn", "text": "History: see the thread"})
    return elements


def _names(*texts: str) -> list[str]:
    return [one_line(text, NAME_LENGTH_MAX) for text in texts]


def _section(*elements: Block) -> Block:
    return {"type": "rich_text_section", "elements": list(elements)}


def _list(style: str, texts: list[str]) -> Block:
    return {"type": "rich_text_list", "style": style, "elements": [_section(_text(text)) for text in texts]}


def _text(text: str, *, bold: bool = False) -> Block:
    found: Block = {"type": "text", "text": text}
    return found | {"style": {"bold": True}} if bold else found
