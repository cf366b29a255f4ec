"""
Remember the other batches of a server while it does not tell which there are.

Rule 1: what is not known is never taken as free. No answer leaves the peers as they were.
Rule 2: a peer of which nothing is seen does not count for ever: the allowance is never bound to a batch that has ended.
Rule 3: time is a sum of the lengths of intervals, so a clock that is set back keeps no peer.
"""

from plimsoll.units import format_duration

# A batch loses its connection when a statement takes too long (2 s) or the server restarts, and no other batch sees
# it then. It connects again with its next tick (1 s), and may wait for the connection (2 s) and for its first answer
# (2 s): by 5 s it is back, or it has ended. Until then the rate of a batch that has ended is used by nobody.
GONE_S = 5.0


class KnownPeers:
    """The rates of other batches, as far as answers of the server show them."""

    def __init__(self, stale_s: float) -> None:
        """
        Start with none: most batches are alone, and a pace begins with an answer of the server.

        Args:
            stale_s: how long peers count after the last answer that showed them all, > 0. That is the age at which
                metrics no longer count either: batches end in minutes to hours, and a server that is full for
                longer would keep a batch that is alone by now at a part of its rate.
        """
        self._stale_s = stale_s
        self.rates: tuple[float, ...] = ()
        """Bytes/s of each of our role, in its own bytes."""
        self.foreign: tuple[float, ...] = ()
        """The same of other roles."""
        self.part_count = 1
        """Into how many equal parts the allowance is divided; one is this batch's."""
        self._age_s = self._silent_s = self._fewer_s = 0.0

    @property
    def count(self) -> int:
        """Return how many other batches there are."""
        return len(self.rates) + len(self.foreign)

    def observe(
        self,
        told: tuple[float, ...] | None,
        length_s: float,
        *,
        foreign: tuple[float, ...] = (),
        part_count: int | None = None,
    ) -> None:
        """
        Take the answer at the end of one interval.

        Args:
            told: rates of all peers of our role; None if the server did not answer.
            length_s: of the interval, > 0.
            foreign: rates of those of other roles.
            part_count: parts of the allowance; None for one of each batch.
        """
        self._age_s += length_s
        if told is None:
            self._silent_s += length_s
            self._fewer_s = 0.0
            if self._age_s > self._stale_s:
                self.rates, self.foreign, self.part_count = (), (), 1
            return
        self._silent_s = 0.0
        self._fewer_s += length_s
        is_complete = len(told) + len(foreign) >= self.count or self._fewer_s >= GONE_S
        if is_complete or self._age_s > self._stale_s:
            self.rates, self.foreign = told, foreign
            self.part_count = 1 + len(told) if part_count is None else part_count
            self._age_s = self._fewer_s = 0.0

    def missing(self) -> list[str]:
        """Return what is not known of peers, and what is assumed instead; nothing while the server answers."""
        if not self._silent_s:
            return []
        silent = f"the server has not answered for {format_duration(self._silent_s)}"
        if not self.count:
            return [f"{silent}; other batches are not seen"]
        are = "1 other batch counts" if self.count == 1 else f"{self.count} others count"
        return [f"{silent}; {are} as before"]
