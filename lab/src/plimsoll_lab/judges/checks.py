"""
What Plimsoll said about a phase of an experiment, compared with what is true of it.

Rule 1: a check is made of results alone; what is expected comes from the phase, or from the gate's own record.
Rule 2: a result that is missing is wrong, never passed over.
"""

from collections.abc import Sequence

from plimsoll.explain.plans import compare as compare_plans
from plimsoll.model.cause import Cause, CauseKind, Inspection
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.comparison import Comparison, LimitsOutcome, StepResult
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.explain import CaptureFile, PairOutcome
from plimsoll.model.plan import MoveKind, Plan
from plimsoll.reports.render.words import limit_name, quantity
from plimsoll.units import format_duration, format_ratio, number
from plimsoll_lab.model.experiment import Check
from plimsoll_lab.model.lab import GroundTruth

_MINUTE_S = 60
# A level within this ratio is that of the limit; the diagnosis separates plateaus by as much.
_LEVEL_RATIO = 0.03
# Rewrites and vacuum are the story if they are at least this share of the load; a judgement.
_SHARE_MIN = 0.1


def binding_check(diagnosis: Diagnosis, truth: GroundTruth, *, binds: str, limit: float | None) -> Check:
    """
    Check that the diagnosis names the limit that bound, or none.

    Args:
        diagnosis: of the phase's window.
        truth: what the gate did in it.
        binds: `legacy baseline`, `baseline`, `none`, `not the baseline`, or `as recorded` for no other than the gate's.
        limit: its number, bytes/s; None where none is known to bind.
    """
    held = _held_words(truth)
    if binds == "as recorded":
        # Which of several limits in turn acted for long enough is left open; one that did not act is not named.
        expected, is_right = f"at most what the gate did: {held}", not truth.wrong
    elif binds == "not the baseline":
        expected = f"credits last, so no baseline; the gate: {held}"
        is_right = not any(one.phase is Phase.BASELINE for one in diagnosis.intervals)
    elif binds == "none" or limit is None:
        # What follows from the truth itself: a limit that acted for long enough is no mistake.
        is_right = diagnosis.verdict is not Verdict.UNKNOWN and (not diagnosis.intervals or truth.is_right)
        expected = f"no slow period; the gate: {held}"
    else:
        expected = f"instance EBS throughput, {binds}, {quantity(limit, 'bytes/s')}; the gate: {held}"
        is_right = _names(diagnosis, binds, limit)
    return Check(command="diagnose", expected=expected, found=_found_words(diagnosis), is_right=is_right)


def not_iops_check(diagnosis: Diagnosis) -> Check:
    """Check that IOPS are not called the limit, although they were bought and are watched."""
    at = [i for i in diagnosis.intervals if i.dimension is Dimension.IOPS]
    shown = next(iter(at), None)
    reasons = [r.reason for i in diagnosis.intervals for r in i.ruled_out if _is_iops(r.ceiling)]
    found = reasons[0] if reasons and shown is None else "IOPS are not named"
    if shown is not None:
        found = f"IOPS at {quantity(shown.level, 'ops/s')}"
    return Check(command="diagnose", expected="not IOPS", found=found, is_right=shown is None)


def relief_check(diagnosis: Diagnosis, window_s: tuple[int, int], relief_minutes: tuple[int, int]) -> Check:
    """
    Check that the diagnosis sees a time without the limit between two times at it.

    Args:
        diagnosis: of the phase's window.
        window_s: of the phase, epoch seconds.
        relief_minutes: first and last minute of the relief.
    """
    start, end = (window_s[0] + minute * _MINUTE_S for minute in relief_minutes)
    middle = (start + end) / 2
    before = [i for i in diagnosis.intervals if i.end_s <= middle]
    after = [i for i in diagnosis.intervals if i.start_s >= middle]
    found = ", ".join(
        f"minute {(i.start_s - window_s[0]) // _MINUTE_S} to {(i.end_s - window_s[0]) // _MINUTE_S}"
        for i in diagnosis.intervals
    )
    return Check(
        command="diagnose",
        expected=f"at the limit before minute {relief_minutes[0]} and after minute {relief_minutes[1]}, not between",
        found=f"at the limit {found}" if found else "at no limit",
        is_right=bool(before and after),
    )


def cause_check(inspection: Inspection | None, *, rewrites: bool) -> Check:
    """
    Check that the inspection names the vacuum, and rewritten values if there are any, with their shares.

    Args:
        inspection: of the phase; None if it failed.
        rewrites: whether whole documents are sent.
    """
    vacuum = _cause(inspection, CauseKind.VACUUM)
    toast = _cause(inspection, CauseKind.TOAST)
    expected = "vacuum of the TOAST relation of asset" + (
        " and rewritten values of asset" if rewrites else ", and no rewritten values"
    )
    words = [_share_words(c) for c in (vacuum, toast) if c is not None]
    has_rewrites = toast is not None and (toast.share_of_load or 0.0) >= _SHARE_MIN
    return Check(
        command="inspect",
        expected=expected,
        found="; ".join(words) if words else "neither of them",
        is_right=vacuum is not None and has_rewrites is rewrites,
    )


def plan_check(plan: Plan | None, *, names: Sequence[str]) -> Check:
    """
    Check that the plan begins with the free stop and start.

    Args:
        plan: None if there is none.
        names: classes of which one ended the published incident, for what is shown.
    """
    expected = "first a stop and start, which is free; then a larger class"
    if plan is None:
        return Check(command="plan", expected=expected, found="no plan", is_right=False)
    rungs = () if plan.ladder is None else plan.ladder.rungs
    steps = [plan.options[rung.option] for rung in rungs]
    is_first = bool(steps) and any(m.kind is MoveKind.RESTART for m in steps[0].moves)
    found = " → ".join(f"{step.title} ({format_ratio(rung.chance)})" for step, rung in zip(steps, rungs, strict=True))
    has_class = any(name in (step.instance.db_class or "") for step in steps for name in names)
    more = "" if has_class or not names else f"; {names[0]} is not among them"
    return Check(
        command="plan", expected=expected, found=f"{found}{more}" if found else plan.headline, is_right=is_first
    )


def comparison_check(comparison: Comparison | None, *, was_enough: bool) -> Check:
    """
    Check what the comparison with an earlier phase says about the step between them.

    How long the limit was reached is no part of it: the load differs from phase to phase.

    Args:
        comparison: None if one side could not be read.
        was_enough: whether the step truly lifted the limit.
    """
    expected = "better: no time at a limit" if was_enough else "the step was not enough"
    if comparison is None:
        return Check(command="compare", expected=expected, found="no comparison", is_right=False)
    shares = [
        "unknown" if side.at_ceiling_share is None else format_ratio(side.at_ceiling_share)
        for side in (comparison.before, comparison.after)
    ]
    step = comparison.step
    words = "" if step is None else f"; the step was {step.value.replace('_', ' ')}"
    is_better = comparison.outcome is LimitsOutcome.BETTER and comparison.after.at_ceiling_share == 0
    return Check(
        command="compare",
        expected=expected,
        found=f"{comparison.outcome.value}: {shares[0]} of the time at a limit before, {shares[1]} after{words}",
        is_right=is_better if was_enough else step is StepResult.NOT_ENOUGH,
    )


def plans_check(healthy: CaptureFile | None, slow: CaptureFile | None) -> Check:
    """Check that a statement has the same plan as in the healthy phase, and that the difference is not the query's."""
    expected = "the same plan; the time went into reading"
    if healthy is None or slow is None:
        return Check(command="explain compare", expected=expected, found="no plans", is_right=False)
    compared = compare_plans(healthy, slow, names=("healthy", "slow"))
    pair = next(iter(compared.pairs), None)
    if pair is None:
        return Check(command="explain compare", expected=expected, found="no pair", is_right=False)
    times = [capture.execution_s for capture in (pair.first, pair.second)]
    known = [f"{time * 1e3:.0f} ms" for time in times if time is not None]
    is_right = pair.outcome not in (PairOutcome.PLAN, PairOutcome.UNKNOWN, PairOutcome.SAME)
    return Check(
        command="explain compare", expected=expected, found=f"{pair.title} ({' → '.join(known)})", is_right=is_right
    )


def _names(diagnosis: Diagnosis, binds: str, limit: float) -> bool:
    binding = diagnosis.binding
    if binding is None or binding.family is not Family.INSTANCE_EBS_THROUGHPUT:
        return False
    is_legacy = binding.phase is Phase.LEGACY
    return is_legacy is (binds == "legacy baseline") and _is_at(binding.level, limit)


def _is_at(level: float, limit: float) -> bool:
    return abs(level / limit - 1) <= _LEVEL_RATIO


def _is_iops(ceiling: object) -> bool:
    return getattr(ceiling, "family", None) in (Family.INSTANCE_EBS_IOPS, Family.VOLUME_IOPS)


def _held_words(truth: GroundTruth) -> str:
    longest = next(iter(truth.held), None)
    if longest is None:
        return "throttled no request"
    minutes = longest.held_s * truth.clock / _MINUTE_S
    unit = "bytes/s" if longest.dimension is Dimension.THROUGHPUT else "ops/s"
    return f"{number(round(minutes))} min at {quantity(longest.limit, unit)}"


def _found_words(diagnosis: Diagnosis) -> str:
    binding = diagnosis.binding
    if binding is None:
        return diagnosis.verdict.value
    former = binding.ceiling.former_phase if binding.ceiling else None
    name = limit_name(binding.family, binding.phase, former)
    unit = "bytes/s" if binding.dimension is Dimension.THROUGHPUT else "ops/s"
    return f"{name}, {quantity(binding.level, unit)}, for {format_duration(binding.seconds)}"


def _cause(inspection: Inspection | None, kind: CauseKind) -> Cause | None:
    """Return the largest cause of a kind that is about the large table."""
    causes = () if inspection is None else inspection.causes
    about = [c for c in causes if c.kind is kind and "asset" in f"{c.subject} {c.title}"]
    return max(about, key=lambda cause: cause.bytes_per_s or 0.0, default=None)


def _share_words(cause: Cause) -> str:
    # No rate: the database runs one part of the load, and the report gives rates of the whole.
    share = "an unknown share" if cause.share_of_load is None else format_ratio(cause.share_of_load)
    return f"{cause.kind.value}: {share} of the load"
