"""
The plan as JSON, schema `plimsoll.plan/1` (schema/plan.schema.json, reference page
docs/reference/plan-json.md).

Rule 1: every field is always there; what is not known is null, a price that is not known too.
Rule 2: moments are UTC in ISO 8601 with `Z`, everything else is SI: seconds, bytes, operations,
        ratios 0–1; money is in US dollars. Keys are sorted, so equal plans give equal bytes.
"""

from decimal import Decimal
from typing import Any

import msgspec

from plimsoll.model.plan import (
    Band,
    BreakEven,
    Cost,
    CurvePoint,
    DemandSummary,
    Disruption,
    Effect,
    Ladder,
    Move,
    NextCeiling,
    Option,
    Plan,
    Rejected,
    WorkPoint,
)
from plimsoll.reports.plan.words import is_observed
from plimsoll.reports.render.json_values import instance_object, without_numpy
from plimsoll.units import format_time

PLAN_SCHEMA = "plimsoll.plan/1"


def render_plan_json(plan: Plan) -> bytes:
    """The plan as UTF-8 JSON, two spaces of indent, keys sorted, a newline at the end."""
    # msgspec writes NaN and infinity, which JSON does not have, as null: not known.
    text = msgspec.json.encode(without_numpy(_plan(plan)), order="sorted")
    return msgspec.json.format(text, indent=2) + b"\n"


def _plan(plan: Plan) -> dict[str, Any]:
    start_s, end_s = plan.window_s
    return {
        "schema": PLAN_SCHEMA,
        "headline": plan.headline,
        "instance": instance_object(plan.instance),
        "window": {
            "start": format_time(start_s),
            "end": format_time(end_s),
            "duration_s": end_s - start_s,
        },
        "is_simulated": plan.is_simulated,
        "source": plan.source,
        "allowed_ratio": plan.allowed_ratio,
        "growth": plan.growth,
        "is_observed": is_observed(plan),
        "demand": _demand(plan.demand),
        "present": _option(plan.present),
        "options": [_option(option) for option in plan.options],
        "unpriced": [_option(option) for option in plan.unpriced],
        "ladder": None if plan.ladder is None else _ladder(plan.ladder),
        "curve": [_point(point) for point in plan.curve],
        "work_by_price": [_work_point(point) for point in plan.work_by_price],
        "candidate_count": plan.candidate_count,
        "vector_count": plan.vector_count,
        "prices_as_of": plan.prices_as_of,
        "are_prices_old": plan.are_prices_old,
        "notes": list(plan.notes),
    }


def _demand(demand: DemandSummary) -> dict[str, Any]:
    return {
        "measured_s": demand.measured_s,
        "held_back_s": demand.held_back_s,
        "loop": demand.loop.value,
        "loop_reason": demand.loop_reason,
        "nature": demand.nature.value,
        "nature_reason": demand.nature_reason,
        "greedy_ratio": demand.greedy_ratio,
        "is_lower_bound": demand.is_lower_bound,
        "peak_bytes_per_s": _band(demand.peak_bytes_per_s),
        "peak_ops_per_s": _band(demand.peak_ops_per_s),
        "held_back_bytes": _band(demand.held_back_bytes),
        "assumptions": list(demand.assumptions),
    }


def _option(option: Option) -> dict[str, Any]:
    return {
        "title": option.title,
        "role": option.role,
        "judgement": option.judgement.value,
        "probability": option.probability,
        "reason": option.reason,
        "settled_by": option.settled_by,
        "moves": [_move(move) for move in option.moves],
        "instance": instance_object(option.instance),
        "commands": list(option.commands),
        "disruption": _disruption(option.disruption),
        "effect": _effect(option.effect),
        "cost": _cost(option.cost),
        "usd_per_day_more": _usd(option.usd_per_day_more),
        "rejected": [_rejected(other) for other in option.rejected],
        "break_even": None if option.break_even is None else _break_even(option.break_even),
    }


def _break_even(found: BreakEven) -> dict[str, Any]:
    return {"usd_per_hour": _usd(found.usd_per_hour), "than": found.than}


def _move(move: Move) -> dict[str, Any]:
    return {
        "kind": move.kind.value,
        "before": move.before,
        "after": move.after,
        "text": move.text,
    }


def _disruption(disruption: Disruption) -> dict[str, Any]:
    return {
        "text": disruption.text,
        "is_restart": disruption.is_restart,
        "optimising_s": _band(disruption.optimising_s),
        "moved_bytes": disruption.moved_bytes,
        "reversal": disruption.reversal,
        "notes": list(disruption.notes),
    }


def _effect(effect: Effect) -> dict[str, Any]:
    family, at = effect.balance_min_family, effect.balance_min_s
    return {
        "minutes_at_ceiling": _band(effect.minutes_at_ceiling),
        "ratio_at_ceiling": _band(effect.ratio_at_ceiling),
        "served_bytes_per_s": _band(effect.served_bytes_per_s),
        "served_ratio": _band(effect.served_ratio),
        "latency_s_mean": _band(effect.latency_s_mean),
        "latency_s_p95": _band(effect.latency_s_p95),
        "work_minutes": effect.work and effect.work.chained_minutes,
        "work_minutes_independent": effect.work and effect.work.independent_minutes,
        "balance_min_ratio": effect.balance_min_ratio,
        "balance_min_family": None if family is None else family.value,
        "balance_min_time": None if at is None else format_time(at),
        "next_ceiling": _next_ceiling(effect.next_ceiling) if effect.next_ceiling else None,
    }


def _next_ceiling(following: NextCeiling) -> dict[str, Any]:
    return {
        "family": following.family.value,
        "phase": following.phase.value,
        "dimension": following.dimension.value,
        "value": following.value,
    }


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "usd_per_day": _usd(cost.usd_per_day),
        "usd_per_month": _usd(cost.usd_per_month),
        "instance_usd_per_hour": _usd(cost.instance_usd_per_hour),
        "storage_usd_per_month": _usd(cost.storage_usd_per_month),
        "iops_usd_per_month": _usd(cost.iops_usd_per_month),
        "throughput_usd_per_month": _usd(cost.throughput_usd_per_month),
        "credits_usd_per_month": _usd(cost.credits_usd_per_month),
        "as_of": cost.as_of,
        "is_weak": cost.is_weak,
        "sources": list(cost.sources),
        "unknown": list(cost.unknown),
        "notes": list(cost.notes),
    }


def _rejected(other: Rejected) -> dict[str, Any]:
    return {
        "name": other.name,
        "usd_per_month": _usd(other.usd_per_month),
        "reason": other.reason,
    }


def _work_point(point: WorkPoint) -> dict[str, Any]:
    return {
        "name": point.name,
        "usd_per_day_more": _usd(point.usd_per_day_more),
        "work_minutes": point.work.chained_minutes,
        "work_minutes_independent": point.work.independent_minutes,
    }


def _ladder(ladder: Ladder) -> dict[str, Any]:
    return {
        "rungs": [
            {
                "option": rung.option,
                "kind": rung.kind.value,
                "chance": rung.chance,
                "chance_after": rung.chance_after,
            }
            for rung in ladder.rungs
        ],
        "recommended": ladder.recommended,
        "certain": ladder.certain,
        "usd_per_day_more": _usd(ladder.usd_per_day_more),
        "step_count": ladder.step_count,
        "check": ladder.check,
        "note": ladder.note,
    }


def _point(point: CurvePoint) -> dict[str, Any]:
    return {
        "name": point.name,
        "usd_per_month": _usd(point.usd_per_month),
        "served_ratio": _band(point.served_ratio),
        "is_present": point.is_present,
    }


def _band(band: Band | None) -> dict[str, Any] | None:
    if band is None:
        return None
    return {"low": band.low, "middle": band.middle, "high": band.high}


def _usd(amount: Decimal | None) -> float | None:
    """A number for programs; six decimals are more than any price has."""
    return None if amount is None else round(float(amount), 6)
