"""The headline of a comparison: time at ceilings after and before, and latency."""

from collections.abc import Iterable

from plimsoll.model.ceiling import Dimension, Family
from plimsoll.model.comparison import Comparison, MeasuredQuantity, Quantity, Side, StepResult, WindowStatistic
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.plan import ALLOWED_RATIO
from plimsoll.reports.render import words
from plimsoll.units import format_duration, format_latency, format_ratio, number


def compare_headline(comparison: Comparison) -> str:
    """Return the change of the limits and of latency, in one sentence with numbers and units."""
    before, after = comparison.before.diagnosis, comparison.after.diagnosis
    latency = _latencies(comparison.quantities)
    tail = f"; {latency}" if latency else ""
    names = [words.plain(d.instance.identifier) for d in (before, after)]
    names = ["the instance" if name in ("", "unnamed") else name for name in names]
    unknown = [when for when, d in (("before", before), ("after", after)) if d.verdict is Verdict.UNKNOWN]
    if unknown:
        return f"We cannot say whether {names[1]} was at a ceiling {' or '.join(unknown)}{tail}."
    if _is_all_same(comparison):
        return f"No difference: {names[1]} spent {_spent(comparison.after)}, on both sides."
    spent_before = _spent(comparison.before, like=comparison.after)
    if names[0] != names[1]:
        return f"{names[1]} spent {_spent(comparison.after)}; {names[0]} {spent_before}{tail}."
    lead = _lead(comparison)
    return f"{lead} {names[1]} spent {_spent(comparison.after)}; before, {spent_before}{tail}."


def step_sentence(comparison: Comparison) -> str:
    """Return whether the step was enough, and the next action; empty if there is no step."""
    if comparison.step is None:
        return ""
    share = format_ratio(comparison.after.at_ceiling_share or 0.0)
    allowed = f"a plan allows {number(100 * ALLOWED_RATIO)} %"
    match comparison.step:
        case StepResult.ENOUGH:
            return f"It was enough: {share} of the time after is spent at a ceiling; {allowed}."
        case StepResult.ENOUGH_FOR_LESS:
            lighter = format_ratio(comparison.lighter_ratio)
            return (
                f"It was enough for the load since then, but {lighter} less was served than before. "
                "We do not know whether it is enough for the earlier load."
            )
        case StepResult.NOT_SEEN:
            return (
                "We do not know whether it was enough: after covers no hour of the day in which before "
                "was at a ceiling. Compare again when it does."
            )
    lead = "It was not enough" if comparison.bought else "The ceiling is still reached"
    sentence = (
        f"{lead}: {share} of the time after is spent at a ceiling; {allowed}. "
        "For a load that uses any throughput it gets, for example a vacuum, compare how soon its "
        "work is done."
    )
    if not comparison.next_command:
        return sentence
    return f"{sentence} The next step, priced{comparison.next_where}:"


def _lead(comparison: Comparison) -> str:
    """Return `After the change to db.r5.4xlarge`, or the moment if both setups are the same."""
    known = [b for b in comparison.bought if b.before is not None and b.after is not None]
    changed = {b.name: b for b in known}
    to_class = changed.get("db_class")
    if to_class:
        return f"After the change to {words.plain(str(to_class.after))}"
    if changed:
        return "After the change"
    return f"From {words.moment(comparison.after.diagnosis.window_s[0])} UTC"


def _is_all_same(comparison: Comparison) -> bool:
    pairs = [(t.before_s, t.after_s) for t in comparison.time_at]
    pairs += [(q.before, q.after) for q in comparison.quantities]
    return not comparison.bought and all(a == b for a, b in pairs)


def _spent(side: Side, *, like: Side | None = None) -> str:
    """
    Return `7 h 12 min of 24 h at its instance EBS throughput, baseline, 86.875 MB/s`.

    Args:
        side: a side that was judged.
        like: a side that was told just before; the same limit is not said twice.
    """
    seconds = side.at_ceiling_s or 0.0
    time = f"{time_of(seconds)} of {format_duration(side.diagnosis.measured_s)}"
    binding = side.diagnosis.binding
    if not seconds or binding is None:
        return f"{time} at {'one' if like and like.at_ceiling_s else 'a ceiling'}"
    limit = limit_of(side.diagnosis)
    if like is not None and limit_of(like.diagnosis) == limit:
        limit = "the same"
    # Some minutes at another ceiling, such as a burst, are not worth a word here.
    if binding.seconds > 0.95 * seconds:
        return f"{time} at {limit}"
    return f"{time} at ceilings, most of it at {limit}"


def limit_of(diagnosis: Diagnosis) -> str:
    """Return the limit that bound for the longest time, with its number; empty without one."""
    binding = diagnosis.binding
    if binding is None:
        return ""
    ceiling = binding.ceiling
    if ceiling is None or binding.family is Family.UNKNOWN:
        what = "a throughput" if binding.dimension is Dimension.THROUGHPUT else "an IOPS"
        return f"{what} limit of unknown origin, {words.level(binding.level, binding.dimension)}"
    return f"its {words.ceiling_name(ceiling)}, {words.ceiling_value(ceiling)}"


def _latencies(quantities: Iterable[Quantity]) -> str:
    """Return `reads take 1.9 ms instead of 9.8 ms, writes 15 ms instead of 100 ms`."""
    parts: list[str] = []
    for subject, noun in ((MeasuredQuantity.READ_LATENCY, "reads"), (MeasuredQuantity.WRITE_LATENCY, "writes")):
        mean = next((q for q in quantities if q.subject is subject and q.statistic is WindowStatistic.MEAN), None)
        if mean is None or mean.before is None or mean.after is None:
            continue
        old, new = format_latency(mean.before), format_latency(mean.after)
        verb = "" if parts else " take"
        parts.append(f"{noun}{verb} {new} {'as before' if old == new else f'instead of {old}'}")
    return ", ".join(parts)


def time_of(seconds: float) -> str:
    """Return hours and minutes; zero is given in minutes."""
    return format_duration(seconds) if seconds else "0 min"
