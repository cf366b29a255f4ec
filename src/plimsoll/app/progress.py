"""What is shown while a source is read. A library shows nothing; a command line shows it on a terminal."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.model.overview import Usage


class Progress:
    """Shows nothing; what wants to show something overrides it."""

    def waiting(self, said: Callable[[], str]) -> AbstractContextManager[None]:
        """
        Return a block during which the reader waits for a source.

        Args:
            said: what it waits for now; empty for nothing.
        """
        del said
        return nullcontext()

    def spent(self, usage: "Usage", usd: Decimal | None) -> None:
        """
        Take notice of what was asked of AWS.

        Args:
            usage: requests and metrics.
            usd: US dollars that they cost; None where the price is not known.
        """


SILENT = Progress()
