"""Own spending: count the metrics that were asked for, and say what is left of the month's budget."""

import calendar
import time
from collections.abc import Callable

from plimsoll.watch.ledger import Ledger


class Spending:
    """What requests of this calendar month cost, and may cost."""

    def __init__(
        self, ledger: Ledger, *, budget_usd: float | None, usd_per_metric: float | None, now_s: Callable[[], float]
    ) -> None:
        """Read nothing yet; without a budget or a price there is no bound."""
        self._ledger, self._now_s = ledger, now_s
        self._budget_usd, self._usd_per_metric = budget_usd, usd_per_metric

    def add(self, metrics: int) -> None:
        """Count metrics that were asked for."""
        if metrics:
            self._ledger.add_spending(self._month(), metrics)

    def left(self) -> tuple[float | None, float]:
        """Return what is left of the budget of this calendar month, and for how long it must last, in seconds."""
        now = time.gmtime(self._now_s())
        days = calendar.monthrange(now.tm_year, now.tm_mon)[1]
        passed_s = (now.tm_mday - 1) * 86_400 + now.tm_hour * 3600 + now.tm_min * 60 + now.tm_sec
        left_s = float(max(days * 86_400 - passed_s, 1))
        if self._budget_usd is None or self._usd_per_metric is None:
            return None, left_s
        return self._budget_usd - (self.month_usd() or 0.0), left_s

    def month_usd(self) -> float | None:
        """Return what the requests of this calendar month cost; None where the price is not known."""
        if self._usd_per_metric is None:
            return None
        return self._ledger.spent(self._month()) * self._usd_per_metric

    def _month(self) -> str:
        return time.strftime("%Y-%m", time.gmtime(self._now_s()))
