"""
Read RDS events: what happened to an instance in the last 14 days, as annotations.

An event is classified by its category and the words of its message, because DescribeEvents does not
return its number. The messages are those of the RDS User Guide, "Amazon RDS event categories and event
messages" (read 2026-11). "Restored from snapshot NAME" is not documented there; published answers have
it. It is not documented whether a change of IOPS, throughput or storage type, or the optimisation after
it, has a message of its own; the table has likely words for it. RDS sends events on a best-effort
basis, so one may be missing or out of order.
"""

import re
from collections.abc import Iterable
from typing import Any

from plimsoll.model.snapshot import Annotation, EventKind
from plimsoll.sources.aws.account import Account
from plimsoll.sources.aws.operations import DESCRIBE_EVENTS
from plimsoll.sources.values.shown import shown
from plimsoll.sources.values.times import parse_time

KEPT_S = 14 * 86_400
"""How long RDS keeps events (RDS API Reference, DescribeEvents)."""
RECORDS_A_PAGE = 100
_TEXT_LENGTH_MAX = 200

# The first matching row decides. A row matches if the event has the category (None: any) and the message
# has the words. Failed and refused changes come first, because they changed nothing.
_ROWS: tuple[tuple[str | None, str, EventKind], ...] = (
    (None, r"^(unable to|we are unable|abandoning|cannot)|could ?n.t|\bfailed\b", EventKind.OTHER),
    ("failure", r"", EventKind.OTHER),
    ("restoration", r"", EventKind.RESTORE),
    (None, r"^restored from\b", EventKind.RESTORE),
    (None, r"modification to (the )?(database|db) instance class", EventKind.CLASS_CHANGE),
    (None, r"convert to a multi-az|standby db instance", EventKind.CONVERSION),
    (None, r"storage.optimi[sz]ation|optimi[sz]ing (your|the) (storage|db)", EventKind.OPTIMISATION),
    (None, r"modification to .*(storage|iops|throughput)", EventKind.STORAGE_CHANGE),
    (None, r"storage configuration upgrade|dedicated log volume", EventKind.STORAGE_CHANGE),
    ("backup", r"back(ing|ed)? ?up", EventKind.BACKUP),
    ("failover", r"", EventKind.FAILOVER),
    (None, r"multi-az instance (failover|activation|recovery)", EventKind.FAILOVER),
    ("availability", r"restart|shut ?down", EventKind.RESTART),
    (None, r"instance (re)?start(ed|ing)|instance (is being )?(started|stopped)", EventKind.RESTART),
    (None, r"off-line patches|downtime started", EventKind.RESTART),
    ("recovery", r"recovery of the db instance", EventKind.RESTART),
)
_TABLE = tuple((category, re.compile(words), kind) for category, words, kind in _ROWS)


def kind_of(categories: Iterable[str], message: str) -> EventKind:
    """Classify an event; OTHER if no row matches."""
    named = {c.strip().lower() for c in categories}
    text = " ".join(message.lower().split())
    for category, words, kind in _TABLE:
        if (category is None or category in named) and words.search(text):
            return kind
    return EventKind.OTHER


def annotation_of(event: dict[str, Any]) -> Annotation | None:
    """Return one element of Events as an annotation; None if its time or message cannot be read."""
    time_s = parse_time(event.get("Date"))
    message = event.get("Message")
    if time_s is None or not isinstance(message, str) or not message.strip():
        return None
    categories = [c for c in event.get("EventCategories") or [] if isinstance(c, str)]
    return Annotation(
        time_s=time_s,
        text=shown(" ".join(message.split()), _TEXT_LENGTH_MAX).rstrip("."),
        kind=kind_of(categories, message),
    )


def is_kept(window_s: tuple[int, int], now_s: float) -> bool:
    """Return whether RDS may still keep an event from before the window's end."""
    return now_s - window_s[1] < KEPT_S


def events_of(account: Account, identifier: str) -> list[Annotation]:
    """
    Return the events of an instance in the last 14 days, in order of time.

    Raises:
        SourceError: RDS refused or did not answer.
    """
    found: list[Annotation] = []
    for page in account.pages(
        DESCRIBE_EVENTS,
        SourceIdentifier=identifier,
        SourceType="db-instance",
        Duration=KEPT_S // 60,  # minutes back by the clock of RDS, so that ours does not matter
        MaxRecords=RECORDS_A_PAGE,
    ):
        found += [a for event in page["Events"] if (a := annotation_of(event)) is not None]
    return sorted(found, key=lambda a: (a.time_s, a.text))
