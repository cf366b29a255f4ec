"""Many instances at once: what could not be read of them, and what the reading cost."""

from msgspec import Struct


class Unread(Struct, frozen=True, kw_only=True):
    """An instance that could not be read; the others still are."""

    identifier: str
    reason: str
    """Cause, lower case without full stop: `access denied to cloudwatch:GetMetricData`."""
    remedy: str
    """A sentence."""


class Usage(Struct, frozen=True, kw_only=True):
    """What a reading asked of a provider's API."""

    calls: tuple[tuple[str, int], ...]
    """Requests sent, retries included, by action as IAM names it: (`rds:DescribeDBInstances`, 2)."""
    metrics_requested: int
    """Metrics asked for with GetMetricData, which is billed by metric and not by request."""

    @property
    def call_count(self) -> int:
        """Requests of all actions."""
        return sum(count for _, count in self.calls)
