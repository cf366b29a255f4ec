"""A fleet of simulated instances for the page of the watch: the bundled examples, at different hours of theirs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace as with_values
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from fixtures.aws.simulated import example
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.model.overview import UnreadInstance
from plimsoll.model.snapshot import Snapshot, cut
from plimsoll.watch.config import TargetSettings, WatchSettings, WebSettings
from plimsoll.watch.receivers.settings import WebhookSettings
from plimsoll.watch.service import OpenedConfiguration, WatchService
from plimsoll.watch.targets import Computations, WatchClock, WatchTarget
from plimsoll.web.page import WebPage
from scenes import Book

NOW_S = 1_795_694_400
"""2026-11-26 12:00 UTC, the beginning of every fleet."""
HOUR_S, MINUTE = 3600, 60
TARGET, ACCOUNT, REGION = "rds:*", "123456789012", "eu-central-1"
RECEIVER = "ops"
CALM = "quiet"
STORIES: dict[str, tuple[str, float]] = {
    "claims-primary": ("claims-pipeline", 9.0),
    "search-primary": ("search-service", 11.0),
    "ledger-primary": ("claims-pipeline", 6.9),
    "billing-primary": ("claims-pipeline", 5.75),
}
"""Instances that are in trouble: their example, and the hour of it that is now."""
SILENT = "reports-archive"
"""An instance that cannot be read."""
_WORDS = (
    *("accounts", "audit", "basket", "catalog", "delivery", "events", "forecast", "gateway", "identity"),
    *("inventory", "journal", "loyalty", "mail", "orders", "payments", "pricing", "profiles", "queue"),
    *("returns", "sessions", "shipping", "stock", "tax", "tickets", "users"),
)  # fmt: skip


@cache
def _example(name: str) -> Snapshot:
    return example(name)


class Fleet:
    """Instances that go on as their examples did; a test moves the clock, and changes what an instance does."""

    def __init__(self, folder: Path, count: int = 50, names: tuple[str, ...] = ()) -> None:
        self.path = folder / "ledger.db"
        self.passed_s = 0.0
        self.stories = dict(STORIES)
        calm = [f"{word}-{place}" for place in ("primary", "replica") for word in _WORDS]
        for index, name in enumerate((*names, *calm)):
            if len(self.stories) < count - 1:
                self.stories[name] = (CALM, 4.0 + 0.73 * (index % 50))
        self.book = Book(RECEIVER)
        self.lines: list[dict[str, object]] = []
        self.service: WatchService | None = None

    # --- what the loop is handed ------------------------------------------------------------------

    @property
    def now_s(self) -> float:
        """The wall clock."""
        return NOW_S + self.passed_s

    def snapshot(self, name: str, window_s: tuple[int, int]) -> Snapshot:
        """The instance of a story in a window that ends about now."""
        story, hour = self.stories[name]
        whole = _example(story)
        assert whole.window_s is not None
        by_s = NOW_S - int(whole.window_s[0] + hour * HOUR_S) // MINUTE * MINUTE
        part = cut(whole, (window_s[0] - by_s, min(window_s[1], int(self.now_s)) - by_s))
        # Instances that do the same look the same; each does a little more or less.
        factor = 1.0 if story != CALM else 0.4 + (sum(name.encode()) % 60) / 100
        return replace(
            part,
            instance=replace(whole.instance, identifier=name, region=REGION),
            series={
                metric: with_values(
                    series,
                    time_s=series.time_s + by_s,
                    value=series.value * factor if "_per_s" in metric.value else series.value,
                )
                for metric, series in part.series.items()
            },
            fine={},
            annotations=(),
        )

    def _read(self, window_s: tuple[int, int], is_chosen: Callable[[str], bool]) -> Iterator[Snapshot | UnreadInstance]:
        for name in list(self.stories):
            if is_chosen(name):
                yield self.snapshot(name, window_s)
        if is_chosen(SILENT):
            yield UnreadInstance(identifier=SILENT, reason="access denied", remedy="Allow cloudwatch:GetMetricData.")

    def opened(self) -> OpenedConfiguration:
        """The configuration."""
        settings = WatchSettings(
            targets=(TargetSettings(target=TARGET),),
            receivers=(WebhookSettings(name=RECEIVER, url_env="URL"),),
            ledger=str(self.path),
            web=WebSettings(listen_address="127.0.0.1:0"),
        )
        target = WatchTarget(
            name=TARGET, account=ACCOUNT, is_live=True, metric_count=14, read=self._read, spent=lambda: 0
        )
        return OpenedConfiguration(settings=settings, targets=[target], receivers=[self.book])

    # --- what a test does -------------------------------------------------------------------------

    @contextmanager
    def watched(self) -> Iterator[str]:
        """Watch in a thread until the block ends; the address of the page."""
        self.service = WatchService(
            self.opened,
            Computations(
                diagnose=diagnose_snapshot, advise=lambda _d, _s: ("Raise the class",), draw=lambda _d, _s: b""
            ),
            owner="first",
            clock=WatchClock(now_s=lambda: self.now_s, steady_s=lambda: self.passed_s),
            log=lambda event, **fields: self.lines.append({"event": event, **fields}),
            usd_per_metric=0.00001,
            version="1.0",
            page=WebPage,
        )
        address: list[str] = []
        listening = threading.Event()

        def on_listening(text: str) -> None:
            address.append(text)
            listening.set()

        thread = threading.Thread(target=self.service.run, args=(on_listening,))
        thread.start()
        try:
            assert listening.wait(10.0)
            yield f"http://{address[0]}/"
        finally:
            self.service.stop()
            thread.join(20.0)
            assert not thread.is_alive()

    def pass_time(self, minutes: int) -> None:
        """Let minutes pass, and let the loop look."""
        assert self.service is not None
        self.passed_s += minutes * MINUTE
        self.service._woken.set()

    def shown_at(self, name: str) -> int:
        """The end of the data of an instance that readers see; 0 before the first."""
        assert self.service is not None
        for entry in self.service._board.entries():
            if entry.status.instance.name == name and entry.status.numbers is not None:
                return entry.status.numbers.at_s
        return 0

    @property
    def count(self) -> int:
        """Instances that readers see."""
        assert self.service is not None
        return len(self.service._board.entries())
