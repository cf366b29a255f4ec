"""Progress of reading a source. A library shows none; the command line shows it on a terminal."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.model.overview import Usage


class Progress:
    """Shows nothing; a subclass may show progress."""

    def waiting(self, text: Callable[[], str]) -> AbstractContextManager[None]:
        """
        Return a context in which the reader waits for a source.

        Args:
            text: returns what it waits for now; empty for nothing.
        """
        del text
        return nullcontext()

    def spent(self, usage: "Usage", usd: Decimal | None) -> None:
        """
        Take the requests that were sent to AWS, and their cost.

        Args:
            usage: requests and metrics.
            usd: their cost in US dollars; None if the price is not known.
        """


SILENT = Progress()
