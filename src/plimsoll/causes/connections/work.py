"""Compare active sessions with what the machine runs well, and apply Little's law to them."""

from plimsoll.causes.budget import Budget
from plimsoll.causes.connections import sessions as seen
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.pool_size import ScalabilityCurve
from plimsoll.pools.concurrency import erlang_sessions, fit_curve, mean_duration_s, throughput
from plimsoll.pools.pool_size import SESSIONS_PER_VCPU
from plimsoll.units import format_latency, format_ratio, number

# A judgement: half more active sessions than the machine runs well are not just a moment's variation.
BEYOND = 1.5
# A judgement for the rule of thumb: active sessions may also wait for a commit or for storage, and then more
# of them do more work. Four times as many are too many for any machine.
BEYOND_RULE = 4.0
# A judgement: from this share of its ceiling on, storage limits the throughput.
NEAR_CEILING = 0.9
# A judgement: so few active sessions do not wait for a CPU on any current class (2 vCPUs or more).
BUSY_MIN = 4.0


def curve_of(observation: Observation, budget: Budget) -> ScalabilityCurve | None:
    """Return throughput by active sessions, from the glances; None if these vary too little."""
    return fit_curve(seen.load_points(observation), at_ceiling=is_storage_at_ceiling(observation, budget))


def is_storage_at_ceiling(observation: Observation, budget: Budget) -> bool:
    """Return whether storage limits throughput: near its ceiling, or half of the sessions wait for it."""
    share = budget.of_ceiling(budget.load_bytes_per_s)
    return (share is not None and share >= NEAR_CEILING) or seen.is_waiting_for_io(observation)


def overload(observation: Observation, budget: Budget) -> list[Cause]:
    """Return a finding if clearly more sessions are active than the machine runs well."""
    busy = seen.busy_between(observation.glances)
    if busy is None or busy < BUSY_MIN:
        return []
    curve = curve_of(observation, budget)
    runs, how = _capacity(observation, curve)
    if runs is None or busy < BEYOND * runs:
        return []
    evidence = [how]
    per_s = seen.transactions_per_s(observation)
    if per_s:
        evidence.append(
            Evidence(
                kind="little",
                text=f"{number(busy, 3)} active / {number(per_s, 3)} transactions per s"
                f" = {format_latency(mean_duration_s(busy, per_s))} each (Little's law); by Erlang C, at most"
                f" 1 % of this load would wait with {erlang_sessions(busy):,} sessions",
                value=mean_duration_s(busy, per_s),
            )
        )
    if is_storage_at_ceiling(observation, budget):
        evidence.append(
            Evidence(
                kind="ceiling",
                text="storage was at its ceiling, so the curve shows the storage limit, not the machine's",
            )
        )
    expected = f"The same throughput; each transaction takes about {format_ratio(runs / busy)} of its current time."
    if curve:
        ratio = curve.most_per_s / throughput(curve, busy)
        expected = f"Throughput × {ratio:.2f} by the curve; clients wait in the pools instead."
    return [
        Cause(
            kind=CauseKind.CONNECTIONS,
            code="MoreActiveThanRuns",
            severity="warning" if curve or busy >= BEYOND_RULE * runs else "note",
            subject="",
            title=f"{number(busy, 3)} sessions are active on average; the machine can run {runs:,}"
            + (" (extrapolated)" if curve and curve.is_extrapolated else "")
            + ("" if curve else " by a rule of thumb"),
            text="More active sessions do not increase throughput; they only wait and take memory.",
            evidence=tuple(evidence),
            remedies=(
                Remedy(
                    text=f"Limit the total of all pools to about {runs:,}, or use a pooler.",
                    commands=(f"default_pool_size = {runs}",),
                    expected=expected,
                ),
            ),
            refuted_by=f"pgbench with {2 * runs} clients gives clearly more throughput than with {runs}.",
        )
    ]


def capacity_evidence(observation: Observation, budget: Budget) -> Evidence:
    """Return evidence of how many active sessions the machine runs well, or why that is unknown."""
    return _capacity(observation, curve_of(observation, budget))[1]


def _capacity(observation: Observation, curve: ScalabilityCurve | None) -> tuple[int | None, Evidence]:
    """Return how many sessions the machine runs well, measured or by the rule of thumb; None if unknown."""
    if curve is not None:
        text = (
            f"{curve.n95} sessions reach 95 % of the highest throughput ({number(curve.most_per_s, 3)} per"
            f" s); measured up to {number(curve.busy_seen_max, 3)} at {curve.level_count} levels"
        )
        text += ": extrapolated" if curve.is_extrapolated else ""
        return curve.n95, Evidence(kind="curve", text=text, value=float(curve.n95))
    vcpus = observation.server.vcpu_count
    if vcpus is None:
        return None, Evidence(
            kind="rule",
            text="the number of vCPUs is unknown, so the active sessions that the machine can run are too;"
            " give --against rds:NAME, or a snapshot of it",
        )
    runs = SESSIONS_PER_VCPU * vcpus
    text = (
        f"{SESSIONS_PER_VCPU} × {vcpus} vCPUs = {runs} active sessions that the machine can run, by a rule of"
        " thumb, not measured"
    )
    return runs, Evidence(kind="rule", text=text, value=float(runs))
