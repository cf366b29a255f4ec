"""
One option of a plan in words: its place in the tables, and the facts of its card.

Before and after stand beside each other wherever both are known.
"""

from decimal import Decimal

from plimsoll.model.plan import Band, Cost, DemandSummary, Disruption, Effect, Judgement, MoveKind, Option, Plan
from plimsoll.reports.plan import words as plan_words
from plimsoll.reports.render import words
from plimsoll.reports.render.facts import Fact
from plimsoll.units import format_bytes, format_duration, format_ratio, in_cases, number

_STORAGE_MOVES = frozenset({MoveKind.STORAGE_TYPE, MoveKind.STORAGE_SIZE, MoveKind.IOPS, MoveKind.THROUGHPUT})

_CHEAPEST = "cheapest"
_BRIEF = ("Change", "Cost", "Break-even", "At a ceiling")

# A balance that rounds to 100 %.
_FULL = 0.995


def answer_of(plan: Plan, option: Option) -> str:
    """
    Return in how many of the cases considered possible it is enough: `7 of 10`; empty for what is there as it was seen.

    Of a load that takes whatever it is given, how long the same work takes.
    """
    if plan_words.is_by_hours(plan):
        return plan_words.work(option.effect.work) or plan_words.UNKNOWN
    # Without growth it is measured, and where the measurement leaves it open no replay has a chance for it.
    if option is plan.present and (option.judgement is not Judgement.UNSURE or plan.growth == 1):
        return ""
    return in_cases(option.probability).replace("fewer than", "<")


def role_of(plan: Plan, option: Option) -> str:
    """Return `cheapest that lifts` if cheaper options exist that may not lift, else the plain role."""
    role = words.plain(option.role)
    if option.break_even is not None:
        return f"{role}, cheaper below {plan_words.break_even(option.break_even.usd_per_hour)}"
    if role == _CHEAPEST and option.judgement is Judgement.LIFTS:
        role += " that lifts"
    ladder = plan.ladder
    if ladder is not None and plan.options[ladder.rungs[ladder.recommended].option] is option:
        is_advised = plan_words.is_recommended(ladder, ladder.recommended)
        role += ", recommended" if is_advised else ", the most likely"
    return role


def option_facts(plan: Plan, option: Option, *, is_brief: bool) -> tuple[Fact, ...]:
    """
    Return the facts of an option's card.

    Args:
        plan: the plan that has it.
        option: one of its options.
        is_brief: whether only setup, price and effect, for one that cannot be ranked.
    """
    facts = (
        Fact("Change", "; ".join(words.plain(move.text) for move in option.moves)),
        *_cost_facts(plan.present.cost, option),
        Fact("Break-even", _break_even(option)),
        *_effect_facts(plan, option),
        Fact("Disruption", _disruption(option.disruption)),
        Fact("To undo", words.sentence(option.disruption.reversal)),
    )
    return tuple(fact for fact in facts if fact.value and (fact.name in _BRIEF or not is_brief))


def _break_even(option: Option) -> str:
    """Return the break-even price of its class; nothing where its price is known."""
    if option.break_even is None:
        return ""
    usd = plan_words.break_even(option.break_even.usd_per_hour)
    than = words.plain(option.break_even.than)
    return f"below {usd} on demand it costs less than {than}, which is as likely to be enough"


def _cost_facts(before: Cost, option: Option) -> list[Fact]:
    """Return the total price before and after, or only the difference where the total is unknown."""
    after, more = option.cost, plan_words.usd_per_day_more(option.usd_per_day_more)
    if after.usd_per_month is None:
        whole = plan_words.PRICE_UNKNOWN
        if option.usd_per_day_more is not None:
            whole = f"{more}; the total price is unknown"
            whole += f" (on demand, as of {after.as_of})" if after.as_of else ""
        return [Fact("Cost", " ".join(map(words.sentence, (whole, *after.unknown))))]
    if before.usd_per_month is None:
        text = f"{plan_words.usd_per_day(after.usd_per_day)}, "
        text += plan_words.usd_per_month(after.usd_per_month)
        text += "; the current price is unknown"
        if option.usd_per_day_more is not None:
            text += f", the difference is: {more}"
    else:
        text = (
            f"{_change(before.usd_per_day, after.usd_per_day)} a day, "
            f"{_change(before.usd_per_month, after.usd_per_month)} a month: {more}"
        )
    return [Fact("Cost", text), Fact("Cost items", _parts_of(after))]


def _parts_of(cost: Cost) -> str:
    parts = []
    if cost.instance_usd_per_hour is not None:
        parts.append(f"instance {plan_words.usd_per_hour(cost.instance_usd_per_hour)}")
    for name, amount in (
        ("storage", cost.storage_usd_per_month),
        ("IOPS", cost.iops_usd_per_month),
        ("throughput", cost.throughput_usd_per_month),
        ("CPU credits", cost.credits_usd_per_month),
    ):
        if amount:
            parts.append(f"{name} {plan_words.usd_per_month(amount)}")
    text = ", ".join(parts)
    if text and cost.as_of:
        text += f" (on demand, as of {cost.as_of})"
    if text and cost.is_weak:
        text += "; one of these prices has a weak source"
    return text


def is_spread(option: Option) -> bool:
    """Return whether it only moves work to other hours, so that the effect on that work is unknown."""
    return any(move.kind is MoveKind.SCHEDULE for move in option.moves)


def _effect_facts(plan: Plan, option: Option) -> list[Fact]:
    after = option.effect
    before, is_observed = plan.present.effect, plan_words.is_observed(plan)
    time = _arrow(
        plan_words.minutes(before.minutes_at_ceiling, is_observed=is_observed),
        plan_words.minutes(after.minutes_at_ceiling, is_observed=is_observed),
    )
    waiting = Fact("At a ceiling", f"{time} (you allow {allowed_minutes(plan)} min)")
    if is_spread(option):
        return [waiting]
    return [
        waiting,
        Fact(
            "Served",
            _arrow(*(plan_words.bytes_per_s(e.served_bytes_per_s) for e in (before, after)))
            + f" on average {_when_served(plan.demand)}",
        ),
        Fact(
            "Without waiting",
            _arrow(*(plan_words.share_served(e.served_ratio, is_observed=is_observed) for e in (before, after)))
            + " of the bytes",
        ),
        Fact("Same work", _same_work(before, after)),
        Fact("Latency, mean", _arrow(*(plan_words.latency(e.latency_s_mean) for e in (before, after)))),
        Fact("Latency, p95", _arrow(*(plan_words.latency(e.latency_s_p95) for e in (before, after)))),
        Fact("Lowest balance", _lowest(after)),
        Fact("Next ceiling", _following(after)),
    ]


def _when_served(demand: DemandSummary) -> str:
    if demand.held_back_s == 0:
        return "over the window"
    return f"in the {format_duration(demand.held_back_s)} in which a ceiling bound"


def _same_work(before: Effect, after: Effect) -> str:
    """Return the duration of the jobs, back to back; nothing where nothing was throttled."""
    if before.work is None or after.work is None:
        return ""
    chained = _arrow(*(plan_words.work(one.work) for one in (before, after)))
    independent = _minutes(after.work.independent_minutes)
    if independent == plan_words.work(after.work):
        return chained
    return f"{chained} with tasks back to back; {independent} if each keeps its start time"


def _minutes(value: float) -> str:
    return plan_words.minutes(Band(low=value, middle=value, high=value), is_observed=False)


def _lowest(effect: Effect) -> str:
    """Return `40 % of the instance EBS throughput credits on 2023-02-14 02:10 UTC, at the high demand`."""
    if effect.balance_min_ratio is None:
        return ""
    family = effect.balance_min_family
    of = f" of the {words.FAMILY_NAMES[family]} credits" if family else ""
    if effect.balance_min_ratio >= _FULL:
        return f"100 %{of}, also at the high demand"
    at = effect.balance_min_s
    when = f", on {words.moment(at)} UTC" if at is not None else ""
    return f"{format_ratio(effect.balance_min_ratio)}{of}{when}, at the high demand"


def _following(effect: Effect) -> str:
    if effect.next_ceiling is None:
        return ""
    return f"{plan_words.next_ceiling(effect.next_ceiling)}, at the window's I/O size"


def _disruption(disruption: Disruption) -> str:
    text = words.sentence(disruption.text)
    if disruption.optimising_s is not None:
        span = plan_words.duration(disruption.optimising_s)
        text += f" Optimising takes {span} by the figures that EBS publishes."
    copied = "" if disruption.moved_bytes is None else format_bytes(disruption.moved_bytes)
    if copied and copied not in text:
        text += f" {copied} are copied."
    return text.strip()


def short_disruption(option: Option) -> str:
    """Return `restart, copy, optimising`; every change of storage includes optimising."""
    disruption = option.disruption
    is_changed = any(move.kind in _STORAGE_MOVES for move in option.moves)
    parts = ["restart"] if disruption.is_restart else []
    if disruption.moved_bytes is not None:
        parts.append("copy")
    if disruption.optimising_s is not None or is_changed:
        parts.append("optimising")
    return ", ".join(parts) or "none"


def _change(before: Decimal | None, after: Decimal | None) -> str:
    return _arrow(plan_words.usd(before), plan_words.usd(after))


def _arrow(before: str, after: str) -> str:
    """Return `18 ms → 3.4 ms`, or one value if both texts are equal."""
    return after if before == after else f"{before} → {after}"


def allowed_minutes(plan: Plan) -> str:
    """Return the minutes of the window that may be spent at a ceiling."""
    return number(plan.allowed_ratio * plan.demand.measured_s / 60, 3)
