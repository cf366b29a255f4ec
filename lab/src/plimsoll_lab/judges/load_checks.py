"""
What Plimsoll said about a load, compared with what is true of it.

The rules of `checks.py` apply: results alone are judged, and what is missing is wrong.
"""

from collections.abc import Sequence
from decimal import Decimal

from plimsoll.model.ceiling import Family
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.family import FAMILIES
from plimsoll.model.metric import Metric
from plimsoll.model.plan import Option, Plan
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.render.words import limit_name
from plimsoll.units import format_ratio, number
from plimsoll_lab.model.experiment import Check, ExperimentFigures

_VOLUME = (Family.VOLUME_THROUGHPUT, Family.VOLUME_IOPS)
# CloudWatch shows whole percents.
_EMPTY_RATIO = 0.01
# The reserve is kept to within a percent point of credits: the pace looks at them once a minute.
_RESERVE_MARGIN = 0.02


def not_volume_check(diagnosis: Diagnosis) -> Check:
    """Check that the volume is cleared, with a reason, and not named."""
    named = [i for i in diagnosis.intervals if i.family in _VOLUME]
    reasons = [
        f"{limit_name(one.ceiling.family, one.ceiling.phase)}: {one.reason}"
        for interval in diagnosis.intervals
        for one in interval.ruled_out
        if one.ceiling.family in _VOLUME
    ]
    found = reasons[0] if reasons else "the volume is not mentioned"
    if named:
        found = f"the volume bound: {limit_name(named[0].family, named[0].phase)}"
    return Check(
        command="diagnose",
        expected="not the volume, which delivers 1,049 MB/s and 12,000 IOPS in bursts",
        found=found,
        is_right=not named and bool(reasons),
    )


def empty_credits_check(snapshot: Snapshot) -> Check:
    """Check that the metrics that were read back show that the credits ran out."""
    series = snapshot.series.get(Metric.BYTE_BALANCE_RATIO)
    least = None if series is None or not len(series.value) else float(series.value.min())
    return Check(
        command="diagnose",
        expected="EBSByteBalance% at 0",
        found="EBSByteBalance% is missing" if least is None else f"EBSByteBalance% fell to {format_ratio(least)}",
        is_right=least is not None and least <= _EMPTY_RATIO,
    )


def class_check(plan: Plan | None, narrow: Plan | None, *, db_class: str) -> Check:
    """
    Check that a plan names a class with its price.

    Args:
        plan: of all that can be bought; None if there is none.
        narrow: of this class alone, for a plan in which others are better.
        db_class: the class of the published remedy.
    """
    expected = f"{db_class} is named, with the difference in price"
    for one, words in ((plan, ""), (narrow, f" (asked for {db_class} alone: {_first(plan)})")):
        option = None if one is None else _with_class(one, db_class)
        if one is not None and option is not None:
            more = option.usd_per_day_more
            return Check(
                command="plan",
                expected=expected,
                found=f"{option.title}{_price(more)}{_times(one, option)}{words}",
                is_right=more is not None,
            )
    found = "no plan" if plan is None else f"{plan.headline}; {db_class} is not among its options"
    return Check(command="plan", expected=expected, found=found, is_right=False)


def reserve_check(figures: ExperimentFigures, *, reserve: float) -> Check:
    """Check that a paced load left the reserve of credits."""
    least = figures.byte_balance_min
    return Check(
        command="pace",
        expected=f"{format_ratio(reserve)} of the credits stay",
        found="the credits were not measured" if least is None else f"at least {format_ratio(least)} stayed",
        is_right=least is not None and least >= reserve - _RESERVE_MARGIN,
    )


def foreground_check(
    alone: ExperimentFigures | None, unpaced: ExperimentFigures | None, paced: ExperimentFigures
) -> Check:
    """Check that the application's queries are quicker during the paced load than during the same load without a pace."""
    times = [None if one is None else one.response_s_p95 for one in (alone, unpaced, paced)]
    _, slow_s, paced_s = times
    words = ["unknown" if one is None else f"{number(one * 1e3, 2)} ms" for one in times]
    return Check(
        command="pace",
        expected="95 of 100 of the application's queries are quicker than during the load without a pace",
        found=f"within {words[2]}; without a pace within {words[1]}, without a load within {words[0]}",
        is_right=slow_s is not None and paced_s is not None and paced_s < slow_s,
    )


def alert_check(texts: Sequence[str], *, empty_minutes: int) -> Check:
    """
    Check that the alert about used up credits arrived in a Slack receiver, once.

    Args:
        texts: of all messages that arrived.
        empty_minutes: how long the credits must be used up first.
    """
    empty = f"has no {FAMILIES[Family.INSTANCE_EBS_THROUGHPUT].credits_name} left"
    alerts = [text for text in texts if empty in text and not text.startswith("Resolved")]
    return Check(
        command="watch",
        expected=f"one alert in a Slack receiver when the credits have been used up for {empty_minutes} min",
        found=alerts[0] if alerts else f"{len(texts)} messages arrived, and none says so",
        is_right=len(alerts) == 1,
    )


def _with_class(plan: Plan, db_class: str) -> Option | None:
    return next((one for one in plan.options if one.instance.db_class == db_class), None)


def _price(more: Decimal | None) -> str:
    return ", price unknown" if more is None else f", {more:+.2f} USD a day"


def _first(plan: Plan | None) -> str:
    """Return what a plan proposes when it may propose anything."""
    return "there is no other plan" if plan is None else f"the plan for all classes says: {plan.headline}"


def _times(plan: Plan, option: Option) -> str:
    before, after = plan.present.effect.work, option.effect.work
    if before is None or after is None:
        return ""
    return (
        f", the same work in {number(after.chained_minutes, 2)} min instead of {number(before.chained_minutes, 2)} min"
    )
