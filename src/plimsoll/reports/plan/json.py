"""
The plan as JSON: the form `plimsoll.plan/1`, described in docs/reference/plan-json.md.

Rule 1: every field is always there; what is not known is null, a price that is not known too.
Rule 2: moments are UTC in ISO 8601 with `Z`, everything else is SI: seconds, bytes, operations,
        ratios 0–1; money is in US dollars. Keys are sorted, so equal plans give equal bytes.
"""

from plimsoll.model.plan import Effect, Option, Plan, WorkPoint
from plimsoll.reports.plan.json_objects import EffectObject, OptionObject, PlanDocument, WorkPointObject
from plimsoll.reports.plan.words import is_observed
from plimsoll.reports.render.json_values import instance_object, json_bytes, same_fields, window_object
from plimsoll.units import format_time


def render_plan_json(plan: Plan) -> bytes:
    """Return the plan as JSON."""
    document = same_fields(
        PlanDocument,
        plan,
        instance=instance_object(plan.instance),
        window=window_object(plan.window_s),
        is_observed=is_observed(plan),
        present=_option(plan.present),
        options=tuple(_option(option) for option in plan.options),
        unpriced=tuple(_option(option) for option in plan.unpriced),
        work_by_price=tuple(_work_point(point) for point in plan.work_by_price),
    )
    return json_bytes(document)


def _option(option: Option) -> OptionObject:
    return same_fields(OptionObject, option, instance=instance_object(option.instance), effect=_effect(option.effect))


def _effect(effect: Effect) -> EffectObject:
    at = effect.balance_min_s
    return same_fields(
        EffectObject,
        effect,
        work_minutes=effect.work and effect.work.chained_minutes,
        work_minutes_independent=effect.work and effect.work.independent_minutes,
        balance_min_time=None if at is None else format_time(at),
    )


def _work_point(point: WorkPoint) -> WorkPointObject:
    return same_fields(
        WorkPointObject,
        point,
        work_minutes=point.work.chained_minutes,
        work_minutes_independent=point.work.independent_minutes,
    )
