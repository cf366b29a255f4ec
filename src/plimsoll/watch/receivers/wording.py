"""
Word a message for people, in the parts that all receivers share.

Rule 1: names and queries come from databases and are hostile: every text passes `one_line` before it is sent.
Rule 2: a text that is too long for a receiver ends with "…".
Rule 3: simulated data is called simulated in the first line of every message.
"""

from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

from plimsoll.watch.law.message import Message, WatchState

SIMULATED = "simulated data"

STATE_WORDS = {
    WatchState.OK: "Resolved",
    WatchState.NEARING: "Near a limit",
    WatchState.BOUND: "At a limit",
    WatchState.UNKNOWN: "No data",
}
"""For people; JSON has the states as they are."""

# Judgements: a sentence above 500 characters and more than ten of a kind are not read during an incident, and with
# these bounds every message is below the limits of all receivers.
SENTENCE_LENGTH_MAX = 500
SENTENCES_MAX = 10
NAME_LENGTH_MAX = 200

# RDS allows 63 characters; with more than 100, headlines would not fit into a header of Slack.
_INSTANCE_LENGTH_MAX = 100

# Browsers, proxies and Slack accept 2,000 characters; a longer address is left out, since half of one leads nowhere.
_LINK_LENGTH_MAX = 2_000


def one_line(text: str, length_max: int) -> str:
    """Return a text on one line without control and direction characters, cut to a length with "…"."""
    clean = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return clean if len(clean) <= length_max else clean[: length_max - 1].rstrip() + "…"


def sentences(texts: tuple[str, ...]) -> list[str]:
    """Return the sentences of a list within the bounds of number and length; the last says if some were left out."""
    found = [line for text in texts if (line := one_line(text, SENTENCE_LENGTH_MAX))]
    if len(found) <= SENTENCES_MAX:
        return found
    left_out = len(found) - SENTENCES_MAX + 1
    return [*found[: SENTENCES_MAX - 1], f"… and {left_out} more"]


def headline(message: Message) -> str:
    """Return what happened to which instance: `At a limit: orders-primary (simulated data)`."""
    words = f"{STATE_WORDS[message.state]}: {instance_of(message)}"
    return f"{words} ({SIMULATED})" if message.is_simulated else words


def instance_of(message: Message) -> str:
    """Return the name of the instance, on one line; `unnamed instance` where the source has none."""
    return one_line(message.instance, _INSTANCE_LENGTH_MAX) or "unnamed instance"


def subject_of(message: Message) -> str:
    """Return what stays the same over an episode: `orders-primary: instance EBS throughput (balance-empty)`."""
    rule, ceiling = (one_line(part, NAME_LENGTH_MAX) for part in (message.rule, message.ceiling))
    return f"{instance_of(message)}: {ceiling} ({rule})" if ceiling else f"{instance_of(message)}: {rule}"


def where(message: Message) -> str:
    """Return account and region, as far as they are known."""
    account, region = (one_line(part, NAME_LENGTH_MAX) for part in (message.account, message.region))
    return ", ".join(part for part in (account and f"account {account}", region) if part)


def moment(epoch_s: int) -> str:
    """Return a time as people read it: `2026-11-22 10:14 UTC`."""
    return f"{datetime.fromtimestamp(epoch_s, UTC):%Y-%m-%d %H:%M} UTC"


def timestamp(epoch_s: float) -> str:
    """Return a time as programs read it (RFC 3339): `2026-11-22T10:14:00Z`."""
    return f"{datetime.fromtimestamp(epoch_s, UTC):%Y-%m-%dT%H:%M:%SZ}"


def safe_link(url: str) -> str:
    """Return an address of the web in which nothing can end it early; empty if it is not one."""
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        return ""
    if scheme not in {"http", "https"} or not url.isprintable() or len(url) > _LINK_LENGTH_MAX:
        return ""
    return quote(url, safe=":/?#[]@!$&()*+,;=%~-._")


def links_of(message: Message) -> list[tuple[str, str]]:
    """Return name and address of each page that a message points to."""
    found = [("Details", safe_link(message.link)), ("Runbook", safe_link(message.runbook))]
    return [(name, url) for name, url in found if url]


def text_of(message: Message) -> str:
    """Return a whole message as plain text of several lines, for receivers without a layout of their own."""
    parts = [one_line(message.title, SENTENCE_LENGTH_MAX)]
    if facts := sentences(message.facts):
        parts.append("\n".join(f"- {fact}" for fact in facts))
    if advice := sentences(message.advice):
        steps = [f"{number}. {step}" for number, step in enumerate(advice, 1)]
        parts.append("\n".join(["What to do first:", *steps]))
    rows = [
        ("Instance", instance_of(message)),
        ("Place", where(message)),
        ("Limit", one_line(message.ceiling, NAME_LENGTH_MAX)),
        ("Rule", one_line(message.rule, NAME_LENGTH_MAX)),
        ("Severity", message.severity),
        ("Open since", moment(message.since_s)),
        ("Data until", moment(message.at_s)),
        *links_of(message),
        ("Alert", f"{message.key}, message {message.number}"),
    ]
    parts.append("\n".join(f"{name}: {value}" for name, value in rows if value))
    return "\n\n".join([headline(message), *parts]) + "\n"
