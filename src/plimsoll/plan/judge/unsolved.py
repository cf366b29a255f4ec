"""What no size of class or storage answers: a maximum of the machine, such as a full disk, and an open verdict."""

from dataclasses import dataclass

from plimsoll.model.ceiling import Dimension
from plimsoll.model.diagnosis import VERDICT, CeilingTime, Diagnosis, Verdict
from plimsoll.model.family import FAMILIES
from plimsoll.model.plan import Judgement
from plimsoll.model.waiting import longest_of
from plimsoll.units import format_duration, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsolved:
    """Why nothing is proposed, whatever a replay of storage says."""

    judgement: Judgement
    """Of the current setup."""
    reason: str
    """What was found; a clause."""
    advice: str
    """The rest of the headline: what to do in place of a change of size."""

    @property
    def headline(self) -> str:
        """Return the headline of the plan."""
        return f"{self.reason}{self.advice}"


def unsolved_by(diagnosis: Diagnosis, judgement: Judgement) -> Unsolved | None:
    """
    Return why no class and no storage is the answer; None where the options are.

    Args:
        diagnosis: of the window.
        judgement: of the current setup by storage alone.
    """
    at = _maximum_of(diagnosis, judgement)
    if at is not None:
        reason = (
            f"no storage rate is the limit here: {FAMILIES[at.family].name} was at its maximum for "
            f"{format_duration(at.seconds)}"
        )
        first = next((f.moves[0] for f in diagnosis.findings if f.moves and f.code == FAMILIES[at.family].code), "")
        return Unsolved(judgement=Judgement.DOES_NOT, reason=reason, advice=f". {first}" if first else "")
    if diagnosis.verdict is not Verdict.UNKNOWN or judgement is not Judgement.LIFTS:
        return None
    if diagnosis.waiting:
        times = number(longest_of(diagnosis.waiting).times, 2)
        reason = f"requests waited {times} times as long as usual and no limit explains it"
        advice = ", so no size can be recommended: see the causes that 'plimsoll diagnose' names"
    else:
        gap = next((gap.name for gap in diagnosis.missing if gap.hides == VERDICT), "something")
        reason = f"whether a limit was reached is not known ({gap} is missing)"
        advice = ", so no size can be recommended"
    return Unsolved(judgement=Judgement.UNSURE, reason=reason, advice=advice)


def _maximum_of(diagnosis: Diagnosis, judgement: Judgement) -> CeilingTime | None:
    """Return the maximum of the machine that is the limit; any, where storage alone is enough."""
    count = len(diagnosis.time_at) if judgement is Judgement.LIFTS else 1
    return next((at for at in diagnosis.time_at[:count] if at.dimension is Dimension.AMOUNT), None)
