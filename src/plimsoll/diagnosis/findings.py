"""
What is said first: the verdict in one sentence, and what to do, the free thing before the paid one.

Codes are Compute Optimizer's finding reason codes where it has one, extended in its manner.
"""

from plimsoll.diagnosis.epochs import BEFORE_CHANGE, LOADING, LOADING_CODE, LOADING_MOVES
from plimsoll.diagnosis.recognition.lookup import lookup_moves, lookup_text, own_number
from plimsoll.diagnosis.recognition.rate_words import describe, format_ceiling, format_rate
from plimsoll.limits.layout import is_aurora
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.diagnosis import (
    CeilingTime,
    Finding,
    Forecast,
    Interval,
    Resource,
    Verdict,
)
from plimsoll.model.family import FAMILIES, INSTANCE_FAMILIES, RATE_FAMILIES
from plimsoll.model.instance import Instance
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import Series
from plimsoll.units import format_clock, format_duration, format_ratio


def findings_of(
    instance: Instance,
    *,
    time_at: tuple[CeilingTime, ...],
    intervals: tuple[Interval, ...],
    resources: tuple[Resource, ...],
    forecasts: tuple[Forecast, ...],
    ceilings: tuple[Ceiling, ...],
    series: dict[Metric, Series],
    measured_s: float,
    step_s: int,
    is_open: bool = False,
) -> tuple[Finding, ...]:
    """
    Return all findings: what binds (longest first), what is near, what costs, what else to know.

    Args:
        is_open: whether the verdict is unknown, so that *no limit was reached* cannot be said.
    """
    found = [_bound(instance, t, intervals, ceilings, measured_s, step_s) for t in time_at]
    if not time_at and not is_open:
        found += _nothing_bound(resources, measured_s)
    found += [_near(r) for r in resources if r.verdict == Verdict.NEAR]
    found += [
        Finding(
            code=FAMILIES[f.family].exhausted_code or FAMILIES[f.family].code,
            severity="warning",
            title=f.text,
        )
        for f in forecasts
        if f.empty_in_s is not None and 0 < f.empty_in_s <= 6 * 3600
    ]
    found += _cpu_credit_cost(series)
    found += _unreachable(instance, ceilings)
    found += _pending(instance)
    return tuple(found)


def _bound(
    instance: Instance,
    at: CeilingTime,
    intervals: tuple[Interval, ...],
    ceilings: tuple[Ceiling, ...],
    measured_s: float,
    step_s: int,
) -> Finding:
    mine = [i for i in intervals if i.family == at.family and i.ceiling == at.ceiling]
    mine = [i for i in mine if i.dimension == at.dimension]
    if at.ceiling is None:
        mine = [i for i in mine if round(i.level) == round(at.level)]
    first = min(i.start_s for i in mine)
    who = instance.db_class or _name(instance)
    spell = f"for {format_duration(at.seconds)} of the {format_duration(measured_s)} measured"
    rate = format_rate(at.level, at.dimension)
    context = _context_of(mine)
    tail = f" ({context})" if context else ""
    if at.ceiling is None:
        is_loading = context.startswith(LOADING)
        return Finding(
            code=LOADING_CODE if is_loading else FAMILIES[Family.UNKNOWN].code,
            severity="critical",
            title=(
                f"{who} stayed at {rate} {spell}, first at {format_clock(first)}: "
                f"{_unknown_text(at.dimension)}{tail}"
            ),
            text=_joined(_unknown_meaning(instance, context, at, mine), _fine_text(mine, step_s)),
            moves=LOADING_MOVES if is_loading else _unknown_moves(instance, context, at),
        )
    code = FAMILIES[at.family].code
    if at.ceiling.phase == Phase.BASELINE and _is_exhausted(mine):
        code = FAMILIES[at.family].exhausted_code or code
    return Finding(
        code=code,
        severity="critical",
        title=(
            f"{who} stayed at {rate}, at its {describe(at.ceiling)}, {spell}, "
            f"first at {format_clock(first)}{tail}"
        ),
        text=_joined(_meaning(at.ceiling), _fine_text(mine, step_s)),
        moves=_moves(at.ceiling, ceilings),
    )


def _is_exhausted(intervals: list[Interval]) -> bool:
    """Whether the balance was seen at zero, or must have been by what was served."""
    return any(
        e.kind in {"balance", "credits"} and e.weight > 0 for i in intervals for e in i.evidence
    )


def _name(instance: Instance) -> str:
    """What the instance is called; an export without a name is not called `unnamed`."""
    is_named = instance.identifier not in ("", Instance().identifier)
    return instance.identifier if is_named else "the storage"


def _context_of(intervals: list[Interval]) -> str:
    """What happened during most of the time of these intervals; empty where nothing did."""
    seconds: dict[str, int] = {}
    for i in intervals:
        seconds[i.context] = seconds.get(i.context, 0) + i.end_s - i.start_s
    most = max(seconds, key=lambda context: seconds[context])
    return most if 2 * seconds[most] >= sum(seconds.values()) else ""


def _fine_text(intervals: list[Interval], usual_step_s: int) -> str:
    """That averages hid it, where only samples finer than the usual ones show it."""
    if any(i.step_s >= usual_step_s for i in intervals):
        return ""
    step_s = min(i.step_s for i in intervals)
    return (
        f"Only samples of {step_s} s show it; averages of {format_duration(usual_step_s)} hide it."
    )


def _joined(*sentences: str) -> str:
    return " ".join(s for s in sentences if s)


def _pending(instance: Instance) -> list[Finding]:
    if not instance.pending:
        return []
    return [
        Finding(
            code="ChangePending",
            severity="note",
            title=f"a change was ordered and is not in force yet: {', '.join(instance.pending)}",
            text="Everything here is judged by what is in force.",
        )
    ]


def _unknown_meaning(
    instance: Instance, context: str, at: CeilingTime, mine: list[Interval]
) -> str:
    if context.startswith(LOADING):
        return (
            "In these hours storage is filled from S3, at a rate that no document tells: a level found "
            "in them is not compared with anything, and need not come back."
        )
    if context.startswith(BEFORE_CHANGE):
        return (
            "What was bought before that change is not told by its event, so its limits are not known; "
            "today's do not hold for that time."
        )
    if is_aurora(instance):
        return (
            "Aurora documents neither throughput nor IOPS for its cluster volume, so no number can be "
            "compared with this level. The instance's network to the volume, its CPU, or the volume "
            "itself may set it."
        )
    own = own_number(at, mine)
    if own is not None:
        return (
            f"The number is that of its own {describe(own.ceiling)}, but that is ruled out "
            "(the reason is below): something else stops at the same rate, or credits are not what "
            "is documented."
        )
    if at.lookalikes:
        return lookup_text(at, instance)
    if instance.db_class is None:
        return "No documented limit has this number, for any class, now or in the past."
    return (
        "No documented limit has this number, of this class and storage or of any other: it may be "
        "undocumented, provisioned, or storage that is slower than it should be."
    )


def _unknown_moves(instance: Instance, context: str, at: CeilingTime) -> tuple[str, ...]:
    if context.startswith(BEFORE_CHANGE):
        return (
            "Say what it was: diagnose the time before the change with --to, --class and --storage.",
        )
    if is_aurora(instance):
        return (
            "Compare StorageNetworkThroughput at that time with the network bandwidth of the class.",
            "Try a larger class for an hour: if the level moves, the instance sets it, not the volume.",
        )
    if instance.db_class is None:
        return (
            *(
                lookup_moves(at, instance)
                or ("To name this limit, give the class and storage: --class db.… --storage …",)
            ),
            "On a host of your own: look for a limit of its device, controller or container.",
        )
    return (
        *lookup_moves(at, instance),
        "Check that class, storage type, size, IOPS and throughput are what this instance had.",
        "If they are: stop and start the instance, or open a support case with the intervals.",
    )


def _unknown_text(dimension: Dimension) -> str:
    kind = "throughput" if dimension == Dimension.THROUGHPUT else "IOPS"
    return f"an unknown limit of {kind}"


def _meaning(ceiling: Ceiling) -> str:
    if ceiling.phase == Phase.LEGACY:
        until = ceiling.origin.valid_to or "a later date"
        return (
            f"AWS documented this number for the class until {until}. Instances that have not been "
            "stopped and started since keep it; the present numbers do not apply to them."
        )
    if ceiling.bucket_phase == Phase.BASELINE:
        name = (
            METRICS[ceiling.balance_metric].cloudwatch if ceiling.balance_metric else "the balance"
        )
        return f"Above the baseline an instance spends credits; {name} tells how many are left."
    if ceiling.bucket_phase == Phase.BURST:
        return "This is the most it can do, and only while credits last; then the baseline binds."
    return "Reads and writes share this limit; no credits lift it."


def _moves(ceiling: Ceiling, ceilings: tuple[Ceiling, ...]) -> tuple[str, ...]:
    now = [
        c
        for c in ceilings
        if c.family == ceiling.family and c.phase in (Phase.BASELINE, Phase.BURST, Phase.FIXED)
    ]
    now.sort(key=lambda c: c.value)
    moves = []
    same = [c for c in now if c.phase == ceiling.bucket_phase] or now
    if ceiling.phase == Phase.LEGACY and same and same[0].value > 1.01 * ceiling.value:
        numbers = " and ".join(f"{format_ceiling(c)} ({c.phase.value})" for c in now)
        moves.append(
            f"Stop and start the instance first: it costs nothing but a few minutes offline, and the "
            f"class has {numbers} now."
        )
    instance_bound = ceiling.family in INSTANCE_FAMILIES
    if instance_bound:
        what = "throughput" if ceiling.dimension == Dimension.THROUGHPUT else "IOPS"
        moves.append(
            f"Spread or shrink the I/O, so that the demand stays under {format_ceiling(ceiling)}."
        )
        moves.append(
            f"Change to a class with more baseline {what}; more storage {what} would not help, "
            "the instance is the narrower one."
        )
    else:
        moves.append(_volume_move(ceiling))
        moves.append("A larger class would not help: the volume is the narrower one.")
    return tuple(moves)


def _volume_move(ceiling: Ceiling) -> str:
    if ceiling.balance_metric == Metric.VOLUME_BALANCE_RATIO:
        return (
            "Move gp2 to gp3: the same price per GiB on RDS, and from 400 GiB (Oracle 200) it includes "
            "12,000 IOPS and 500 MiB/s without credits; or enlarge the gp2 volume (3 IOPS per GiB)."
        )
    if ceiling.dimension == Dimension.IOPS:
        return "Provision more IOPS on the volume, as far as the class can use them."
    return "Provision more throughput on the volume (or more IOPS where throughput follows them)."


def _nothing_bound(resources: tuple[Resource, ...], measured_s: float) -> list[Finding]:
    storage = [r for r in resources if r.family in RATE_FAMILIES]
    judged = [
        r for r in storage if r.verdict in (Verdict.SLACK, Verdict.NEAR) and r.peak is not None
    ]
    if not judged:
        return []
    parts = [
        f"{r.name} peaked at {format_ratio(r.peak / r.ceiling.value)} of its ceiling"
        for r in judged
        if r.ceiling is not None and r.peak is not None
    ]
    return [
        Finding(
            code="NoCeilingReached",
            severity="note",
            title=f"no storage limit was reached in the {format_duration(measured_s)} measured",
            text="; ".join(parts) + ".",
        )
    ]


def _near(resource: Resource) -> Finding:
    ceiling = resource.ceiling
    assert ceiling is not None
    assert resource.peak is not None
    minutes = resource.minutes_above_80 or 0
    spell = f", above 80 % for {format_duration(minutes * 60)}" if minutes else ""
    if ceiling.dimension == Dimension.AMOUNT:
        what = f"{format_ratio(resource.peak / ceiling.value)} of its ceiling at the peak"
    else:
        what = f"{format_rate(resource.peak, ceiling.dimension)} at the peak of {describe(ceiling)}"
    return Finding(
        code=FAMILIES[resource.family].code,
        severity="warning",
        title=f"{resource.name} came near: {what}{spell}",
        text=resource.note,
    )


def _cpu_credit_cost(series: dict[Metric, Series]) -> list[Finding]:
    charged = series.get(Metric.CPU_SURPLUS_CREDITS_CHARGED)
    if charged is None or not charged.time_s.size or not (charged.value > 0).any():
        return []
    total = float(charged.value[charged.value > 0].sum())
    return [
        Finding(
            code="CPUCreditsCharged",
            severity="warning",
            title=f"CPU credits were bought: {total:,.0f} vCPU-minutes beyond what the class earns",
            text=(
                "RDS runs burstable classes in unlimited mode: without credits the CPU is not "
                "throttled, it is billed. The EBS credits of the same class do throttle."
            ),
        )
    ]


def _unreachable(instance: Instance, ceilings: tuple[Ceiling, ...]) -> list[Finding]:
    """Storage IOPS or throughput that was bought above what the class can use at its best."""
    found = []
    storage = instance.storage
    for volume, machine, was_bought in (
        (Family.VOLUME_IOPS, Family.INSTANCE_EBS_IOPS, storage.provisioned_ops_per_s),
        (
            Family.VOLUME_THROUGHPUT,
            Family.INSTANCE_EBS_THROUGHPUT,
            storage.provisioned_bytes_per_s,
        ),
    ):
        if not was_bought:
            continue
        bought = [c for c in ceilings if c.family == volume and c.phase == Phase.FIXED]
        present = [c for c in ceilings if c.family == machine and c.phase != Phase.LEGACY]
        if not bought or not present:
            continue
        most, best = max(present, key=lambda c: c.value), max(bought, key=lambda c: c.value)
        if best.value > 1.1 * most.value:
            found.append(
                Finding(
                    code="StorageBeyondInstance",
                    severity="note",
                    title=(
                        f"the storage offers {format_ceiling(best)}, the class lets through at most "
                        f"{format_ceiling(most)}"
                    ),
                    text=(
                        f"What is above the {FAMILIES[machine].name} cannot be reached, and is paid for."
                    ),
                )
            )
    return found
