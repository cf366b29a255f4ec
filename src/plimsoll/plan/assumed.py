"""What was assumed to recover a demand, in sentences for people."""

import numpy as np

from plimsoll.model.plan import Loop
from plimsoll.plan.arrivals import Arrivals
from plimsoll.plan.held import ASSUMED_SIZE_BYTES, Held, Seen
from plimsoll.plan.loop import Found
from plimsoll.plan.overload import OVERLOAD_MAX, is_seen


def assumptions_of(
    seen: Seen, held: Held, found: Found, *, is_lower_bound: bool
) -> tuple[str, ...]:
    """The assumptions behind a window's demand, the gravest first; none where all was measured."""
    said = []
    if is_lower_bound:
        said.append(
            "Only a lower bound of demand is known: too little of the window was free of waiting."
        )
    if held.stretches and found.arrivals is not None and found.arrivals.is_lost:
        said.append(_of_arrivals(found.arrivals))
    elif held.stretches:
        said += [_of_stretches(held), _of_habit(found)]
    if not seen.has_size:
        said.append(
            f"Each operation is taken for {ASSUMED_SIZE_BYTES / 1024:.0f} KiB: bytes and operations "
            "were not both measured."
        )
    lost = int(np.count_nonzero(~seen.is_measured))
    if lost:
        said.append(
            f"{lost} of {seen.time_s.size} samples are missing; they are filled in between their "
            "neighbours and never counted."
        )
    return tuple(said)


def _of_arrivals(came: Arrivals) -> str:
    if came.is_whole:
        return (
            "Demand behind the ceiling is what came, as it was counted beside what was done; one in "
            "five that some of it are clients who would ask for more."
        )
    return (
        "Demand behind the ceiling is what reached the database, done or rolled back; what was "
        "refused before is not known."
    )


def _of_stretches(held: Held) -> str:
    shown = sum(is_seen(stretch) for stretch in held.stretches)
    count = len(held.stretches)
    if shown == count:
        return "Demand behind the ceiling is what was seen just before it bound, and wanders on."
    if shown:
        return (
            f"{shown} of {count} stretches at a ceiling showed their demand just before it bound; "
            "the others are taken to be like them."
        )
    return (
        "Demand behind the ceiling was never seen at liberty: it is taken to exceed m times the "
        f"ceiling with a chance of 1 in m, up to {OVERLOAD_MAX:.0f} times."
    )


def _of_habit(found: Found) -> str:
    if found.loop is Loop.CLOSED:
        return (
            f"Clients were counted and spend {1e3 * found.think_s:.2g} ms elsewhere for each request"
            + ("." if found.is_sure else "; a queue before a full pool would look the same.")
        )
    if found.loop is Loop.OPEN:
        return "What is not served at once is lost or done later; served faster, no more is asked."
    return (
        "What is not served at once may be lost, done later, or asked by clients who wait: a third "
        "of the belief each."
    )
