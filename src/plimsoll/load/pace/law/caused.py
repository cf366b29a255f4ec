"""
Count what a batch causes at the device: what the server has done, and pages that it still has to write.

Theory. WAL is written at once, and its position is exact at any moment. A page of a table or an index is changed in
the server's cache and written later: by the batch's own session, by the background writer, or at the next checkpoint.
Bytes that were done are therefore less than those that were caused. The difference is a debt, and the credits for it
are already spent.

Rule 1: the debt is never less than what shows that pages were changed: the growth of files, and the bytes that
        batches have sent. A session reports its growth when its transaction ends, so until then the bytes count.
Rule 2: the debt is never more than the server's cache, which holds the pages that are not yet written.
Rule 3: pages by which files grew lie one after the other, and a checkpoint writes them in that order. The device
        merges them; the server counts each.
"""

from dataclasses import dataclass, replace

from plimsoll.load.merging import MERGED_LEAST_BYTES, MERGED_LIKELY_BYTES
from plimsoll.load.pace.law.truths import FastTruth, ServerCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class DebtChange:
    """What one interval did to the debt, in bytes."""

    owed_bytes: float
    """By how much it grew; below zero where it was paid back."""
    paid_bytes: float
    """Written of it, ≥ 0."""


def requests_of(page_bytes: float) -> float:
    """Return the likely number of operations for pages of the debt."""
    return page_bytes / MERGED_LIKELY_BYTES


def most_requests_of(page_bytes: float) -> float:
    """Return the highest number of operations for pages of the debt: for credits, which one cannot get back."""
    return page_bytes / MERGED_LEAST_BYTES


def as_merged(server: ServerCounts, paid_bytes: float) -> ServerCounts:
    """Return the counts of a server with pages of the debt counted as the device does."""
    alone = min(paid_bytes / server.block_bytes, server.ops)
    return replace(server, ops=server.ops - alone + min(requests_of(paid_bytes), alone))


class UnwrittenPages:
    """The pages that a server has changed and not yet written, as far as its counters show them."""

    def __init__(self) -> None:
        """Start with none."""
        self.bytes = 0.0
        """Lower bound, ≥ 0."""
        self._unreported_bytes = 0.0

    def add(self, fast: FastTruth) -> DebtChange:
        """
        Take one interval, and return what it did to the debt.

        Args:
            fast: an interval with the server's counters.
        """
        server = fast.server
        assert server is not None
        before, unreported = self.bytes, self._unreported_bytes
        sent = fast.all_bytes_per_s * (fast.end_s - fast.start_s)
        most = server.cache_bytes
        # A compressed table grows by less than what is sent, so the difference would grow for ever without a bound.
        self._unreported_bytes = min(max(unreported + sent - server.extend_bytes, 0.0), most)
        grown = server.extend_bytes + self._unreported_bytes - unreported
        self.bytes = min(max(before + grown - server.write_bytes, 0.0), most)
        return DebtChange(owed_bytes=self.bytes - before, paid_bytes=min(max(before + grown, 0.0), server.write_bytes))
