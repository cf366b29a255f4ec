"""A vacuum comes after the rewrites that it clears away, and they say what it takes."""

import pytest

from plimsoll.causes.consequences import in_order, without_second_views
from plimsoll.model.cause import Cause, CauseKind


def cause(kind: CauseKind, subject: str, share: float | None = 0.4, **changes) -> Cause:
    """A cause that takes a share of 50 MB/s."""
    plain = {
        "kind": kind,
        "code": kind.value,
        "severity": "critical",
        "subject": subject,
        "title": "it is so",
        "written_bytes_per_s": 50e6 * (share or 0.4),
        "share_of_load": share,
    }
    return Cause(**{**plain, **changes})


VACUUM = cause(CauseKind.VACUUM, "public.documents (TOAST)", 0.42)
OTHER = cause(CauseKind.WAL, "")


@pytest.mark.parametrize("subject", ["public.documents.body", "public.documents"])
def test_what_makes_dead_rows_comes_before_what_clears_them(subject):
    """Though vacuum moves more; the shares are reported one by one and together."""
    rewrite = cause(CauseKind.TOAST, subject, 0.4)
    ordered = in_order((VACUUM, OTHER, rewrite))

    assert ["toast", "vacuum", "wal"] == [one.kind.value for one in ordered]
    assert "21 MB/s more, 42 % of the load; together with the rewrites 82 %" in (ordered[0].evidence[-1].text)


@pytest.mark.parametrize(
    "rewrite",
    [
        cause(CauseKind.TOAST, "public.other.body"),
        cause(CauseKind.TOAST, "public.documents2.body"),
        cause(CauseKind.TOAST, "public.documents.body", severity="note"),
    ],
    ids=["another table", "a longer name", "a note"],
)
def test_what_does_not_follow_stays_where_it_was(rewrite):
    """Rewrites of another table, and those that nothing has to be done about."""
    assert (VACUUM, rewrite) == in_order((VACUUM, rewrite))


@pytest.mark.parametrize(
    ("severity", "order"),
    [("critical", ["vacuum", "checkpoints", "wal", "toast"]), ("warning", ["vacuum", "wal", "toast", "checkpoints"])],
)
def test_early_checkpoints_come_before_the_whole_pages_they_make(severity: str, order: list[str]):
    """WAL is larger, but max_wal_size is the first remedy of both; what is no more than a warning stays behind."""
    pages = cause(CauseKind.WAL, "", 0.65, code="WalFullPages")
    rewrite = cause(CauseKind.TOAST, "public.other.body", 0.3)
    early = cause(CauseKind.CHECKPOINTS, "", 0.24, code="CheckpointsByWal", severity=severity)

    assert order == [one.kind.value for one in in_order((VACUUM, pages, rewrite, early))]


def test_what_may_be_meant_does_not_come_before_what_is_sure():
    """A warning says what follows from it, and stays behind what is critical."""
    rewrite = cause(CauseKind.TOAST, "public.documents.body", severity="warning")
    ordered = in_order((VACUUM, rewrite))

    assert ["vacuum", "toast"] == [one.kind.value for one in ordered]
    assert "42 % of the load" in ordered[1].evidence[-1].text


def test_a_share_that_is_not_known_is_not_added_up():
    """Bytes are reported alone."""
    rewrite = cause(CauseKind.TOAST, "public.documents.body", None)
    (first, _) = in_order((rewrite, VACUUM))

    (whole, _) = in_order((cause(CauseKind.TOAST, "public.documents.body", 0.7), VACUUM))

    assert first.evidence[-1].text.endswith("21 MB/s more")
    # Nor are shares that would be more than all.
    assert whole.evidence[-1].text.endswith("42 % of the load")


def reads(kind: CauseKind, code: str, subject: str, rate: float, **changes) -> Cause:
    """A cause that reads."""
    return cause(kind, subject, code=code, read_bytes_per_s=rate, written_bytes_per_s=None, **changes)


STATEMENT = reads(CauseKind.PLANS, "StatementReads", "select * from orders where state = $1", 40e6)


@pytest.mark.parametrize(
    ("other", "severity"),
    [
        (reads(CauseKind.SEQUENTIAL_SCANS, "SequentialScans", "public.orders", 39e6), "note"),
        (reads(CauseKind.TOAST, "ToastReads", "public.orders.state", 30e6), "note"),
        (reads(CauseKind.SEQUENTIAL_SCANS, "SequentialScans", "public.orders", 10e6), "critical"),
        (reads(CauseKind.SEQUENTIAL_SCANS, "SequentialScans", "public.order", 39e6), "critical"),
        (reads(CauseKind.SEQUENTIAL_SCANS, "SequentialScans", "public.orders", 39e6, severity="note"), "critical"),
    ],
    ids=["its scan", "its column", "a small part", "another table", "a note"],
)
def test_a_statement_is_not_judged_for_what_its_scan_is_judged_for(other, severity):
    """The same bytes from two sides are one finding; what nothing else explains stays judged."""
    judged, _ = without_second_views((STATEMENT, other))

    assert severity == judged.severity
    assert STATEMENT.read_bytes_per_s == judged.read_bytes_per_s
