"""
The rows of a fleet as compact JSON for the table of its page: columns of values, each different text once.

Rule: a column without any value is left out, and null is what is not known or does not apply.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any

import msgspec

from plimsoll.model.fleet import FleetRank, FleetReport, FleetVerdict
from plimsoll.model.visible import visible
from plimsoll.reports.document.parts import Tone
from plimsoll.reports.fleet.words import STATES, limit_text, store_name, tone_of

_SIGNS = {Tone.BAD: "▲", Tone.NEAR: "◆", Tone.UNKNOWN: "○", Tone.GOOD: "●"}


@dataclass(frozen=True, slots=True)
class _Column:
    title: str
    kind: str
    """`text`, `state`, `seconds`, `ratio`, `usd`, `more` (dollars with a sign) or `number`."""
    value: Callable[[FleetVerdict], Any]
    is_shown: bool = False
    """Whether it is shown before a reader chooses."""


def _limit(row: FleetVerdict) -> str | None:
    return limit_text(row) if row.rank <= FleetRank.BOUND else row.nearest


def _time(row: FleetVerdict) -> float | None:
    return row.at_ceiling_s or None


def _share(row: FleetVerdict) -> float | None:
    return row.at_ceiling_ratio if row.at_ceiling_s else None


def _tags(row: FleetVerdict) -> str | None:
    if not row.tags:
        return None
    tags = msgspec.json.decode(row.tags, type=dict[str, str])
    return ", ".join(f"{key}: {value}" if value else key for key, value in tags.items()) or None


def _saving(row: FleetVerdict) -> Decimal | None:
    more = row.cheaper_usd_per_day_more
    return None if more is None else -more


def _chance(row: FleetVerdict) -> float | None:
    """Return the chance as other reports show it: never as none or all."""
    return None if row.cheaper_chance is None else min(max(row.cheaper_chance, 0.01), 0.99)


def _emptying(row: FleetVerdict) -> str | None:
    return store_name(row.emptying) if row.emptying else None


_COLUMNS = (
    _Column("Instance", "text", lambda row: row.instance, is_shown=True),
    _Column("State", "state", lambda row: int(row.rank), is_shown=True),
    _Column("Class", "text", lambda row: row.db_class, is_shown=True),
    _Column("Limit", "text", _limit, is_shown=True),
    _Column("Time at limit", "seconds", _time, is_shown=True),
    _Column("Share", "ratio", _share, is_shown=True),
    _Column("$/day", "usd", lambda row: row.usd_per_day, is_shown=True),
    _Column("Recommended change", "text", lambda row: row.option, is_shown=True),
    _Column("Change $/day", "more", lambda row: row.option_usd_per_day_more, is_shown=True),
    _Column("Cheaper setup", "text", lambda row: row.cheaper),
    _Column("Saving $/day", "usd", _saving, is_shown=True),
    _Column("Cheaper setup is enough", "ratio", _chance),
    _Column("Peak of the limit", "ratio", lambda row: row.nearest_ratio),
    _Column("Will be empty", "text", _emptying),
    _Column("Empty in", "seconds", lambda row: row.empty_in_s),
    _Column("Waited", "seconds", lambda row: row.waiting_s or None),
    _Column("Out of reach", "text", lambda row: row.unreachable),
    _Column("Stop and start", "text", lambda row: row.legacy),
    _Column("Engine", "text", lambda row: row.engine),
    _Column("Storage", "text", lambda row: row.storage),
    _Column("Storage GiB", "number", lambda row: row.storage_gib),
    _Column("Region", "text", lambda row: row.region or None),
    _Column("Account", "text", lambda row: row.account or None),
    _Column("Tags", "text", _tags),
    _Column("Missing or failed", "text", lambda row: row.reason),
    _Column("No plan", "text", lambda row: row.plan_note),
)
_DIGITS = {"seconds": 0, "ratio": 4, "usd": 2, "more": 2, "number": 0}


def rows_json(report: FleetReport) -> str:
    """Return the table of all instances as JSON that cannot end its script element."""
    columns = [made for column in _COLUMNS if (made := _column(column, report.rows)) is not None]
    states = [[f"{_SIGNS[tone_of(rank)]} {STATES[rank]}", tone_of(rank).value] for rank in FleetRank]
    document = {"count": len(report.rows), "states": states, "columns": columns}
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _column(column: _Column, rows: tuple[FleetVerdict, ...]) -> dict[str, Any] | None:
    values = [column.value(row) for row in rows]
    made: dict[str, Any] = {"title": column.title, "kind": column.kind, "shown": column.is_shown}
    if column.kind == "text":
        values = [None if value is None else visible(value) for value in values]
        words = list(dict.fromkeys(value for value in values if value is not None))
        place = {word: index for index, word in enumerate(words)}
        made |= {"words": words, "at": [None if v is None else place[v] for v in values]}
    else:
        made["values"] = [_rounded(value, column.kind) for value in values]
    is_empty = all(value is None for value in values)
    return None if is_empty and column.title != "Instance" else made


def _rounded(value: Any, kind: str) -> float | int | None:
    number = None if value is None else float(value)
    if number is None or not isfinite(number):
        return None
    digits = _DIGITS.get(kind, 0)
    return round(number, digits) if digits else round(number)
