"""What the watch hands to a page, and what it expects of one."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct
from starlette.routing import BaseRoute

from plimsoll.watch.delivery import Log
from plimsoll.watch.found import Board
from plimsoll.watch.history import History
from plimsoll.watch.law.evaluation import WatchedInstance
from plimsoll.watch.law.metrics import OwnerStatus
from plimsoll.watch.ledger import Acknowledgement
from plimsoll.watch.targets import WatchClock


class PageSources(Struct, frozen=True, kw_only=True):
    """All that a page reads, and the one thing that it may write; safe in any thread."""

    board: Board
    history: History
    clock: WatchClock
    log: Log
    version: str
    external_url: str
    """Address by which people reach the page; empty if none is configured."""
    is_owner: Callable[[], bool]
    """Returns whether this process has the lease; a spare knows nothing of the instances."""
    status: Callable[[], OwnerStatus | None]
    """Returns what the last turn of the loop found."""
    acknowledge: Callable[[WatchedInstance, Acknowledgement], bool]
    """Notes that somebody knows of an alert; returns whether it is still in that state. Raises LedgerError."""
    withdraw: Callable[[WatchedInstance, str], None]
    """Forgets that, by the key of the episode. Raises LedgerError."""


class WatchPage(Protocol):
    """A page that the server of the watch serves."""

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """Return its paths."""

    def end(self) -> None:
        """End answers that have no end; called from another thread."""


PageFactory = Callable[[PageSources], WatchPage]
