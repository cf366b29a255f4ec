"""
What `inspect --pooler` said about the connections of a phase, compared with what is true of it.

Rule 1: a check is made of results alone; what is expected comes from the phase, or from what was counted.
Rule 2: a result that is missing is wrong, never passed over.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from plimsoll.causes.connections.sessions import is_waiting_for_io
from plimsoll.model.cause import Inspection
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.units import number
from plimsoll_lab.experiments.pooled_cluster.play import PooledRun
from plimsoll_lab.experiments.pooled_cluster.story import Expected
from plimsoll_lab.judges.checks import binding_check
from plimsoll_lab.model.experiment import Check
from plimsoll_lab.model.lab import GroundTruth

STORM = "ConnectionStorm"
OUTLIVE = "ServersOutliveLifeTime"
CROWD = ("ChildrenTaken", "NearMaxConnections", "MoreActiveThanRuns", STORM)
"""Codes that say that there are too many connections, or too many active ones."""
HELD_RATIO = 0.9
"""A judgement: of the target; arrivals vary, and some business transactions are under way when the phase ends."""
_LOUD = ("critical", "warning")


def checks_of(run: PooledRun, found: Inspection | None, storm: PooledRun | None) -> Iterator[Check]:
    """
    Yield what is expected of a phase.

    Args:
        run: the phase.
        found: what `inspect` says of it; None if it failed.
        storm: the phase of the storm, if it was before.
    """
    match run.phase.expected:
        case Expected.CALM:
            yield named(found, (STORM,), is_expected=False, words="no storm of connections")
        case Expected.STORM:
            yield named(found, (STORM,), is_expected=True, words="a storm of connections")
            yield not_storage(run, found)
        case Expected.PILE_UP:
            yield named(found, CROWD, is_expected=True, words="more connections than fit or run")
            yield not_storage(run, found)
        case Expected.NEVER_LET_GO:
            words = "cached backends outlive connection_life_time"
            yield named(found, (OUTLIVE,), is_expected=True, words=words)
        case Expected.LET_GO:
            words = "no cached backend outlives connection_life_time"
            yield named(found, (OUTLIVE,), is_expected=False, words=words)
        case Expected.DISK:
            crowd = (STORM, "ChildrenTaken", "NearMaxConnections")
            yield named(found, crowd, is_expected=False, words="no storm of connections")
        case Expected.SIZED | Expected.OTHER_POOLER:
            yield named(found, (STORM, OUTLIVE), is_expected=False, words="no storm of connections")
            yield held_target(run, storm)


def named(found: Inspection | None, codes: tuple[str, ...], *, is_expected: bool, words: str) -> Check:
    """
    Check that one of some causes is named, or that none of them is.

    Args:
        found: what `inspect` says; None if it failed, which is wrong in any case.
        codes: of the causes; only warnings and worse count.
        is_expected: whether one of them must be named.
        words: what is true.
    """
    if found is None:
        return Check(command="inspect", expected=words, found="no inspection", is_right=False)
    causes = [c for c in found.causes if c.code in codes and c.severity in _LOUD]
    return Check(
        command="inspect",
        expected=words,
        found="; ".join(c.title for c in causes) or "none of this",
        is_right=bool(causes) is is_expected,
    )


def not_storage(run: PooledRun, found: Inspection | None) -> Check:
    """Check that storage is not called the reason: most active sessions do not wait for it, and no cause of bytes is."""
    expected = "not the disk"
    if found is None or run.observation is None:
        return Check(command="inspect", expected=expected, found="no inspection", is_right=False)
    is_waiting = is_waiting_for_io(run.observation)
    first = next((c for c in found.causes if c.severity in _LOUD), None)
    is_bytes = first is not None and first.bytes_per_s is not None
    text = "half of the active sessions wait for storage" if is_waiting else "sessions do not wait for storage"
    if is_bytes and first is not None:
        text += f"; first: {first.title}"
    return Check(command="inspect", expected=expected, found=text, is_right=not is_waiting and not is_bytes)


def disk_check(diagnosis: Diagnosis, truth: GroundTruth) -> Check:
    """Check that `diagnose` names the limit of the disk that held requests back, by the gate, and no other."""
    held = next(iter(truth.held), None)
    check = binding_check(diagnosis, truth, binds="as recorded", limit=None)
    is_right = check.is_right and held is not None and held.is_found
    return replace(check, expected=f"the disk; {check.expected}", is_right=is_right)


def held_target(run: PooledRun, storm: PooledRun | None) -> Check:
    """
    Check that pools of the computed size do more useful work than those of the storm, or all that was wanted.

    The target may be less than what arrived in the storm, if this machine does not carry more; the text says how much.
    """
    text = _rates(run)
    expected = "more useful queries per second than in the storm, or the target held"
    if storm is None:
        return Check(command="pool-size", expected=expected, found=text, is_right=False)
    figures = run.figures
    is_held = figures.done_per_s >= HELD_RATIO * run.phase.rate
    return Check(
        command="pool-size",
        expected=expected,
        found=f"{text}; in the storm {_rates(storm)}",
        is_right=is_held or figures.useful_per_s > storm.figures.useful_per_s,
    )


def _rates(run: PooledRun) -> str:
    figures = run.figures
    return (
        f"{number(figures.useful_per_s, 3)} useful of {number(figures.queries_per_s, 3)} queries/s, "
        f"{number(figures.done_per_s, 3)} business transactions/s"
    )
