"""Percentiles of what a program counted in the buckets of a histogram, between two readings."""

from collections.abc import Sequence
from math import inf

from msgspec import Struct


class CountedBuckets(Struct, frozen=True):
    """Cumulative counts of a Prometheus histogram, by increasing upper bound; the last bound is infinite."""

    bounds: tuple[float, ...] = ()
    counts: tuple[float, ...] = ()

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]]) -> "CountedBuckets":
        """Return the buckets of pairs of an upper bound and a cumulative count."""
        ordered = sorted(pairs)
        return cls(tuple(bound for bound, _ in ordered), tuple(count for _, count in ordered))

    def since(self, before: "CountedBuckets") -> "CountedBuckets":
        """Return what came since an earlier reading of the same histogram; all, if it began anew since."""
        if before.bounds != self.bounds or before.counts[-1:] > self.counts[-1:]:
            return self
        return CountedBuckets(
            self.bounds, tuple(now - then for now, then in zip(self.counts, before.counts, strict=True))
        )

    def quantile(self, share: float) -> float | None:
        """
        Return the value below which a share 0–1 of the observations lies; None without observations.

        Within a bucket observations are taken to be spread evenly, as Prometheus does (histogram_quantile). Above the
        last finite bound, that bound is returned: it is then a lower bound.
        """
        total = self.counts[-1] if self.counts else 0.0
        if total <= 0:
            return None
        wanted = share * total
        low, below = 0.0, 0.0
        for bound, count in zip(self.bounds, self.counts, strict=True):
            if count >= wanted:
                if bound == inf:
                    return low
                return low + (bound - low) * (wanted - below) / max(count - below, 1e-12)
            low, below = bound, count
        return low
