"""Texts and columns that the sections of a fleet have in common."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TypeVar

from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.family import FAMILIES, unit_at
from plimsoll.model.fleet import FleetRank, FleetVerdict
from plimsoll.reports.document.parts import Cell, Column, Paragraph, Part, Section, Table, Tone
from plimsoll.reports.render import words

NOTHING = "–"
UNKNOWN = "unknown"
# A judgement: longer lists are read with a program; --format csv has every instance.
ROWS_MOST = 20
MORE_IN_TEXT = "give --all, or --format csv"
MORE_ON_PAGE = "see the table of all instances below"

NAME = (Column(title="Instance", least=16), Column(title="Class", leaves=3))

STATES = {
    FleetRank.NOW: "at a limit now",
    FleetRank.BOUND: "at a limit earlier",
    FleetRank.WAITING: "requests waited",
    FleetRank.NEAR: "near a limit",
    FleetRank.UNKNOWN: "not judged",
    FleetRank.SLACK: "no limit reached",
}
"""The state of an instance in two or three words."""

_Row = TypeVar("_Row")


class Rows:
    """How many rows a table may have, and what says where the others are."""

    def __init__(self, most: int | None, more: str) -> None:
        """
        Set the bounds of every table of a document.

        Args:
            most: rows of each table; None for all.
            more: where the others are: a clause.
        """
        self._most, self._more = most, more

    def section(
        self,
        title: str,
        rows: Sequence[_Row],
        columns: tuple[Column, ...],
        cells: Callable[[_Row], tuple[str | Cell, ...]],
    ) -> Section:
        """Return a section with one table, its title with the number of rows."""
        return Section(title=f"{title}: {len(rows):,}", parts=self.parts(rows, columns, cells))

    def parts(
        self, rows: Sequence[_Row], columns: tuple[Column, ...], cells: Callable[[_Row], tuple[str | Cell, ...]]
    ) -> tuple[Part, ...]:
        """Return a table, and what is left out of it."""
        shown = rows if self._most is None else rows[: self._most]
        parts: list[Part] = [Table(columns=columns, rows=tuple(map(cells, shown)), stacks=True)]
        if len(shown) < len(rows):
            text = f"{len(rows) - len(shown):,} more: {self._more}."
            parts.append(Paragraph(text=text, weight="quiet"))
        return tuple(parts)


def name_cells(row: FleetVerdict) -> tuple[str, str]:
    """Return the cells of the columns `NAME`."""
    return row.instance, row.db_class or UNKNOWN


def limit_text(row: FleetVerdict) -> str:
    """Return the ceiling that bound longest, with its number."""
    family, phase = Family(row.family or Family.UNKNOWN), Phase(row.phase or Phase.FIXED)
    unit = unit_at(family, Dimension(row.dimension or Dimension.THROUGHPUT))
    return words.limit_value(family, phase, None, row.ceiling or 0.0, unit)


def family_name(family: str | None) -> str:
    """Return the name of a limit; a family of another version keeps its own."""
    if family is None:
        return NOTHING
    return FAMILIES[Family(family)].name if family in set(Family) else family


def store_name(family: str | None) -> str:
    """Return what becomes empty: `instance throughput credits`, `storage space`."""
    if family is None or family not in set(Family):
        return family or NOTHING
    facts = FAMILIES[Family(family)]
    return facts.credits_name or facts.name


def usd_more(amount: Decimal | None) -> str:
    """Return dollars with a sign; `unknown` for None."""
    if amount is None:
        return UNKNOWN
    return f"{amount:+,.2f}" if amount else "0.00"


def usd(amount: Decimal | None) -> str:
    """Return dollars; `unknown` for None."""
    return UNKNOWN if amount is None else f"{amount:,.2f}"


def tone_of(rank: FleetRank) -> Tone:
    """Return the tone of a state."""
    return {
        FleetRank.NOW: Tone.BAD,
        FleetRank.BOUND: Tone.BAD,
        FleetRank.WAITING: Tone.NEAR,
        FleetRank.NEAR: Tone.NEAR,
        FleetRank.UNKNOWN: Tone.UNKNOWN,
        FleetRank.SLACK: Tone.GOOD,
    }[rank]
