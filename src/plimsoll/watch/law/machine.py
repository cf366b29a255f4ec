"""
The state of a subject: from conditions to transitions.

Rule 1: time is the time of the data. A condition that is not newer than the last one changes nothing.
Rule 2: a level fires after it held for its time, and it ends after it was *known* not to hold for its
        time. A gap, or a condition that is unknown, starts that second time again.
Rule 3: unknown never changes the announced state, as long as the subject is watched.
Rule 4: an episode lasts from leaving ok to returning to ok. Its transitions are numbered from 1.
"""

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.subject import AlertSubject, episode_key


class Timing(Struct, frozen=True, kw_only=True):
    """How long a level must hold, or not hold, before its state changes; seconds of data."""

    bound_for_s: int
    nearing_for_s: int
    clear_s: int
    gap_s: int
    """Two conditions that are further apart than this have a gap between them."""
    fired: WatchState = WatchState.BOUND
    """State to announce where the condition held: `unknown` for the rule about missing data."""


class LevelRun(Struct, frozen=True, kw_only=True):
    """How long one level has held or not held; all epoch seconds of data, 0 for never."""

    since_s: int = 0
    """Start of the present run in which it holds; 0 while it does not."""
    calm_s: int = 0
    """First condition of the present run that shows that it does not hold; 0 while it holds or is unknown."""


class Standing(Struct, frozen=True, kw_only=True):
    """All that is remembered of a subject."""

    subject: AlertSubject
    state: WatchState = WatchState.OK
    """The announced state: ok, nearing or bound (or unknown, for the rule about missing data)."""
    since_s: int = 0
    """Start of the open episode, epoch seconds; 0 while ok."""
    number: int = 0
    """Of the last transition of the open episode; 0 while ok."""
    at_s: int = 0
    """End of the newest data that was judged; 0 before the first."""
    nearing: LevelRun = LevelRun()
    bound: LevelRun = LevelRun()
    unknown_since_s: int = 0
    """End of the last data with which the rule could judge; 0 while it can."""
    closed_s: int = 0
    """End of the last episode; 0 without one. The next one begins no earlier."""
    is_announced: bool = False
    """Whether a message of the open episode was queued for the receivers."""

    @property
    def key(self) -> str:
        """Return the key of the open episode."""
        assert self.state is not WatchState.OK
        return episode_key(self.subject, self.since_s)


class Transition(Struct, frozen=True, kw_only=True):
    """A change of the announced state."""

    subject: AlertSubject
    key: str
    number: int
    """Within the episode, from 1."""
    before: WatchState
    state: WatchState
    since_s: int
    """Start of the episode, epoch seconds."""
    level_since_s: int
    """Start of the run of the level that is announced, epoch seconds; the start of the episode for ok."""
    condition: Condition


def step(standing: Standing, condition: Condition, timing: Timing) -> tuple[Standing, Transition | None]:
    """
    Return what is remembered after a condition, and the transition that follows from it, if any.

    Args:
        standing: what is remembered.
        condition: what the rule found; its ceiling is that of the subject.
        timing: of the rule.
    """
    assert condition.ceiling == standing.subject.ceiling
    if not condition.is_known:
        return _unknown(standing, condition), None
    if condition.at_s <= standing.at_s:
        return standing, None
    has_gap = standing.at_s > 0 and condition.at_s - standing.at_s > timing.gap_s
    nearing_since_s = condition.nearing_since_s
    if condition.bound_since_s is not None:
        nearing_since_s = min(condition.bound_since_s, nearing_since_s or condition.at_s)
    noted = replace(
        standing,
        at_s=condition.at_s,
        nearing=_run(standing.nearing, nearing_since_s, condition.at_s, has_gap=has_gap),
        bound=_run(standing.bound, condition.bound_since_s, condition.at_s, has_gap=has_gap),
        unknown_since_s=0,
    )
    state = _state_after(noted, timing)
    if state is noted.state:
        return noted, None
    return _changed(noted, state, condition, timing)


def ended(standing: Standing, condition: Condition) -> Transition:
    """
    Return the end of an episode whose subject is not watched any more; Rule 3 does not apply to it.

    Args:
        standing: of an open episode.
        condition: unknown; its text says why the subject is not watched any more.
    """
    assert standing.state is not WatchState.OK
    assert not condition.is_known
    return Transition(
        subject=standing.subject,
        key=standing.key,
        number=standing.number + 1,
        before=standing.state,
        state=WatchState.OK,
        since_s=standing.since_s,
        level_since_s=standing.since_s,
        condition=condition,
    )


def _unknown(standing: Standing, condition: Condition) -> Standing:
    # What was calm before is not known to be calm now, so that time begins again.
    return replace(
        standing,
        unknown_since_s=standing.unknown_since_s or standing.at_s or condition.at_s,
        nearing=replace(standing.nearing, calm_s=0),
        bound=replace(standing.bound, calm_s=0),
    )


def _run(run: LevelRun, since_s: int | None, at_s: int, *, has_gap: bool) -> LevelRun:
    if since_s is None:
        return LevelRun(calm_s=at_s if has_gap or not run.calm_s else run.calm_s)
    # Data show how long it held. Without such data it is as long as every condition said so.
    was_s = run.since_s if run.since_s and not has_gap else since_s
    return LevelRun(since_s=min(was_s, since_s))


def _state_after(standing: Standing, timing: Timing) -> WatchState:
    """Return the state that the runs of both levels call for."""
    at_s, bound, nearing = standing.at_s, standing.bound, standing.nearing
    if bound.since_s and at_s - bound.since_s >= timing.bound_for_s:
        return timing.fired
    has_bound_ended = bool(bound.calm_s) and at_s - bound.calm_s >= timing.clear_s
    if standing.state is timing.fired and not has_bound_ended:
        return standing.state
    if nearing.since_s and at_s - nearing.since_s >= timing.nearing_for_s:
        return WatchState.NEARING
    has_nearing_ended = bool(nearing.calm_s) and at_s - nearing.calm_s >= timing.clear_s
    return WatchState.OK if has_nearing_ended else standing.state


def _changed(
    standing: Standing, state: WatchState, condition: Condition, timing: Timing
) -> tuple[Standing, Transition]:
    run = standing.bound if state is timing.fired else standing.nearing
    level_since_s = max(run.since_s, standing.closed_s)
    since_s = standing.since_s if standing.number else level_since_s
    number = standing.number + 1
    transition = Transition(
        subject=standing.subject,
        key=episode_key(standing.subject, since_s),
        number=number,
        before=standing.state,
        state=state,
        since_s=since_s,
        level_since_s=since_s if state is WatchState.OK else level_since_s,
        condition=condition,
    )
    if state is WatchState.OK:
        over = replace(standing, state=state, since_s=0, number=0, closed_s=condition.at_s, is_announced=False)
        return over, transition
    return replace(standing, state=state, since_s=since_s, number=number), transition
