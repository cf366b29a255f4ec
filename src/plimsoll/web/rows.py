"""The rows of the fleet and their markup, computed once for each change and not once for each reader."""

import threading
from collections.abc import Callable

from msgspec import Struct

from plimsoll.watch.found import BoardEntry
from plimsoll.watch.ledger import Acknowledgement, LedgerError
from plimsoll.watch.pages import PageSources
from plimsoll.web.fleet import FleetRow, is_fresh, is_known, open_alerts, row_of
from plimsoll.web.markup import environment


class ShownRow(Struct, frozen=True, kw_only=True):
    """A row and its markup."""

    row: FleetRow
    markup: str
    revision: int
    """Of the board when it was last different."""
    fresh: bool


class FleetRows:
    """Rows by the key of their instance."""

    def __init__(self, sources: PageSources) -> None:
        """Compute none yet."""
        self._sources = sources
        self._lock = threading.Lock()
        self._rows: dict[str, tuple[tuple[object, ...], ShownRow]] = {}
        self._known: tuple[int, dict[str, Acknowledgement]] = (-1, {})

    def entries(self) -> list[BoardEntry]:
        """Return what was last found of every instance."""
        return self._sources.board.entries()

    def entry(self, key: str) -> BoardEntry | None:
        """Return what was last found of the instance with a key; None if there is none."""
        return next((e for e in self.entries() if e.status.instance.key == key), None)

    def known(self) -> dict[str, Acknowledgement]:
        """Return the acknowledgements; none where the ledger cannot be read."""
        revision = self._sources.board.revision
        if self._known[0] != revision:
            try:
                self._known = (revision, self._sources.history.acknowledgements())
            except LedgerError as error:
                self._sources.log("page without acknowledgements", error=error.message)
                self._known = (revision, {})
        return self._known[1]

    def all(self) -> list[ShownRow]:
        """Return all rows, most urgent first."""
        with self._lock:
            known, steady_s = self.known(), self._sources.clock.steady_s()
            render = environment().get_template("row.html.j2").render
            found = {}
            for entry in self.entries():
                key = entry.status.instance.key
                found[key] = self._row(entry, known, render, steady_s)
            self._rows = found
            return sorted((shown for _, shown in found.values()), key=lambda s: s.row.rank)

    def _row(
        self, entry: BoardEntry, known: dict[str, Acknowledgement], render: Callable[..., str], steady_s: float
    ) -> tuple[tuple[object, ...], ShownRow]:
        fresh = is_fresh(entry, steady_s)
        acknowledged = tuple(is_known(alert, known) for alert in open_alerts(entry))
        mark = (entry.revision, fresh, acknowledged)
        before = self._rows.get(entry.status.instance.key)
        if before is not None and before[0] == mark:
            return before
        row = row_of(entry, known, fresh=fresh)
        return mark, ShownRow(row=row, markup=render(row=row), revision=entry.revision, fresh=fresh)
