"""Choose the instance or host among those of a server."""

from collections.abc import Mapping, Sequence

from plimsoll.errors import UsageError
from plimsoll.sources.prometheus.exporters import Exporter, KnownSeries, Subject
from plimsoll.sources.values.shown import shown

# A judgement: a hint lists this many names, and counts the rest.
_MOST_LISTED = 12
_PLACES = ("aws_region", "region", "aws_account_id", "account_id")


def chosen(tracks: Sequence[KnownSeries], identifier: str | None) -> list[KnownSeries]:
    """
    Return the series of the single subject that is selected.

    Args:
        tracks: known series, at least one.
        identifier: name of the subject, compared without case; for a host with or without its port.

    Raises:
        UsageError: several subjects and none selected, or the selected one is missing.
    """
    by_name: dict[tuple[str, bool], list[KnownSeries]] = {}
    for track in tracks:
        key = (track.subject.identifier.lower(), track.exporter is Exporter.NODE)
        by_name.setdefault(key, []).append(track)
    meant = {
        key: found
        for key, found in by_name.items()
        if identifier is None or identifier.lower() in (key[0], key[0].rpartition(":")[0])
    }
    if not meant:
        raise UsageError(
            f"the server has no metrics of '{shown(identifier)}'", f"It has metrics of {_listing(by_name)}."
        )
    if len(meant) > 1:
        raise UsageError(
            f"the server has metrics of {len(meant):,} instances", f"Choose one with --match: {_listing(meant)}."
        )
    return _of_one_place(next(iter(meant.values())))


def subject_of(tracks: Sequence[KnownSeries]) -> Subject:
    """Return the name, region and account that the series of one subject state."""
    return Subject(
        identifier=tracks[0].subject.identifier,
        region=next((t.subject.region for t in tracks if t.subject.region), None),
        account=next((t.subject.account for t in tracks if t.subject.account), None),
    )


def _of_one_place(tracks: list[KnownSeries]) -> list[KnownSeries]:
    """
    Refuse series of one name from several regions or accounts.

    RDS names are unique only within a region of an account; series without either match any.
    """
    for what in ("region", "account"):
        places = {p for t in tracks if (p := getattr(t.subject, what)) is not None}
        if len(places) > 1:
            matches = {
                f"{label}={shown(t.labels[label], 63)}": None
                for t in tracks
                for label in _PLACES
                if t.labels.get(label) in places
            }
            raise UsageError(
                f"'{shown(tracks[0].subject.identifier, 63)}' is in {len(places)} {what}s",
                f"Choose one with --match: {', '.join([*matches][:_MOST_LISTED])}.",
            )
    return tracks


def _listing(by_name: Mapping[tuple[str, bool], Sequence[KnownSeries]]) -> str:
    names = [f"{t[0].label}={shown(t[0].subject.identifier, 63)}" for t in by_name.values()]
    more = len(names) - _MOST_LISTED
    listed = ", ".join(sorted(names)[:_MOST_LISTED])
    return listed + (f" and {more:,} more" if more > 0 else "")
