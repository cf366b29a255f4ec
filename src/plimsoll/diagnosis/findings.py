"""
The findings: the verdict in one sentence, and actions, those at no cost before those that are paid.

Codes are Compute Optimizer's finding reason codes where it has one, extended in its style.
"""

from collections.abc import Callable
from itertools import chain

from msgspec.structs import replace

from plimsoll.diagnosis.ended import over_move
from plimsoll.diagnosis.epochs import BEFORE_CHANGE, LOADING, LOADING_CODE, LOADING_MOVES
from plimsoll.diagnosis.maxima import maximum_finding
from plimsoll.diagnosis.recognition.lookup import lookup_moves, lookup_text, own_number
from plimsoll.diagnosis.recognition.rate_words import describe, format_ceiling, format_rate
from plimsoll.limits.layout import is_aurora
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.contained import guarded
from plimsoll.model.diagnosis import CeilingTime, Finding, Forecast, Interval, Resource, Verdict
from plimsoll.model.family import FAMILIES, INSTANCE_FAMILIES, RATE_FAMILIES
from plimsoll.model.instance import Instance
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import Series
from plimsoll.units import format_clock, format_duration, format_ratio

NOTHING_BOUND = "NoCeilingReached"
"""Code of the finding that no limit was reached."""


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
    end_s: int,
    is_open: bool = False,
) -> tuple[Finding, ...]:
    """
    Return all findings: binding limits (longest first), near limits, costs, and remarks.

    Args:
        is_open: whether the verdict is unknown, so that *no limit was reached* is not a finding.
    """
    near = [r for r in resources if r.verdict == Verdict.NEAR]
    at_rate = any(at.dimension is not Dimension.AMOUNT for at in time_at)
    parts: tuple[tuple[str, Callable[[], list[Finding]]], ...] = (
        *(
            ("a limit", lambda t=t: [_present(_bound(instance, t, intervals, ceilings, measured_s, step_s), t, end_s)])
            for t in time_at
        ),
        ("no limit", lambda: [] if at_rate or is_open else _nothing_bound(resources, measured_s)),
        *((r.name, lambda r=r: [_near(r)]) for r in near),
        ("what runs out", lambda: _running_out(forecasts)),
        ("CPU credits", lambda: _cpu_credit_cost(series)),
        ("what cannot be used", lambda: _unreachable(instance, ceilings)),
        ("pending changes", lambda: _pending(instance)),
    )
    return tuple(chain(*(guarded(f"the finding about {name}", find, ()) for name, find in parts)))


def _running_out(forecasts: tuple[Forecast, ...]) -> list[Finding]:
    return [
        Finding(code=FAMILIES[f.family].exhausted_code or FAMILIES[f.family].code, severity="warning", title=f.text)
        for f in forecasts
        # Judgement: within six hours the person on duty can act. Forecasts further ahead are off by
        # hours (forecast.py).
        if f.empty_in_s is not None and 0 < f.empty_in_s <= 6 * 3600
    ]


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
    if at.dimension is Dimension.AMOUNT:
        return maximum_finding(at, mine, who, measured_s)
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
                f"{who} stayed at {rate} {spell}, first at {format_clock(first)}: {_unknown_text(at.dimension)}{tail}"
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
        title=(f"{who} stayed at {rate}, at its {describe(at.ceiling)}, {spell}, first at {format_clock(first)}{tail}"),
        text=_joined(_meaning(at.ceiling), _fine_text(mine, step_s)),
        moves=_moves(at.ceiling, ceilings),
    )


def _present(finding: Finding, at: CeilingTime, end_s: int) -> Finding:
    """Return the finding with advice for the present: a limit that is over asks for nothing but to be named."""
    over = over_move(at, end_s)
    if not over:
        return finding
    named = tuple(move for move in finding.moves if at.ceiling is None and "iagnose that time" in move)
    return replace(finding, severity="warning", moves=(over, *named))


def _is_exhausted(intervals: list[Interval]) -> bool:
    """Return whether the balance was measured at zero, or was zero by the arithmetic of credits."""
    return any(e.kind in {"balance", "credits"} and e.weight > 0 for i in intervals for e in i.evidence)


def _name(instance: Instance) -> str:
    """Return the name of the instance, or `the storage` for an export without a name."""
    is_named = instance.identifier not in ("", Instance().identifier)
    return instance.identifier if is_named else "the storage"


def _context_of(intervals: list[Interval]) -> str:
    """Return the context of most of the time of these intervals; empty where there is none."""
    seconds: dict[str, int] = {}
    for i in intervals:
        seconds[i.context] = seconds.get(i.context, 0) + i.end_s - i.start_s
    most = max(seconds, key=lambda context: seconds[context])
    # An event that covers less than half of the time does not explain the level.
    return most if 2 * seconds[most] >= sum(seconds.values()) else ""


def _fine_text(intervals: list[Interval], usual_step_s: int) -> str:
    """Return a remark where only samples finer than the usual ones show the ceiling; empty otherwise."""
    if any(i.step_s >= usual_step_s for i in intervals):
        return ""
    step_s = min(i.step_s for i in intervals)
    return f"Only the samples of {step_s} s show it; means of {format_duration(usual_step_s)} hide it."


def _joined(*sentences: str) -> str:
    return " ".join(s for s in sentences if s)


def _pending(instance: Instance) -> list[Finding]:
    if not instance.pending:
        return []
    return [
        Finding(
            code="ChangePending",
            severity="note",
            title=f"a change is pending: {', '.join(instance.pending)}",
            text="This report uses the limits in force now.",
        )
    ]


def _unknown_meaning(instance: Instance, context: str, at: CeilingTime, mine: list[Interval]) -> str:
    if context.startswith(LOADING):
        return (
            "In these hours storage loads its blocks from S3. AWS documents no rate for this, so the "
            "level is not compared with any limit and may not return."
        )
    if context.startswith(BEFORE_CHANGE):
        return (
            "The event does not say what the instance had before, so its limits then are unknown. "
            "Today's limits do not apply to that time."
        )
    if is_aurora(instance):
        return (
            "AWS documents no throughput and no IOPS for Aurora's cluster volume, so this level cannot "
            "be compared. The limit may be the instance's network, its CPU or the volume."
        )
    own = own_number(at, mine)
    if own is not None:
        return (
            f"The level equals its own {describe(own.ceiling)}, but that limit is ruled out "
            "(reason below). Something else stops at the same rate, or the credits differ from the "
            "documentation."
        )
    if at.lookalikes:
        return lookup_text(at, instance)
    if instance.db_class is None:
        return "No documented limit has this number, present or legacy, for any class."
    return (
        "This class and storage have no limit with this number, and no other class has it either. The limit may "
        "be undocumented or provisioned, or storage may be slower than it should be."
    )


def _unknown_moves(instance: Instance, context: str, at: CeilingTime) -> tuple[str, ...]:
    if context.startswith(BEFORE_CHANGE):
        return ("Diagnose the time before the change with --to, and give its --class and --storage.",)
    if is_aurora(instance):
        return (
            "Compare StorageNetworkThroughput at that time with the network bandwidth of the class.",
            "Try a larger class for an hour: if the level moves, the instance sets it, not the volume.",
        )
    if instance.db_class is None:
        return (
            *(
                lookup_moves(at, instance)
                or ("To name this limit, tell me the class and storage: --class db.… --storage …",)
            ),
            "On your own host: look for a limit of its device, controller or container.",
        )
    return (
        *lookup_moves(at, instance),
        "Check class, storage type, size, IOPS and throughput: are they what this instance had?",
        "If so, stop and start the instance, or open a support case with these intervals.",
    )


def _unknown_text(dimension: Dimension) -> str:
    kind = "throughput" if dimension == Dimension.THROUGHPUT else "IOPS"
    return f"an unknown {kind} limit"


def _meaning(ceiling: Ceiling) -> str:
    if ceiling.phase == Phase.LEGACY:
        until = ceiling.origin.valid_to or "a later date"
        return (
            f"AWS documented this number for the class until {until}. An instance that has not been "
            "stopped and started since then keeps it."
        )
    if ceiling.bucket_phase == Phase.BASELINE:
        name = METRICS[ceiling.balance_metric].cloudwatch if ceiling.balance_metric else "the balance"
        return f"Above the baseline an instance spends credits; {name} shows how many are left."
    if ceiling.bucket_phase == Phase.BURST:
        return "The burst lasts only as long as credits do; then the baseline binds."
    return "Reads and writes share this limit. It has no credits."


def _moves(ceiling: Ceiling, ceilings: tuple[Ceiling, ...]) -> tuple[str, ...]:
    now = [c for c in ceilings if c.family == ceiling.family and c.phase in (Phase.BASELINE, Phase.BURST, Phase.FIXED)]
    now.sort(key=lambda c: c.value)
    moves = []
    same = [c for c in now if c.phase == ceiling.bucket_phase] or now
    # A stop and start is free, so it comes first, but only if the present limit is higher. One percent
    # is the rounding between two editions of the documentation.
    if ceiling.phase == Phase.LEGACY and same and same[0].value > 1.01 * ceiling.value:
        numbers = " and ".join(f"{format_ceiling(c)} ({c.phase.value})" for c in now)
        moves.append(
            f"Stop and start the instance: it is free, takes a few minutes offline, and applies the "
            f"present limits, {numbers}."
        )
    instance_bound = ceiling.family in INSTANCE_FAMILIES
    if instance_bound:
        what = "throughput" if ceiling.dimension == Dimension.THROUGHPUT else "IOPS"
        moves.append(f"Spread or reduce the I/O to keep demand below {format_ceiling(ceiling)}.")
        moves.append(
            f"Change to a class with more baseline {what}. More storage {what} would not help: "
            "the instance limit is the lower one."
        )
    else:
        moves.append(_volume_move(ceiling))
        moves.append("A larger class would not help: the volume limit is the lower one.")
    return tuple(moves)


def _volume_move(ceiling: Ceiling) -> str:
    if ceiling.balance_metric == Metric.VOLUME_BALANCE_RATIO:
        return (
            "Change gp2 to gp3: RDS charges the same per GiB. From 400 GiB (Oracle: 200 GiB) it "
            "includes 12,000 IOPS and 500 MiB/s without credits. Or enlarge the gp2 volume: 3 IOPS "
            "per GiB."
        )
    if ceiling.dimension == Dimension.IOPS:
        return "Provision more IOPS on the volume, up to what the class can use."
    return "Provision more throughput on the volume, or more IOPS where throughput follows IOPS."


def _nothing_bound(resources: tuple[Resource, ...], measured_s: float) -> list[Finding]:
    storage = [r for r in resources if r.family in RATE_FAMILIES]
    judged = [r for r in storage if r.verdict in (Verdict.SLACK, Verdict.NEAR) and r.peak is not None]
    if not judged:
        return []
    parts = [
        f"{r.name} peaked at {format_ratio(r.peak / r.ceiling.value)} of its ceiling"
        for r in judged
        if r.ceiling is not None and r.peak is not None
    ]
    return [
        Finding(
            code=NOTHING_BOUND,
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
        what = f"{format_ratio(resource.peak / ceiling.value)} of its ceiling"
    else:
        name = "ceiling" if ceiling.phase is Phase.FIXED else ceiling.phase.value
        peak = format_rate(resource.peak, ceiling.dimension)
        what = f"{peak}, near its {name} of {format_ceiling(ceiling)}"
    return Finding(
        code=FAMILIES[resource.family].code,
        severity="warning",
        title=f"{resource.name} peaked at {what}{spell}",
        text=resource.note,
    )


def _cpu_credit_cost(series: dict[Metric, Series]) -> list[Finding]:
    charged = series.get(Metric.CPU_SURPLUS_CREDITS_CHARGED)
    if charged is None or not charged.time_s.size or not (charged.value > 0).any():
        return []
    # The metric is an amount for each period, so periods add up.
    total = float(charged.value[charged.value > 0].sum())
    return [
        Finding(
            code="CPUCreditsCharged",
            severity="warning",
            title=f"AWS billed {total:,.0f} vCPU-minutes of CPU credits beyond what the class earns",
            text=(
                "RDS runs burstable classes in unlimited mode: at 0 credits it bills the CPU and does "
                "not throttle it. At 0 % EBS credits, the same class is throttled."
            ),
        )
    ]


def _unreachable(instance: Instance, ceilings: tuple[Ceiling, ...]) -> list[Finding]:
    """Return a finding for storage IOPS or throughput bought above the maximum of the class."""
    found = []
    storage = instance.storage
    for volume, machine, was_bought in (
        (Family.VOLUME_IOPS, Family.INSTANCE_EBS_IOPS, storage.provisioned_ops_per_s),
        (Family.VOLUME_THROUGHPUT, Family.INSTANCE_EBS_THROUGHPUT, storage.provisioned_bytes_per_s),
    ):
        if not was_bought:
            continue
        bought = [c for c in ceilings if c.family == volume and c.phase == Phase.FIXED]
        present = [c for c in ceilings if c.family == machine and c.phase != Phase.LEGACY]
        if not bought or not present:
            continue
        most, best = max(present, key=lambda c: c.value), max(bought, key=lambda c: c.value)
        # IOPS are often bought in round numbers, so up to a tenth too much is no finding.
        if best.value > 1.1 * most.value:
            found.append(
                Finding(
                    code="StorageBeyondInstance",
                    severity="note",
                    title=(f"you pay for {format_ceiling(best)}; this class can use {format_ceiling(most)}"),
                    text=f"The {FAMILIES[machine].name} limit of the class is the lower one.",
                )
            )
    return found
