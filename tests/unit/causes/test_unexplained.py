"""What of the load no cause explains, at least; and what a reset counter leaves open."""

import pytest
from msgspec.structs import replace

from databases import budget, observation, reading
from plimsoll.causes.reset_gaps import missing_of
from plimsoll.causes.unexplained import unexplained
from plimsoll.model.cause import Cause, CauseKind

MB = 1e6


def cause(kind: CauseKind, code: str = "", *, read: float = 0.0, written: float = 0.0) -> Cause:
    """A finding of so many bytes."""
    return Cause(
        kind=kind,
        code=code,
        severity="note",
        subject="",
        title="it is so",
        read_bytes_per_s=read,
        written_bytes_per_s=written,
    )


def left(*causes: Cause, read: float = 40 * MB, written: float = 60 * MB) -> float:
    found = unexplained(budget(read, written), causes)
    return found.share


def test_without_a_cause_nothing_is_explained():
    """All of the load is left; of a load that is not known nothing can be reported."""
    assert 1.0 == left()
    assert None is unexplained(budget(None, None), ())
    assert None is unexplained(budget(0.0, 0.0), ())


SCAN = cause(CauseKind.SEQUENTIAL_SCANS, read=30 * MB)


@pytest.mark.parametrize(
    ("causes", "share"),
    [
        # 30 of 40 MB/s read and 20 of 60 written leave half.
        ((SCAN, cause(CauseKind.TOAST, written=20 * MB)), 0.5),
        # A statement and its scan are the same bytes: the larger of both counts, not their sum.
        ((SCAN, cause(CauseKind.PLANS, "StatementReads", read=35 * MB)), 0.65),
        # WAL and checkpoints say how bytes were written, not why.
        (
            (
                cause(CauseKind.WAL, "WalWrites", written=40 * MB),
                cause(CauseKind.CHECKPOINTS, "CheckpointWrites", written=20 * MB),
            ),
            1.0,
        ),
        # Causes that overlap never explain less than nothing.
        ((cause(CauseKind.TOAST, read=90 * MB, written=90 * MB),), 0.0),
    ],
)
def test_what_is_left_is_of_reads_and_of_writes(causes: tuple[Cause, ...], share: float):
    """Of 40 MB/s read and 60 written."""
    assert pytest.approx(share) == left(*causes)


def test_a_vacuum_that_still_runs_explains_nothing_that_is_counted():
    """The server counts it when it ends; until then the load has it on top."""
    running = replace(cause(CauseKind.VACUUM, read=30 * MB, written=10 * MB), uncounted_bytes_per_s=40 * MB)
    found = unexplained(budget(60 * MB, 0.0, uncounted_bytes_per_s=40 * MB), (running,))

    assert 60 * MB == found.bytes_per_s
    assert pytest.approx(0.6) == found.share


def gaps_of(*resets: str, read=40 * MB, written=60 * MB, causes=()) -> dict[str, str]:
    """What is hidden, by name, after so many resets."""
    seen = observation(reading(), reading(), resets=resets)
    whole = budget(read, written)
    return {gap.name: gap.hides for gap in missing_of(seen, whole, unexplained(whole, causes))}


def test_without_a_reset_there_is_no_gap():
    """Nothing is missing of what was not reset."""
    assert {} == gaps_of()


@pytest.mark.parametrize(("name", "rate"), [("io", None), ("wal", None), ("bgwriter", None), ("relations", 0.0)])
def test_what_decides_leaves_the_verdict_open(name: str, rate: float | None):
    """No share of a load that is not known can be reported; tables are all that most detectors look at."""
    assert {"verdict"} == set(gaps_of(name, read=rate, written=rate).values())


def test_other_counters_decide_where_much_has_no_cause():
    """
    Statements that were reset may be what the rest of the load is of; where it is explained, or small,
    they are not.
    """
    explained = (cause(CauseKind.TOAST, read=40 * MB, written=50 * MB),)

    assert {"verdict"} == set(gaps_of("statements").values())
    assert {"which statements are responsible"} == set(gaps_of("statements", causes=explained).values())
    assert {"which statements are responsible"} == set(gaps_of("statements", read=1e3, written=1e3).values())
