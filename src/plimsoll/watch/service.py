"""
The process around the loop: senders, health, a new configuration, and an orderly end.

Rule 1: a configuration that cannot be used changes nothing; the old one goes on.
Rule 2: at the end the message that is being sent is finished. The others stay in the ledger.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.errors import PlimsollError
from plimsoll.watch.config import WatchSettings, address_of
from plimsoll.watch.delivery import Delivery, DeliveryThread, Log
from plimsoll.watch.exposition import exposition
from plimsoll.watch.found import Board
from plimsoll.watch.history import History
from plimsoll.watch.inspecting import DatabaseWatch, DatabaseWatches
from plimsoll.watch.law.evaluation import WatchedInstance
from plimsoll.watch.law.metrics import ProcessStatus, samples_of
from plimsoll.watch.ledger import Acknowledgement, Ledger, LedgerError
from plimsoll.watch.loop import RENEW_S, Watch
from plimsoll.watch.pages import PageFactory, PageSources
from plimsoll.watch.receivers.receiver import Receiver
from plimsoll.watch.tally import EventTally
from plimsoll.watch.targets import Computations, WatchClock, WatchTarget
from plimsoll.watch.web import Answer, WatchServer, WebAccess

# Longer than one request to a receiver may take, shorter than the 90 s after which systemd kills.
_PATIENCE_S = 60.0
# A turn of the loop that shows no sign of life for this long is stuck: an instance takes seconds.
_STUCK_S = 300.0


class _StoppedError(Exception):
    """The service is to end in the middle of a round."""


class OpenedConfiguration(Struct, frozen=True, kw_only=True):
    """A configuration, with everything that it names opened."""

    settings: WatchSettings
    targets: Sequence[WatchTarget]
    receivers: Sequence[Receiver]


class WatchService:
    """Watches until it is stopped."""

    def __init__(
        self,
        load: Callable[[], OpenedConfiguration],
        computations: Computations,
        *,
        owner: str,
        clock: WatchClock,
        log: Log,
        usd_per_metric: float | None,
        version: str = "",
        access: WebAccess | None = None,
        page: PageFactory | None = None,
    ) -> None:
        """
        Load the configuration.

        Args:
            load: reads the configuration and opens what it names.
            computations: what is computed of snapshots.
            owner: name of this process in the lease.
            clock: of this process.
            log: takes events.
            usd_per_metric: price; None if it is not known.
            version: of the program, for its metrics.
            access: who may read over HTTP; None for everybody.
            page: makes the page; None for none.

        Raises:
            PlimsollError: the configuration cannot be used.
        """
        self._load, self._computations, self._owner = load, computations, owner
        self._clock, self._log, self._usd_per_metric = clock, log, usd_per_metric
        self._opened = load()
        settings = self._opened.settings
        self._ledger_path = Path(settings.ledger)
        self._kept = _kept_of(settings)
        self._stopping, self._woken = threading.Event(), threading.Event()
        self._is_reload_wanted = False
        self._checked: OpenedConfiguration | None = None
        self._watch: Watch | None = None
        self._senders: list[DeliveryThread] = []
        self._databases = DatabaseWatches({}, computations.weigh)
        self._alive_s = clock.steady_s()
        self._version, self._tally, self._access = version, EventTally(), access
        self._page, self._board = page, Board()
        self._round_s: float | None = None

    # --- called from elsewhere --------------------------------------------------------------------

    def stop(self) -> None:
        """End soon; safe in a handler of signals."""
        self._stopping.set()
        self._woken.set()

    def reload(self) -> None:
        """Read the configuration again soon; safe in a handler of signals."""
        self._checked = None
        self._is_reload_wanted = True
        self._woken.set()

    def healthy(self) -> Answer:
        """Return whether the loop shows signs of life."""
        silent_s = self._clock.steady_s() - self._alive_s
        if silent_s > _STUCK_S:
            return 503, f"the loop has been stuck for {silent_s:.0f} s"
        return 200, "healthy"

    def ready(self) -> Answer:
        """Return whether the targets were read once, or another process does that."""
        watch = self._watch
        if watch is None or watch.round_count == 0:
            return 503, "the first reading is not finished"
        return 200, "ready" if watch.is_owner else "ready: spare, another process has the lease"

    def metrics(self, accept: str, accept_encoding: str) -> tuple[bytes, dict[str, str]]:
        """
        Return what the last turn of the loop found as the text of its metrics, and its headers.

        Nothing is read for it: the loop hands over a value that never changes.

        Args:
            accept: header `Accept` of the request.
            accept_encoding: header `Accept-Encoding`.
        """
        watch = self._watch
        process = ProcessStatus(
            version=self._version,
            is_owner=watch is not None and watch.is_owner,
            round_s=self._round_s,
            counts=self._tally.counts(),
        )
        samples = samples_of(
            process,
            watch.shown if watch is not None else None,
            now_s=self._clock.now_s(),
            steady_s=self._clock.steady_s(),
        )
        return exposition(samples, accept=accept, accept_encoding=accept_encoding)

    # --- the process ------------------------------------------------------------------------------

    def run(self, on_listening: Callable[[str], None] = lambda _address: None) -> None:
        """
        Watch until `stop` is called.

        Args:
            on_listening: called with the address of the server.

        Raises:
            PlimsollError: the ledger or the address cannot be opened.
        """
        address = self._opened.settings.web.listen_address
        with self._open_ledger() as ledger:
            if not address:
                self._watch_until_stopped(ledger)
                return
            page = self._page(self._page_sources()) if self._page is not None else None
            with WatchServer(
                address_of(address),
                healthy=self.healthy,
                ready=self.ready,
                reload=self._reload_by_request,
                metrics=self.metrics,
                log=self._log,
                access=self._access,
                routes=page.routes if page is not None else (),
                on_end=page.end if page is not None else lambda: None,
            ) as server:
                on_listening(server.address)
                self._watch_until_stopped(ledger)

    def _page_sources(self) -> PageSources:
        def acknowledge(instance: WatchedInstance, known: Acknowledgement) -> bool:
            with self._open_ledger() as ledger:
                is_noted = ledger.acknowledge(known, now_s=self._clock.now_s())
            self._board.touch(instance)
            return is_noted

        def withdraw(instance: WatchedInstance, key: str) -> None:
            with self._open_ledger() as ledger:
                ledger.withdraw(key, now_s=self._clock.now_s())
            self._board.touch(instance)

        return PageSources(
            board=self._board,
            history=History(self._ledger_path),
            clock=self._clock,
            log=self._log,
            version=self._version,
            external_url=self._opened.settings.web.external_url,
            is_owner=lambda: self._watch is not None and self._watch.is_owner,
            status=lambda: self._watch.shown if self._watch is not None else None,
            acknowledge=acknowledge,
            withdraw=withdraw,
        )

    def _watch_until_stopped(self, ledger: Ledger) -> None:
        self._begin(ledger)
        try:
            self._turn(ledger)
        except _StoppedError:
            # What was read is stored; what was not is read by the next process.
            pass
        finally:
            self._end(ledger)

    def once(self) -> int | None:
        """
        Read, judge and send once.

        Returns:
            Exit status: 1 if anything is bound, else 2 if anything is unknown, else 0. None if another process
            has the lease.

        Raises:
            PlimsollError: the ledger cannot be used.
        """
        with self._open_ledger() as ledger:
            watch = self._new_watch(ledger, is_single=True)
            try:
                watch.round()
                if watch.ledger_error is not None:
                    raise watch.ledger_error
                if not watch.is_owner:
                    return None
                for receiver in self._opened.receivers:
                    Delivery(receiver, ledger, now_s=self._clock.now_s, log=self._log).send_due()
                return watch.status()
            finally:
                ledger.release_lease()

    def _turn(self, ledger: Ledger) -> None:
        while not self._stopping.is_set():
            self._woken.clear()
            if self._is_reload_wanted:
                self._is_reload_wanted = False
                self._reload(ledger)
            assert self._watch is not None
            rest_s = self._watch.round(self._note_life)
            self._note_life()
            self._round_s = self._clock.now_s()
            for sender in self._senders:
                sender.wake()
            if not self._stopping.is_set() and not self._is_reload_wanted:
                self._woken.wait(min(rest_s, RENEW_S))

    def _note_life(self) -> None:
        self._alive_s = self._clock.steady_s()
        if self._stopping.is_set():
            raise _StoppedError

    def _begin(self, ledger: Ledger) -> None:
        self._databases = self._new_databases()
        self._watch = self._new_watch(ledger)
        self._databases.start()
        self._senders = [
            DeliveryThread(
                receiver,
                self._open_ledger,
                may_send=self._is_owner,
                now_s=self._clock.now_s,
                log=self._log,
                tally=self._tally,
            )
            for receiver in self._opened.receivers
        ]

    def _new_databases(self) -> DatabaseWatches:
        return DatabaseWatches(
            {
                (target.name, name): DatabaseWatch(
                    name,
                    observe,
                    interval_s=self._opened.settings.inspection.interval_s,
                    may_read=self._is_owner,
                    steady_s=self._clock.steady_s,
                    log=self._log,
                    tally=self._tally,
                )
                for target in self._opened.targets
                for name, observe in target.databases.items()
            },
            self._computations.weigh,
        )

    def _is_owner(self) -> bool:
        return self._watch is not None and self._watch.is_owner

    def _new_watch(self, ledger: Ledger, *, is_single: bool = False) -> Watch:
        return Watch(
            self._opened.settings,
            self._opened.targets,
            ledger,
            replace(self._computations, load=self._databases.load),
            clock=self._clock,
            log=self._log,
            usd_per_metric=self._usd_per_metric,
            is_single=is_single,
            tally=self._tally,
            board=self._board,
        )

    def _open_ledger(self) -> Ledger:
        return Ledger(self._ledger_path, owner=self._owner)

    def _reload(self, ledger: Ledger) -> None:
        checked, self._checked = self._checked, None
        try:
            self._opened = checked or self._load()
        except PlimsollError as error:
            self._log("not reloaded", error=error.message, hint=error.hint)
            return
        self._note_kept()
        self._databases.stop()
        self._stop_senders()
        self._begin(ledger)
        self._log("reloaded", targets=len(self._opened.targets))

    def _note_kept(self) -> None:
        """Log what a reload does not change: the file and the socket that the process has open."""
        for name, wanted in _kept_of(self._opened.settings).items():
            if wanted != self._kept[name]:
                self._log(
                    "not changed",
                    setting=name,
                    still=self._kept[name],
                    hint="Restart plimsoll watch to use the new value.",
                )

    def _reload_by_request(self) -> Answer:
        try:
            checked = self._load()
        except PlimsollError as error:
            return 400, f"the old configuration goes on: {error.message}"
        self._checked = checked
        self._is_reload_wanted = True
        self._woken.set()
        return 200, "reloading"

    def _stop_senders(self) -> None:
        for sender in self._senders:
            if not sender.stop(_PATIENCE_S):
                self._log("sender did not end in time")
        self._senders = []

    def _end(self, ledger: Ledger) -> None:
        self._databases.stop()
        self._stop_senders()
        try:
            ledger.release_lease()
            self._log("stopped", waiting=ledger.waiting_count())
        except LedgerError as error:
            self._log("stopped", error=error.message)


def _kept_of(settings: WatchSettings) -> dict[str, str]:
    """Return the settings that a reload does not change, by name."""
    return {
        "ledger": settings.ledger,
        "listen_address": settings.web.listen_address,
        "config_file": settings.web.config_file,
    }
