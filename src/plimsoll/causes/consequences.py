"""
Order causes and their consequences.

Vacuum of dead rows from TOAST rewrites is a consequence of the rewrites. Full-page images in WAL are a
consequence of too frequent checkpoints.

Rule 1: nothing is added or removed here. A cause comes before its consequence, however large, and has its
        size as evidence. Severity still comes first.
Rule 2: if a scan or rewrite of a table explains a statement's reads, the statement is only a note: its
        reads are the same bytes.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from plimsoll.causes.named import is_named
from plimsoll.model.cause import Cause, CauseKind
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import format_bytes_per_s, format_ratio

_TOAST = " (TOAST)"
# A judgement: if another cause of the same table makes half of a statement's reads, the statement is no news.
_SAME_BYTES = 0.5


def in_order(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """
    Return the causes, each before its consequences of the same severity.

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
        extended = replace(rewrite, evidence=(*rewrite.evidence, _vacuum_evidence(rewrite, vacuums)))
        found.remove(rewrite)
        found.insert(place, extended)
    return _checkpoints_first(found)


def _checkpoints_first(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """Return the causes, with checkpoints before the full-page images they cause."""
    pages = next((one for one in causes if one.code == "WalFullPages"), None)
    early = next((one for one in causes if one.code == "CheckpointsByWal"), None)
    if pages is None or early is None or early.severity != pages.severity:
        return tuple(causes)
    place = min(causes.index(pages), causes.index(early))
    rest = [one for one in causes if one is not early]
    return (*rest[:place], early, *rest[place:])


def without_second_views(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """Return the causes, with statements as notes if another cause explains their reads."""
    judged = [c for c in causes if c.severity != "note" and c.code != "StatementReads"]
    return tuple(
        replace(cause, severity="note")
        if cause.code == "StatementReads" and any(_is_view(cause, other) for other in judged)
        else cause
        for cause in causes
    )


def _is_view(statement: Cause, other: Cause) -> bool:
    """Return whether the other cause is of a table in the statement, and explains half of its reads."""
    # schema.table, or schema.table.column
    _, *names = other.subject.removesuffix(_TOAST).replace('"', "").split(".")
    if not any(is_named(name, statement.subject) for name in names):
        return False
    return (other.read_bytes_per_s or 0.0) >= _SAME_BYTES * (statement.read_bytes_per_s or 0.0)


def _is_of(cause: Cause, rewrite: Cause) -> bool:
    """Return whether a cause is a vacuum of the rewritten values."""
    if cause.kind is not CauseKind.VACUUM or not cause.subject.endswith(_TOAST):
        return False
    table = cause.subject.removesuffix(_TOAST)
    return rewrite.subject == table or rewrite.subject.startswith(f"{table}.")


def _vacuum_evidence(rewrite: Cause, vacuums: Sequence[Cause]) -> Evidence:
    moved = sum(cause.bytes_per_s or 0.0 for cause in vacuums)
    text = f"vacuum of the dead rows moved {format_bytes_per_s(moved, 3)} more"
    shares = [cause.share_of_load for cause in (rewrite, *vacuums)]
    known = [share for share in shares if share is not None]
    if len(known) == len(shares):
        text += f", {format_ratio(sum(known[1:]))} of the load"
        # Estimates may overlap, and a share above 1 would be wrong.
        if sum(known) <= 1:
            text += f"; together with the rewrites {format_ratio(sum(known))}"
    return Evidence(kind="vacuum", text=text, value=moved)
