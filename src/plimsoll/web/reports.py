"""The report of an instance, from the hours in memory: computed when somebody looks, and kept until there are newer ones."""

import threading
from collections import OrderedDict
from typing import Any

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.model.plan import Plan
from plimsoll.reports.diagnosis.document import diagnosis_document
from plimsoll.reports.document.page import page_values, part_values
from plimsoll.reports.plan.document import plan_section
from plimsoll.reports.render.page import anchors
from plimsoll.watch.found import BoardEntry
from plimsoll.watch.history import PastTransition
from plimsoll.watch.ledger import LedgerError
from plimsoll.watch.pages import PageSources
from plimsoll.web.fleet import is_fresh, row_of
from plimsoll.web.instance import alert_rows, ceiling_rows, transition_rows
from plimsoll.web.markup import rendered
from plimsoll.web.rows import FleetRows

# A judgement: people look at a few instances at a time, and a report takes about a megabyte.
_KEPT = 16
# A judgement: the changes of some days; more of them do not fit on a screen.
_TRANSITIONS_MAX = 50


class InstanceReports:
    """What templates need of an instance."""

    def __init__(self, sources: PageSources, rows: FleetRows) -> None:
        """Compute nothing yet."""
        self._sources, self._rows = sources, rows
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, int], dict[str, Any]] = OrderedDict()

    def values(self, entry: BoardEntry) -> dict[str, Any]:
        """Return all that the page of an instance shows."""
        return {**self.heading(entry), **self._live(entry), **self._report(entry)}

    def heading(self, entry: BoardEntry) -> dict[str, Any]:
        """Return what names an instance."""
        fresh = is_fresh(entry, self._sources.clock.steady_s())
        row = row_of(entry, self._rows.known(), fresh=fresh)
        return {"row": row, "is_simulated": row.is_simulated}

    def plan_values(self, plan: Plan) -> dict[str, Any]:
        """Return what the templates of a plan need."""
        return {"plan": plan_section(plan), **part_values()}

    def parts(self, key: str, token: str, since: int) -> dict[str, str]:
        """
        Return the parts of an instance's page that change, if it changed after a revision or is old.

        Args:
            key: of the instance.
            token: of the forms of this reader.
            since: a revision.
        """
        entry = self._rows.entry(key)
        if entry is None:
            return {}
        fresh = is_fresh(entry, self._sources.clock.steady_s())
        if entry.revision <= since and fresh:
            return {}
        values = {**self.heading(entry), **self._live(entry), "token": token}
        return {"now": rendered("now.html.j2", root="../", **values)}

    def _live(self, entry: BoardEntry) -> dict[str, Any]:
        fresh = is_fresh(entry, self._sources.clock.steady_s())
        past = self._past(entry)
        return {
            "fresh": fresh,
            "ceilings": ceiling_rows(entry, fresh=fresh),
            "alerts": alert_rows(entry, past, self._rows.known()),
            "transitions": transition_rows(past),
        }

    def _past(self, entry: BoardEntry) -> list[PastTransition]:
        try:
            return self._sources.history.transitions(entry.status.instance, count_max=_TRANSITIONS_MAX)
        except LedgerError as error:
            self._sources.log("page without messages", error=error.message)
            return []

    def _report(self, entry: BoardEntry) -> dict[str, Any]:
        snapshot = entry.snapshot
        if snapshot is None:
            return {"document": None, "live": None}
        name = (entry.status.instance.key, id(snapshot))
        with self._lock:
            found = self._kept.get(name)
            if found is None:
                found = page_values(diagnosis_document(diagnose_snapshot(snapshot), snapshot))
                # The snapshot is kept with it, so that no other gets its number.
                found["snapshot"] = snapshot
                self._kept[name] = found
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            return {**found, "anchor": anchors()}
