"""
Read Performance Insights' top statements, users and hosts of two stretches of time.

Rule 1: at most `CALLS` requests for an instance, whatever the window.
Rule 2: texts come from whoever sent the statement: they are cut, also at their first string, and made printable
        here, before they are kept.

Source: Performance Insights API Reference, DescribeDimensionKeys, in botocore's model (read 2026-11-27): a group
and a partition have at most 25 items; Total and Partitions are averages over the time range; a text is cut at 500
bytes; StartTime lies within the retention.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from plimsoll.errors import DataError, PlimsollError
from plimsoll.model.session_load import MOST_KEYS, KeyLoad, SessionLoad, SessionSpan, StretchKind, WaitLoad
from plimsoll.model.snapshot import Gap, Snapshot
from plimsoll.sources.aws import insights
from plimsoll.sources.aws.account import Account
from plimsoll.sources.aws.described import Described
from plimsoll.sources.aws.extras import gap_of
from plimsoll.sources.aws.operations import DESCRIBE_DIMENSION_KEYS
from plimsoll.sources.values.shown import shown

NAME = "Top statements"
"""Name of the gap where they could not be read."""

Span = tuple[int, int]
Chosen = tuple[StretchKind, Span, Span | None]
"""Why, the stretch to ask about, and the stretch to compare it with."""
CALLS = 6
"""Requests for one instance: four about the stretch, two about the one it is compared with."""

# PI itself cuts at 500 bytes; a name of a user or a host has at most 255 characters (RFC 1035, PostgreSQL 63).
_TEXT_LENGTH, _NAME_LENGTH = 500, 255

# Quotes that begin a string: 'text', and $tag$text$tag$ of PostgreSQL; $1 is a parameter.
_STRING = re.compile(r"'|\$[A-Za-z_]*\$")

_WAIT = "db.wait_event"
_STATEMENT = "db.sql_tokenized"


def with_statements(account: Account, described: Described, snapshot: Snapshot, chosen: Chosen) -> Snapshot:
    """Return a snapshot with who was active in the chosen stretches, or the gap, if Performance Insights is on."""
    if not insights.is_on(described):
        return snapshot
    try:
        found = read_session_load(account, described, chosen)
    except PlimsollError as error:
        found = gap_of(NAME, DESCRIBE_DIMENSION_KEYS, error)
    if isinstance(found, Gap):
        return replace(snapshot, gaps=(*snapshot.gaps, found))
    return replace(snapshot, session_load=found)


def read_session_load(account: Account, described: Described, chosen: Chosen) -> SessionLoad | Gap:
    """
    Return the sessions of the stretches, or the gap if the first is no longer kept.

    Raises:
        SourceError: Performance Insights refused or did not answer.
        DataError: an answer is not of the documented form.
    """
    why, during_s, outside_s = chosen
    during = _kept(account, described, during_s)
    if during is None:
        return _too_old(described)
    outside = None if outside_s is None else _kept(account, described, outside_s)

    def ask(span: tuple[Span, int], group: str, *, is_split: bool = True) -> dict[str, Any]:
        return _ask(account, described, span, group, is_split=is_split)

    found = _span(ask, during, has_people=True)
    return SessionLoad(
        why=why, during=found, outside=None if outside is None else _span(ask, outside, has_people=False)
    )


def _kept(account: Account, described: Described, span_s: Span) -> tuple[Span, int] | None:
    return insights.span_of(span_s, account.now_s(), described.insights_kept_s)


def _too_old(described: Described) -> Gap:
    days = described.insights_kept_s // insights.DAY_S
    return Gap(
        metric=NAME,
        reason=f"the time at the limit is older than the {days} days for which Performance Insights keeps samples",
        remedy="Raise its retention for later windows.",
    )


_Ask = Callable[..., dict[str, Any]]


def _span(ask: _Ask, span: tuple[Span, int], *, has_people: bool) -> SessionSpan:
    waits = _keys(ask(span, _WAIT, is_split=False))
    statements = _keys(ask(span, _STATEMENT))
    (start_s, end_s), _ = span
    return SessionSpan(
        start_s=start_s,
        end_s=end_s,
        waits=tuple(_wait(dimensions, total) for dimensions, total, _ in waits),
        statements=_loads(statements, _STATEMENT, "statement", _TEXT_LENGTH),
        users=_named(ask, span, "db.user") if has_people else (),
        hosts=_named(ask, span, "db.host") if has_people else (),
    )


def _named(ask: _Ask, span: tuple[Span, int], group: str) -> tuple[KeyLoad, ...]:
    return _loads(_keys(ask(span, group)), group, "name", _NAME_LENGTH)


def _ask(
    account: Account, described: Described, span: tuple[Span, int], group: str, *, is_split: bool
) -> dict[str, Any]:
    (start_s, end_s), period_s = span
    split: dict[str, Any] = {"PartitionBy": {"Group": _WAIT, "Limit": MOST_KEYS}} if is_split else {}
    return account.call(
        DESCRIBE_DIMENSION_KEYS,
        ServiceType="RDS",
        Identifier=described.resource_id,
        StartTime=start_s,
        EndTime=end_s,
        Metric="db.load.avg",
        PeriodInSeconds=period_s,
        GroupBy={"Group": group, "Limit": MOST_KEYS},
        MaxResults=MOST_KEYS,
        **split,
    )


_Key = tuple[dict[str, Any], float, tuple[WaitLoad, ...]]
"""Dimensions of a key, its sessions, and its sessions by wait event."""


def _keys(answer: dict[str, Any]) -> list[_Key]:
    parts = [p.get("Dimensions") or {} for p in _listed(answer.get("PartitionKeys"))]
    found: list[_Key] = []
    for key in _listed(answer.get("Keys")):
        total = _sessions(key.get("Total"))
        if total is None:
            continue
        values = [_sessions(v) for v in _listed(key.get("Partitions"))]
        waits = tuple(_wait(dimensions, value) for dimensions, value in zip(parts, values, strict=False) if value)
        found.append((key.get("Dimensions") or {}, total, waits))
    return found[:MOST_KEYS]


def _listed(value: object) -> Iterable[Any]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise DataError("an answer of Performance Insights is not of the documented form", "Try again.")
    return value


def _sessions(value: object) -> float | None:
    """Return an average of sessions; None for what is no number, or none that can be."""
    if not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        return None
    return float(value)


def _wait(dimensions: dict[str, Any], sessions: float) -> WaitLoad:
    return WaitLoad(
        type=shown(dimensions.get(f"{_WAIT}.type") or "", _NAME_LENGTH),
        name=shown(dimensions.get(f"{_WAIT}.name") or "", _NAME_LENGTH),
        sessions=sessions,
    )


def _loads(keys: list[_Key], group: str, field: str, length: int) -> tuple[KeyLoad, ...]:
    return tuple(
        KeyLoad(
            id=shown(dimensions.get(f"{group}.id") or "", _NAME_LENGTH),
            text=_without_strings(_one_line(dimensions.get(f"{group}.{field}") or "", length)),
            sessions=total,
            waits=waits,
        )
        for dimensions, total, waits in keys
    )


def _one_line(text: object, length: int) -> str:
    """Return a text on one line: any white space is one blank, what cannot be printed a question mark."""
    # A whole megabyte need not be split to keep 500 characters of it.
    return shown(" ".join(str(text)[: 4 * length].split()), length)


def _without_strings(text: str) -> str:
    """
    Return a text up to its first string.

    Performance Insights replaces literals in queries, not in commands such as ALTER ROLE … PASSWORD '…'.
    """
    found = _STRING.search(text)
    return text if found is None else f"{text[: found.end()]}…"
