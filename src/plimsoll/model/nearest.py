"""Which resource of an instance came nearest to its ceiling."""

from plimsoll.model.ceiling import Family
from plimsoll.model.diagnosis import Resource, Verdict
from plimsoll.model.overview import NearestResource

URGENCY = (Verdict.BINDS, Verdict.NEAR, Verdict.UNKNOWN, Verdict.SLACK)
"""Verdicts, the most urgent first."""


def nearest_resource(resources: tuple[Resource, ...]) -> NearestResource | None:
    """
    Return the first resource in rank: one that binds or is near, else the one with the least headroom.

    Memory that is not near is left out: a database fills it on purpose.
    """
    found = [
        NearestResource(
            family=r.family,
            name=r.name,
            verdict=r.verdict,
            peak_ratio=r.peak / r.ceiling.value,
            headroom=r.headroom if r.headroom is not None else max(r.ceiling.value - r.peak, 0.0),
            unit=r.unit,
        )
        for r in resources
        if r.ceiling is not None and r.peak is not None and r.ceiling.value > 0
        if r.verdict in (Verdict.BINDS, Verdict.NEAR) or (r.verdict is Verdict.SLACK and r.family is not Family.MEMORY)
    ]
    return min(found, key=lambda n: (URGENCY.index(n.verdict), -n.peak_ratio, n.family), default=None)
