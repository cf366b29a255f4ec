"""
What follows from what: a vacuum of what rewrites left dead is no cause beside them, it is their price; whole
pages in WAL after checkpoints that come too early are the price of those.

Rule 1: nothing is added or left out here. A cause comes before what follows from it, however large that is,
        and says how large; but what is sure to be critical comes before what is not.
Rule 2: the reads of a statement that a scan or a rewrite of its table is already judged for are the same
        bytes seen from another side: the statement is then a note.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from plimsoll.causes.named import is_named
from plimsoll.model.cause import Cause, CauseKind
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import format_bytes_per_s, format_ratio

_TOAST = " (TOAST)"
# Where another cause of the same table makes half of a statement's reads, the statement says nothing new.
_SAME_BYTES = 0.5


def in_order(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """
    Return the causes, each followed by what comes of it where that was ahead of it.

    Args:
        causes: the worst first.
    """
    found = list(causes)
    for rewrite in causes:
        if rewrite.kind is not CauseKind.TOAST or rewrite.severity == "note":
            continue
        vacuums = [c for c in found if _is_of(c, rewrite) and c.bytes_per_s]
        if not vacuums:
            continue
        ahead = [c for c in vacuums if c.severity == rewrite.severity]
        place = min(found.index(one) for one in (rewrite, *ahead))
        told = replace(rewrite, evidence=(*rewrite.evidence, _price(rewrite, vacuums)))
        found.remove(rewrite)
        found.insert(place, told)
    return _checkpoints_first(found)


def _checkpoints_first(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """Return the causes, with checkpoints ahead of the whole pages that they put into WAL."""
    pages = next((one for one in causes if one.code == "WalFullPages"), None)
    early = next((one for one in causes if one.code == "CheckpointsByWal"), None)
    if pages is None or early is None or early.severity != pages.severity:
        return tuple(causes)
    place = min(causes.index(pages), causes.index(early))
    rest = [one for one in causes if one is not early]
    return (*rest[:place], early, *rest[place:])


def without_second_views(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """Return the causes, where statements whose reads another cause is judged for have become notes."""
    judged = [c for c in causes if c.severity != "note" and c.code != "StatementReads"]
    return tuple(
        replace(cause, severity="note")
        if cause.code == "StatementReads" and any(_is_view(cause, other) for other in judged)
        else cause
        for cause in causes
    )


def _is_view(statement: Cause, other: Cause) -> bool:
    """Return whether the other cause is of a table that the statement names, and makes most of its reads."""
    # schema.table, or schema.table.column
    _, *names = other.subject.removesuffix(_TOAST).replace('"', "").split(".")
    if not any(is_named(name, statement.subject) for name in names):
        return False
    return (other.read_bytes_per_s or 0.0) >= _SAME_BYTES * (statement.read_bytes_per_s or 0.0)


def _is_of(cause: Cause, rewrite: Cause) -> bool:
    """Return whether it is a vacuum of the values that were rewritten."""
    if cause.kind is not CauseKind.VACUUM or not cause.subject.endswith(_TOAST):
        return False
    table = cause.subject.removesuffix(_TOAST)
    return rewrite.subject == table or rewrite.subject.startswith(f"{table}.")


def _price(rewrite: Cause, vacuums: Sequence[Cause]) -> Evidence:
    moved = sum(cause.bytes_per_s or 0.0 for cause in vacuums)
    text = f"vacuum of what is left dead moved {format_bytes_per_s(moved, 3)} more"
    shares = [cause.share_of_load for cause in (rewrite, *vacuums)]
    known = [share for share in shares if share is not None]
    if len(known) == len(shares):
        text += f", {format_ratio(sum(known[1:]))} of the load"
        # Estimates may be of the same bytes.
        if sum(known) <= 1:
            text += f"; with it the rewrites take {format_ratio(sum(known))}"
    return Evidence(kind="vacuum", text=text, value=moved)
