"""
Many instances as JSON: the form `plimsoll.overview/1`, described in docs/reference/overview-json.md.

Keys are sorted, so equal overviews give equal bytes.
"""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from plimsoll.model.ceiling import Unit
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.family import unit_at
from plimsoll.model.instance import Instance
from plimsoll.model.overview import BoundTime, Overview, OverviewRow, UnreadInstance, Usage
from plimsoll.model.written import Count, Inline, Positive
from plimsoll.reports.overview.document import failed_groups, headline
from plimsoll.reports.render import words
from plimsoll.reports.render.form import Document
from plimsoll.reports.render.json_values import json_bytes

Rank = Annotated[int, Meta(ge=1)]


class CountsObject(Struct, frozen=True, kw_only=True):
    """The number of instances by verdict. Those that could not be judged are `unknown` and `unread` together."""

    instances: Count
    """All, those that could not be read too."""
    binds: Count
    """Up against a limit at some time of the window."""
    near: Count
    """Came near a limit, reached none."""
    slack: Count
    """Measured and not near any limit."""
    unknown: Count
    """Read, but not to be judged."""
    binds_now: Count
    """Of `binds`: up against a limit at the end of the window."""
    unread: Count
    """Not read."""


class BoundObject(Struct, frozen=True, kw_only=True):
    """A ceiling of an instance and the time spent at it."""

    bound: Inline[BoundTime]
    name: str
    """Family and phase for people."""
    unit: Unit
    """Unit of `value`."""


class RowObject(Struct, frozen=True, kw_only=True):
    """One instance."""

    rank: Rank
    """Place among all instances, 1 for the most urgent; those that could not be read have a place too."""
    row: Inline[OverviewRow]
    storage: str
    """The storage that was bought, in words; `unknown` where it is not known."""
    is_bound_now: bool
    """Whether a ceiling binds at the end of the window."""
    binding: BoundObject | None
    """The ceiling that bound for the longest time; null if none did."""
    now: BoundObject | None
    """The ceiling that binds at the end of the window; null if none does."""


class UnreadObject(Struct, frozen=True, kw_only=True):
    """An instance that could not be read."""

    rank: Rank
    """Place among all instances: after those that could not be judged, before those that are not near a limit."""
    instance: Inline[UnreadInstance]


class FailedObject(Struct, frozen=True, kw_only=True):
    """A request that failed for some instances."""

    reason: str
    """The failed request and its cause: `RDS events: access denied to rds:DescribeEvents`."""
    remedy: str
    """What would help, a sentence."""
    identifiers: tuple[str, ...]
    """The instances, by name."""


class CallObject(Struct, frozen=True, kw_only=True):
    """Requests of one action."""

    action: str
    """The action as IAM names it, such as `cloudwatch:GetMetricData`."""
    count: Count
    """Requests sent, retries included."""


class UsageObject(Struct, frozen=True, kw_only=True):
    """The requests to the provider's API."""

    usage: Inline[Usage]
    calls: tuple[CallObject, ...]
    """Requests by action."""


class OverviewDocument(Document, frozen=True, kw_only=True):
    """
    Plimsoll overview.

    What `plimsoll diagnose 'rds:*' --format json` writes. Every field is always present; null means
    not known or does not apply. SI units throughout: seconds, bytes, operations, ratios 0–1.
    """

    LEFT_OUT: ClassVar = {BoundTime: ("dimension",), Overview: ("usd",), OverviewRow: ("failed",)}
    ONLY: ClassVar = {Instance: ("identifier", "db_class", "engine", "engine_version", "region", "pending")}

    schema: Literal["plimsoll.overview/1"] = "plimsoll.overview/1"
    """Name and version of this form."""
    headline: str
    """The numbers of instances at a limit, of others, and of those that could not be judged; for people."""
    overview: Inline[Overview]
    is_simulated: bool
    """True where the samples of any instance come from a simulator."""
    stopped: str | None
    """Why the reading ended before all instances were read; null if it did not."""
    counts: CountsObject
    """How many instances have which verdict."""
    rows: tuple[RowObject, ...]
    """Every instance that was read, the most urgent first: bound now, bound, near, unknown, slack."""
    unread: tuple[UnreadObject, ...]
    """Every instance that could not be read."""
    failed: tuple[FailedObject, ...]
    """Requests that were refused or answered in part, for instances that were read; each reason once."""
    usage: UsageObject | None
    """The requests to the provider's API; null without any."""
    cost_usd: Positive | None
    """Their cost in US dollars; null where the price is not known."""


def render_overview_json(overview: Overview) -> bytes:
    """Return the overview as JSON."""
    ranked = list(enumerate(overview.ranked, start=1))
    document = OverviewDocument(
        headline=headline(overview),
        overview=overview,
        is_simulated=any(row.is_simulated for row in overview.rows),
        stopped=overview.stopped or None,
        counts=_counts(overview),
        rows=tuple(_row(row, rank) for rank, row in ranked if isinstance(row, OverviewRow)),
        unread=tuple(
            UnreadObject(rank=rank, instance=item) for rank, item in ranked if isinstance(item, UnreadInstance)
        ),
        failed=tuple(
            FailedObject(reason=reason, remedy=remedy, identifiers=tuple(sorted(names)))
            for (reason, remedy), names in sorted(failed_groups(overview).items())
        ),
        usage=_asked(overview.usage) if overview.usage else None,
        cost_usd=None if overview.usd is None else float(overview.usd),
    )
    return json_bytes(document)


def _counts(overview: Overview) -> CountsObject:
    rows = overview.rows
    return CountsObject(
        instances=len(rows) + len(overview.unread),
        **{verdict.value: sum(row.verdict is verdict for row in rows) for verdict in Verdict},
        binds_now=sum(row.now is not None for row in rows),
        unread=len(overview.unread),
    )


def _row(row: OverviewRow, rank: int) -> RowObject:
    return RowObject(
        rank=rank,
        row=row,
        storage=words.storage(row.instance),
        is_bound_now=row.now is not None,
        binding=_bound(row.binding) if row.binding else None,
        now=_bound(row.now) if row.now else None,
    )


def _bound(bound: BoundTime) -> BoundObject:
    return BoundObject(
        bound=bound,
        name=words.limit_name(bound.family, bound.phase, bound.former_phase),
        unit=unit_at(bound.family, bound.dimension),
    )


def _asked(usage: Usage) -> UsageObject:
    return UsageObject(usage=usage, calls=tuple(CallObject(action=name, count=count) for name, count in usage.calls))
