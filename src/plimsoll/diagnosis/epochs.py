"""
Events in the window: changes that end one epoch of limits and begin another, and the hours after a
restore, in which storage is slow for another reason than a limit.

Source:
    RDS User Guide, "Restoring to a DB instance" (a restored instance loads its data in the
    background, and fetches what is touched before it is loaded from Amazon S3) and "Converting to
    Multi-AZ" (the standby's volumes initialise in the background). Neither says for how long.
"""

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.diagnosis import Interval, Missing
from plimsoll.model.family import INSTANCE_FAMILIES, VOLUME_FAMILIES
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import Annotation, EventKind
from plimsoll.units import format_clock, gib

# No duration is documented. A day covers what users report of volumes up to a terabyte or so; a
# larger one takes at least as long as reading all of it at what the instance can hold.
LAZY_S = 86_400
# First words of contexts; findings distinguish contexts by them.
BEFORE_CHANGE = "before"
LOADING = ("lazy loading", "loading of the standby")
LOADING_CODE = "StorageLazyLoading"
LOADING_MOVES = ("Read every table once, with pg_prewarm or a full scan, before judging the storage.",)
# Words of the event that ends an optimisation.
_ENDINGS = ("finish", "complet")


class Epoch(Struct, frozen=True, kw_only=True):
    """A part of the window in which class and storage did not change."""

    start_s: int
    end_s: int
    """Epoch seconds, [start, end)."""
    ceilings: tuple[Ceiling, ...]
    """Its documented ceilings, without the families that were changed later."""
    unknown: str = ""
    """Why some limits are unknown: `before the class was changed at 2026-11-19 10:02 UTC`; or empty."""


class Loading(Struct, frozen=True, kw_only=True):
    """Hours in which storage is loaded from S3 in the background."""

    start_s: int
    end_s: int
    label: str
    """`lazy loading after the restore at 2026-11-19 10:02 UTC`"""


def epochs_of(
    annotations: tuple[Annotation, ...], ceilings: tuple[Ceiling, ...], window_s: tuple[int, int]
) -> tuple[Epoch, ...]:
    """
    Return the window cut at changes of class and storage, the present epoch last.

    The event does not say what the instance had before a change, so those limits are unknown before
    it. A level found there has an unknown origin and is not compared with today's limits.
    """
    start, end = window_s
    epochs: list[Epoch] = []
    known, unknown = ceilings, ""
    for change in sorted(_changes(annotations, window_s), key=lambda a: -a.time_s):
        if change.time_s < end:
            epochs.append(Epoch(start_s=change.time_s, end_s=end, ceilings=known, unknown=unknown))
            end = change.time_s
        is_class = change.kind is EventKind.CLASS_CHANGE
        # From the last change backwards: before a change of class the volumes' limits are still
        # known, and before a change of storage those of the class.
        gone = INSTANCE_FAMILIES if is_class else VOLUME_FAMILIES
        known = tuple(c for c in known if c.family not in gone)
        what = "class" if is_class else "storage"
        unknown = f"{BEFORE_CHANGE} the {what} was changed at {format_clock(change.time_s)} UTC"
    epochs.append(Epoch(start_s=start, end_s=end, ceilings=known, unknown=unknown))
    return tuple(reversed(epochs))


def _changes(annotations: tuple[Annotation, ...], window_s: tuple[int, int]) -> list[Annotation]:
    return [
        a
        for a in annotations
        if a.kind in (EventKind.CLASS_CHANGE, EventKind.STORAGE_CHANGE) and window_s[0] < a.time_s < window_s[1]
    ]


def missing_before_changes(annotations: tuple[Annotation, ...], window_s: tuple[int, int]) -> tuple[Missing, ...]:
    """Return a gap for the time before each kind of change, with its remedy."""
    found = []
    for kind, what, flags in (
        (EventKind.CLASS_CHANGE, "instance class", "--class"),
        (EventKind.STORAGE_CHANGE, "storage", "--storage, --size-gib and --iops"),
    ):
        times = [a.time_s for a in _changes(annotations, window_s) if a.kind is kind]
        if times:
            moment = f"{format_clock(max(times))} UTC"
            found.append(
                Missing(
                    name=f"{what} before {moment}",
                    hides=f"the documented limits of the {what} until then",
                    remedy=(
                        f"The {what} was changed then, and the event does not say from what. "
                        f"Diagnose the time before with --to and its {flags}, or compare "
                        "both windows with 'plimsoll compare TARGET --at'."
                    ),
                )
            )
    return tuple(found)


def loadings_of(
    annotations: tuple[Annotation, ...], instance: Instance, ceilings: tuple[Ceiling, ...]
) -> tuple[Loading, ...]:
    """Return the hours after each restore and each conversion to Multi-AZ."""
    labels = {
        EventKind.RESTORE: f"{LOADING[0]} after the restore at",
        EventKind.CONVERSION: f"{LOADING[1]} after the conversion to Multi-AZ at",
    }
    lasts_s = _loading_s(instance, ceilings)
    return tuple(
        Loading(start_s=a.time_s, end_s=a.time_s + lasts_s, label=f"{labels[a.kind]} {format_clock(a.time_s)} UTC")
        for a in annotations
        if a.kind in labels
    )


def _loading_s(instance: Instance, ceilings: tuple[Ceiling, ...]) -> int:
    size = instance.storage.size_gib
    rates = [
        c.value for c in ceilings if c.dimension is Dimension.THROUGHPUT and c.phase in (Phase.BASELINE, Phase.FIXED)
    ]
    if size is None or not rates:
        return LAZY_S
    # A lower bound: every block passes the lowest ceiling once, so size ÷ rate is the least time.
    return max(LAZY_S, int(gib(size) / min(rates)))


def with_contexts(
    intervals: tuple[Interval, ...],
    loadings: tuple[Loading, ...],
    epochs: tuple[Epoch, ...],
    annotations: tuple[Annotation, ...],
) -> tuple[Interval, ...]:
    """Return the intervals with their context: the event at that time, or why limits are unknown."""
    return tuple(
        replace(i, context=_event_at(i, loadings, annotations) or _unknown_limits_at(i, epochs)) for i in intervals
    )


def _unknown_limits_at(interval: Interval, epochs: tuple[Epoch, ...]) -> str:
    """Return why limits are unknown at the time of an unexplained level; empty for an explained one."""
    if interval.ceiling is not None:
        return ""
    return next((e.unknown for e in epochs if e.start_s <= interval.start_s < e.end_s), "")


def _event_at(interval: Interval, loadings: tuple[Loading, ...], annotations: tuple[Annotation, ...]) -> str:
    for loading in loadings:
        if loading.start_s <= interval.start_s < loading.end_s:
            return loading.label
    optimising = [
        a for a in annotations if a.kind is EventKind.OPTIMISATION and a.time_s <= interval.start_s < a.time_s + LAZY_S
    ]
    # RDS reports the end of an optimisation as an event of the same kind.
    if optimising and not any(word in optimising[-1].text.lower() for word in _ENDINGS):
        return f"storage optimisation since {format_clock(optimising[-1].time_s)} UTC"
    return ""
