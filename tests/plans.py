"""
Plans made by hand, so that every renderer has something full, quiet and empty to show.

The figures of `claims` follow the claims pipeline of 2023 (see examples/claims-pipeline), filled up
with plausible ones; nothing here was computed or measured, and `is_simulated` says so.
"""

from decimal import Decimal

from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.plan import (
    Band,
    BreakEven,
    Cost,
    CurvePoint,
    DemandSummary,
    Disruption,
    Effect,
    Judgement,
    Ladder,
    LoadResponse,
    Move,
    MoveKind,
    NextCeiling,
    Option,
    Plan,
    RejectedOption,
    Rung,
    WorkPoint,
    WorkTime,
)

START_S, END_S = 1_676_318_400, 1_676_448_000  # 2023-02-13 20:00 to 2023-02-15 08:00, UTC
GP2 = Storage(kind="gp2", size_gib=1200)
INSTANCE = Instance(
    identifier="claims-pipeline",
    db_class="db.t3.xlarge",
    engine="postgres",
    region="us-east-1",
    multi_az=False,
    storage=GP2,
)
STORAGE_USD = Decimal("138.00")


def band(low: float, middle: float | None = None, high: float | None = None) -> Band:
    """Three numbers, or one three times."""
    middle = low if middle is None else middle
    return Band(low=low, middle=middle, high=middle if high is None else high)


def demand(**changed) -> DemandSummary:
    """Demand behind a ceiling that bound for a third of the window."""
    values = {
        "measured_s": 129_600.0,
        "held_back_s": 43_320.0,
        "loop": LoadResponse.OPEN,
        "loop_reason": "latency rose 16-fold while the number of connections stayed the same",
        "is_lower_bound": False,
        "peak_bytes_per_s": band(346e6, 361.2e6, 420e6),
        "peak_ops_per_s": band(3828, 3990, 4400),
        "held_back_bytes": band(0.9e12, 1.2e12, 2.0e12),
        "assumptions": (
            "requests keep their size of 96.6 KiB while they wait",
            "what is held back is carried over to the next minute",
        ),
    }
    return DemandSummary(**(values | changed))


def effect(minutes: Band, **changed) -> Effect:
    """What the window would have been; the rest follows from the minutes unless it is given."""
    ratio = Band(low=minutes.low / 2160, middle=minutes.middle / 2160, high=minutes.high / 2160)
    values = {
        "minutes_at_ceiling": minutes,
        "ratio_at_ceiling": ratio,
        "served_bytes_per_s": band(118e6, 131e6, 146e6),
        "served_ratio": band(0.9992, 1.0, 1.0),
        "work": WorkTime(chained_minutes=380.0, independent_minutes=240.0),
        "latency_s_mean": band(0.0049, 0.0052, 0.0061),
        "latency_s_p95": band(0.0071, 0.0083, 0.012),
        "balance_min_ratio": 0.43,
        "balance_min_family": Family.INSTANCE_EBS_THROUGHPUT,
        "balance_min_s": 1_676_340_600,
        "next_ceiling": NextCeiling(
            family=Family.VOLUME_IOPS, phase=Phase.BASELINE, dimension=Dimension.IOPS, value=3600
        ),
    }
    return Effect(**(values | changed))


def cost(instance_usd_per_hour: str | None, **changed) -> Cost:
    """An instance with the storage of the pipeline."""
    hourly = None if instance_usd_per_hour is None else Decimal(instance_usd_per_hour)
    values = {
        "usd_per_month": None if hourly is None else hourly * 730 + STORAGE_USD,
        "instance_usd_per_hour": hourly,
        "storage_usd_per_month": STORAGE_USD,
        "iops_usd_per_month": Decimal(0),
        "throughput_usd_per_month": None,
        "as_of": "2022-07-17",
        "sources": ("AWS Price List",),
        "notes": ("the discount is taken for the instance alone",),
    }
    return Cost(**(values | changed))


def to_class(db_class: str) -> Move:
    """From the pipeline's class to another."""
    return Move(kind=MoveKind.CLASS, before="db.t3.xlarge", after=db_class, text=f"class db.t3.xlarge to {db_class}")


def order(db_class: str) -> str:
    """The line that would order the class."""
    return (
        "aws rds modify-db-instance --region us-east-1 --db-instance-identifier claims-pipeline "
        f"--db-instance-class {db_class} --apply-immediately"
    )


RESTART = Disruption(
    text="the instance restarts: a few minutes without a database, none of it in the window",
    is_restart=True,
    optimising_s=None,
    moved_bytes=None,
    reversal="change the class back, at any time, with another restart",
    notes=("db.m6g.xlarge is of another architecture (Graviton): test what is compiled",),
)
NOTHING = Disruption(text="nothing is changed", is_restart=False, optimising_s=None, moved_bytes=None, reversal="")


def option(**changed) -> Option:
    """The way past of the published incident."""
    values = {
        "title": "db.m6g.xlarge, storage as it is",
        "role": "cheapest",
        "moves": (to_class("db.m6g.xlarge"),),
        "instance": INSTANCE,
        "commands": (order("db.m6g.xlarge"),),
        "disruption": RESTART,
        "effect": effect(band(0, 0, 4)),
        "cost": cost("0.318"),
        "usd_per_day_more": Decimal("0.672"),
        "judgement": Judgement.LIFTS,
        "probability": 1.0,
        "reason": "at the highest plausible demand 4 min of 36 h are spent at a ceiling, of 22 allowed",
        "settled_by": "",
        "rejected": (
            RejectedOption(
                name="db.m5.large, gp2 1,200 GiB",
                usd_per_month=Decimal("267.94"),
                reason="its baseline of 81.25 MB/s would bind for 12 h 40 min",
            ),
            RejectedOption(
                name="db.t4g.xlarge, gp2 1,200 GiB",
                usd_per_month=None,
                reason="its baseline is that of the present class, 86.875 MB/s",
            ),
        ),
    }
    return Option(**(values | changed))


def present(**changed) -> Option:
    """The pipeline as it is."""
    values = {
        "title": "db.t3.xlarge, gp2 1,200 GiB",
        "role": "",
        "moves": (),
        "commands": (),
        "disruption": NOTHING,
        "effect": effect(
            band(712, 722, 804),
            served_bytes_per_s=band(86.53e6),
            served_ratio=band(0.31, 0.42, 0.5),
            work=WorkTime(chained_minutes=722.0, independent_minutes=722.0),
            latency_s_mean=band(0.0764),
            latency_s_p95=band(0.081),
            balance_min_ratio=0.0,
            next_ceiling=NextCeiling(
                family=Family.INSTANCE_EBS_THROUGHPUT,
                phase=Phase.BASELINE,
                dimension=Dimension.THROUGHPUT,
                value=86.875e6,
            ),
        ),
        "cost": cost("0.290"),
        "usd_per_day_more": Decimal(0),
        "judgement": Judgement.DOES_NOT,
        "probability": 0.0,
        "reason": "a ceiling bound for 12 h 2 min of 36 h",
        "rejected": (),
    }
    return option(**(values | changed))


def free() -> Option:
    """A free move that is not enough."""
    window = "move two of the three loading jobs to 15:00 – 20:00"
    return option(
        title="jobs one after the other",
        role="free",
        moves=(Move(kind=MoveKind.SCHEDULE, before="", after="", text=window),),
        commands=(),
        disruption=Disruption(
            text="nothing restarts; the jobs end later",
            is_restart=False,
            optimising_s=None,
            moved_bytes=None,
            reversal="schedule them as before",
        ),
        effect=effect(band(214, 260, 420), served_ratio=band(0.7, 0.8, 0.85)),
        cost=cost("0.290"),
        usd_per_day_more=Decimal(0),
        judgement=Judgement.DOES_NOT,
        probability=0.0,
        reason="even so 3.6 h of the window would be spent at the baseline of 86.875 MB/s",
        rejected=(),
    )


def unsure() -> Option:
    """A cheaper one that depends on demand nobody saw."""
    modified = Disruption(
        text="the instance restarts, then storage is optimised",
        is_restart=True,
        optimising_s=band(3600, 10_800, 21_600),
        moved_bytes=1200 * 1024.0**3,
        reversal="the type back to gp2 after six hours; the size stays",
    )
    return option(
        title="db.t4g.xlarge, gp3 1,200 GiB with 12,000 IOPS and 500 MiB/s",
        role="cheaper but unsure",
        moves=(
            to_class("db.t4g.xlarge"),
            Move(kind=MoveKind.STORAGE_TYPE, before="gp2", after="gp3", text="storage type gp2 to gp3"),
        ),
        commands=(order("db.t4g.xlarge"), order("db.t4g.xlarge --storage-type gp3")),
        disruption=modified,
        effect=effect(band(0, 11, 96), latency_s_mean=None, latency_s_p95=None),
        cost=cost("0.258", is_weak=True, credits_usd_per_month=Decimal("3.20")),
        usd_per_day_more=Decimal("-0.768"),
        judgement=Judgement.UNSURE,
        probability=0.71,
        reason="from 320 MB/s of demand on the baseline binds, and demand lies between 300 and 420",
        settled_by="run one night with two of the three jobs and see whether the balance stays above 0",
        rejected=(),
    )


def unpriced() -> Option:
    """One whose price nobody knows."""
    return option(
        title="db.m7g.large, storage as it is",
        role="price not known",
        moves=(to_class("db.m7g.large"),),
        commands=(order("db.m7g.large"),),
        cost=cost(None, unknown=("the price of db.m7g.large in us-east-1 is not known; --prices FILE has it",)),
        usd_per_day_more=None,
        rejected=(),
        break_even=BreakEven(usd_per_hour=Decimal("0.3179"), than="db.m6g.xlarge, storage as it is"),
    )


def curve() -> tuple[CurvePoint, ...]:
    """From the cheapest to one that has more than is needed."""
    points = (
        ("db.t4g.large, gp2 1,200 GiB", "232.17", band(0.22, 0.31, 0.4), False),
        ("db.t3.xlarge, gp2 1,200 GiB", "349.70", band(0.31, 0.42, 0.5), True),
        ("db.m6g.xlarge, gp2 1,200 GiB", "370.14", band(0.9992, 1.0, 1.0), False),
        ("db.r6g.4xlarge, gp2 1,200 GiB", "1450.54", band(1.0), False),
    )
    return tuple(
        CurvePoint(name=name, usd_per_month=Decimal(usd), served_ratio=served, is_present=there)
        for name, usd, served, there in points
    )


def ladder() -> Ladder:
    """A cheaper try, the recommended step, and one after it that the plan does not need."""
    return Ladder(
        rungs=(Rung(option=2, chance=0.71, chance_after=0.71), Rung(option=1, chance=0.97, chance_after=0.9)),
        recommended=1,
        certain=1,
        usd_per_day_more=Decimal("0.672"),
        step_count=1.0,
        check="plimsoll compare rds:claims-pipeline --at MOMENT --class-a db.t3.xlarge",
    )


def claims(**changed) -> Plan:
    """A ceiling that bound, with every kind of option."""
    values = {
        "instance": INSTANCE,
        "window_s": (START_S, END_S),
        "is_simulated": True,
        "source": "tests/plans.py",
        "allowed_ratio": 0.01,
        "growth": 1.0,
        "demand": demand(),
        "present": present(),
        "options": (free(), option(), unsure()),
        "unpriced": (unpriced(),),
        "curve": curve(),
        "work_by_price": (
            WorkPoint(
                name="db.m6g.xlarge, gp2 1,200 GiB",
                usd_per_day_more=Decimal("0.672"),
                work=WorkTime(chained_minutes=380.0, independent_minutes=240.0),
            ),
        ),
        "candidate_count": 12_480,
        "vector_count": 1_377,
        "prices_as_of": "2022-07-17",
        "are_prices_old": False,
        "headline": "db.m6g.xlarge with the storage as it is lifts the ceiling for $0.67 a day more",
        "notes": ("memory was not measured: classes with less memory are left out",),
        "ladder": None if "options" in changed else ladder(),
    }
    return Plan(**(values | changed))


def quiet(**changed) -> Plan:
    """Nothing bound, and something smaller would do."""
    free_of_ceilings = demand(
        held_back_s=0.0,
        loop=LoadResponse.UNKNOWN,
        loop_reason="no ceiling bound, so it does not matter here",
        peak_bytes_per_s=band(61e6),
        peak_ops_per_s=band(900),
        held_back_bytes=band(0),
        assumptions=(),
    )
    smaller = option(
        title="db.t3.large, storage as it is",
        role="smaller",
        moves=(to_class("db.t3.large"),),
        commands=(order("db.t3.large"),),
        effect=effect(band(0), served_ratio=band(1.0), work=None),
        cost=cost("0.145"),
        usd_per_day_more=Decimal("-3.48"),
        reason="no minute is spent at a ceiling",
        rejected=(),
    )
    there = present(
        effect=effect(band(0), served_ratio=band(1.0), work=None),
        judgement=Judgement.LIFTS,
        probability=1.0,
        reason="no minute is spent at a ceiling",
    )
    values = {
        "demand": free_of_ceilings,
        "present": there,
        "options": (smaller,),
        "unpriced": (),
        "curve": (),
        "work_by_price": (),
        "headline": "no change is needed; db.t3.large would be enough, for $3.48 a day less",
        "notes": (),
    }
    return claims(**(values | changed))


def nothing(**changed) -> Plan:
    """As little as a plan can know: no option, no price, no latency, no bucket."""
    blind = effect(
        band(712, 722, 804),
        latency_s_mean=None,
        latency_s_p95=None,
        balance_min_ratio=None,
        balance_min_family=None,
        balance_min_s=None,
        next_ceiling=None,
    )
    bare = Cost(
        usd_per_month=None,
        instance_usd_per_hour=None,
        storage_usd_per_month=None,
        iops_usd_per_month=None,
        throughput_usd_per_month=None,
        unknown=("the region is not known",),
    )
    there = present(effect=blind, cost=bare, usd_per_day_more=None, judgement=Judgement.UNSURE, probability=0.0)
    values = {
        "instance": Instance(),
        "is_simulated": False,
        "demand": demand(
            loop=LoadResponse.UNKNOWN,
            loop_reason="",
            is_lower_bound=True,
            peak_bytes_per_s=None,
            peak_ops_per_s=None,
            held_back_bytes=None,
            assumptions=(),
        ),
        "present": there,
        "options": (),
        "unpriced": (),
        "curve": (),
        "work_by_price": (),
        "candidate_count": 0,
        "vector_count": 0,
        "headline": "no option is known",
        "notes": (),
    }
    return claims(**(values | changed))


PLANS = {"claims": claims, "quiet": quiet, "nothing": nothing}
