"""
Documented limits that are not enforced: higher rates than they allow were served for hours.

Rule 1: only an exceeded limit is removed. If a baseline was exceeded and its maximum was not, the
        maximum stays, because this instance was never above it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from plimsoll.kernel import Stage, replay
from plimsoll.model.ceiling import Family
from plimsoll.model.family import FAMILIES
from plimsoll.plan.demand.recovery import Demand
from plimsoll.plan.judge.effect import started
from plimsoll.units import format_bytes_per_s, format_ops_per_s

# A limit is enforced within about a percent, and a few minutes above it do not disprove it.
_LOOSELY = 1.03
_EXCEEDED_RATIO = 0.02


def refuted_of(demand: Demand, chain: Sequence[Stage], *, allowed_ratio: float) -> Mapping[Stage, Stage | None]:
    """
    Return the limits of a chain that are not enforced, each with the limit that remains.

    Args:
        demand: as recovered.
        chain: the documented limits of the current setup.
        allowed_ratio: share 0–1 of the measured time that may be spent at a ceiling.

    Returns:
        For each limit its maximum as a fixed limit; None where that was exceeded too.
    """
    allowed = max(allowed_ratio, _EXCEEDED_RATIO)
    found: dict[Stage, Stage | None] = {}
    for stage in chain:
        if _exceeded_ratio(demand, stage) <= allowed:
            continue
        most = replace(stage, baseline=stage.burst, capacity=0.0, start_balance=None)
        # A bucket that is larger than documented shows as an exceeded baseline with a maximum that
        # was not exceeded.
        is_kept = stage.burst > stage.baseline and _exceeded_ratio(demand, most) <= allowed
        found[stage] = most if is_kept else None
    return found


def refuted_notes(refuted: Mapping[Stage, Stage | None]) -> list[str]:
    """Return a sentence for each limit that is not enforced."""
    return [
        f"{_rate_name(stage)} stayed above the documented {_limit(stage)} for hours, so that limit is not "
        f"enforced here and {_left(most)}."
        for stage, most in refuted.items()
    ]


def _exceeded_ratio(demand: Demand, stage: Stage) -> float:
    """Return the share of the measured time with rates above those that a stage allows."""
    # With the most plausible credits: a limit is disproved only if no bucket explains the rate.
    looser = replace(stage, baseline=stage.baseline * _LOOSELY, burst=stage.burst * _LOOSELY)
    found = replay(
        demand.served_ops_per_s,
        demand.io_size_bytes,
        step_s=demand.step_s,
        chain=started(demand, [looser], is_generous=True),
        carry=False,
    )
    return float(found.throttled_ratio[demand.is_measured].mean())


def _left(most: Stage | None) -> str:
    return "was ignored" if most is None else f"only its maximum of {_rate(most)} was counted"


def _rate_name(stage: Stage) -> str:
    return "Throughput" if stage.counts == "bytes" else "IOPS"


def _limit(stage: Stage) -> str:
    return f"{FAMILIES[Family(stage.name)].name} of {_rate(stage)}"


def _rate(stage: Stage) -> str:
    text_of = format_bytes_per_s if stage.counts == "bytes" else format_ops_per_s
    return text_of(stage.baseline * stage.stripes)
