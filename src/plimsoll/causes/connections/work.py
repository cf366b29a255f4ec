"""More sessions at work than the machine runs well, and what Little's law makes of those at work."""

from plimsoll.causes.budget import Budget
from plimsoll.causes.connections import sessions as seen
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.pool_size import ScalabilityCurve
from plimsoll.pools.concurrency import erlang_sessions, fit_curve, mean_duration_s, throughput
from plimsoll.pools.pool_size import SESSIONS_PER_VCPU
from plimsoll.units import format_latency, format_ratio, number

# Sessions at work beyond what the machine runs that are more than a moment's.
BEYOND = 1.5
# By the rule of thumb alone: at work is also who waits for a commit or for storage, and then more sessions
# do more. Four times as many as it allows is too many for any machine.
BEYOND_RULE = 4.0
# From this share of its ceiling on, storage is taken to hold throughput.
PEGGED = 0.9
# Below this many nobody waits for a processor on any machine we know.
BUSY_MIN = 4.0


def curve_of(observation: Observation, budget: Budget) -> ScalabilityCurve | None:
    """Return throughput by sessions at work, from the glances; None where they do not vary enough."""
    return fit_curve(
        seen.load_points(observation), at_ceiling=is_storage_at_ceiling(observation, budget)
    )


def is_storage_at_ceiling(observation: Observation, budget: Budget) -> bool:
    """Return whether storage held the throughput: near its ceiling, or waited for by most."""
    share = budget.of_ceiling(budget.load_bytes_per_s)
    return (share is not None and share >= PEGGED) or seen.is_waiting_for_io(observation)


def overload(observation: Observation, budget: Budget) -> list[Cause]:
    """Return one finding where clearly more sessions are at work than the machine runs well."""
    busy = seen.busy_between(observation.glances)
    if busy is None or busy < BUSY_MIN:
        return []
    curve = curve_of(observation, budget)
    runs, how = _runs(observation, curve)
    if runs is None or busy < BEYOND * runs:
        return []
    evidence = [how]
    per_s = seen.transactions_per_s(observation)
    if per_s:
        evidence.append(
            Evidence(
                kind="little",
                text=f"{number(busy, 3)} active / {number(per_s, 3)} transactions per s"
                f" = {format_latency(mean_duration_s(busy, per_s))} each (Little's law); Erlang C:"
                f" {erlang_sessions(busy):,} sessions, so that at most 1 % wait at this load",
                value=mean_duration_s(busy, per_s),
            )
        )
    if is_storage_at_ceiling(observation, budget):
        evidence.append(
            Evidence(
                kind="ceiling",
                text="storage was at its ceiling then: the knee comes from storage, not from the machine",
            )
        )
    expected = f"The same throughput; each transaction takes about {format_ratio(runs / busy)} of the time."
    if curve:
        ratio = curve.most_per_s / throughput(curve, busy)
        expected = f"Throughput × {ratio:.2f} by the curve; waiting moves into the pools."
    return [
        Cause(
            kind=CauseKind.CONNECTIONS,
            code="MoreActiveThanRuns",
            severity="warning" if curve or busy >= BEYOND_RULE * runs else "note",
            subject="",
            title=f"{number(busy, 3)} sessions are active on average; the machine can run {runs:,}"
            + (" (extrapolated)" if curve and curve.is_extrapolated else "")
            + ("" if curve else " by a rule of thumb"),
            text="More sessions than that bring no more throughput, only more waiting and memory.",
            evidence=tuple(evidence),
            remedies=(
                Remedy(
                    text=f"Limit all pools together to about {runs:,}, or use a pooler.",
                    commands=(f"default_pool_size = {runs}",),
                    expected=expected,
                ),
            ),
            refuted_by=f"pgbench with {2 * runs} clients gives clearly more than with {runs}.",
        )
    ]


def room_of(observation: Observation, budget: Budget) -> Evidence:
    """Return how many sessions at work the machine runs well, or that it is not known, and why not."""
    return _runs(observation, curve_of(observation, budget))[1]


def _runs(observation: Observation, curve: ScalabilityCurve | None) -> tuple[int | None, Evidence]:
    """Return the measured capacity, else that of the rule of thumb; None where neither throughput nor vCPUs tell."""
    if curve is not None:
        told = (
            f"{curve.n95} sessions reach 95 % of the highest throughput ({number(curve.most_per_s, 3)} per"
            f" s); measured up to {number(curve.busy_seen_max, 3)} at {curve.level_count} levels"
        )
        told += ": extrapolated" if curve.is_extrapolated else ""
        return curve.n95, Evidence(kind="curve", text=told, value=float(curve.n95))
    vcpus = observation.server.vcpu_count
    if vcpus is None:
        return None, Evidence(
            kind="rule",
            text="the vCPUs are unknown, and so is how many active sessions the machine can run;"
            " give --against rds:NAME, or a snapshot of it",
        )
    runs = SESSIONS_PER_VCPU * vcpus
    told = f"{SESSIONS_PER_VCPU} × {vcpus} vCPUs = {runs} active sessions: the machine can run these by a rule"
    return runs, Evidence(kind="rule", text=f"{told} of thumb, not measured", value=float(runs))
