"""
The sentence of each sign: number, unit and comparison.

A sentence states a measurement. Whether it is evidence for or against a limit follows from its weight
(score.py); if against, the sentence says so at its end.
"""

from typing import NamedTuple

import numpy as np

from plimsoll.diagnosis.recognition.congestion import HOT_LOG
from plimsoll.diagnosis.recognition.rate_words import describe, format_rate
from plimsoll.diagnosis.recognition.signs import LevelCase
from plimsoll.model.metric import METRICS, Metric
from plimsoll.units import format_duration, format_latency, format_ratio, number


class SignText(NamedTuple):
    """A sentence, its number, and the number it is compared with, in SI units."""

    text: str
    value: float | None = None
    reference: float | None = None


def match_text(case: LevelCase) -> SignText:
    """Describe the distance of the level from the nearest documented number."""
    row = next((m.ceiling for m in case.matches if m.ceiling is not None), None)
    if row is None:
        rate = format_rate(case.level, case.dimension)
        return SignText(f"no limit is documented for this instance, so {rate} cannot be compared")
    off = case.level / row.value - 1
    side = "above" if off >= 0 else "below"
    away = number(abs(off) * 100, 2)
    nearest = "" if case.best.ceiling is not None else "nearest number, the "
    text = f"the level is {away} % {side} the {nearest}documented {describe(row)}"
    return SignText(text, case.level, row.value)


def waiting_text(case: LevelCase) -> SignText:
    """Describe the latency and the queue depth."""
    stretch = case.stretch
    seen, usual = stretch.latency_s, stretch.reference_s
    if not np.isfinite(case.signs.log_excess):
        return SignText("neither latency nor queue depth was measured at this level")
    # A latency too small for a float is 0, and there is no multiple of 0.
    if seen is None or not usual:
        times = number(float(np.exp(case.signs.log_excess)), 2)
        return SignText(f"latency was {times} times that of an idle storage")
    whose = (
        "of this storage under light load"
        if case.signs.is_reference_seen
        else "usual for SSD storage (the window shows no light load)"
    )
    text = f"latency was {format_latency(seen)}, {number(seen / usual, 2)} times the {format_latency(usual)} {whose}"
    if stretch.queue_depth is not None:
        text += f"; queue depth was {number(stretch.queue_depth, 2)}"
    if case.is_few and not case.signs.least_log_excess > HOT_LOG:
        text += f"; latency was not high in all {case.signs.samples} samples"
    return SignText(text, seen, usual)


def step_text(case: LevelCase) -> SignText:
    """Describe the latency at the level compared with rates just below it."""
    times = float(np.exp(case.signs.step_log))
    text = f"latency was {number(times, 2)} times as high at this level as just below it in the same hours"
    return SignText(text, times)


def waited_share_text(case: LevelCase) -> SignText:
    """Describe the share of the time at the level in which requests waited."""
    share = case.signs.waited_share
    return SignText(f"requests waited for {format_ratio(share)} of the time at this rate", share)


def flatness_text(case: LevelCase) -> SignText:
    """Describe the spread of the rate."""
    spread = case.signs.log_sd
    rate = format_rate(case.level, case.dimension)
    text = f"reads and writes together stayed within {_percent(spread)} of {rate}"
    return SignText(text, spread)


def noise_text(case: LevelCase) -> SignText:
    """Compare the rate's spread with the workload's own."""
    here, elsewhere = case.signs.log_sd, case.signs.log_sd_elsewhere
    text = (
        f"from one sample to the next the rate varied by {_percent(here)} at this level,"
        f" and by {_percent(elsewhere)} at other times"
    )
    return SignText(text, elsewhere, here)


def elasticity_text(case: LevelCase) -> SignText:
    """Describe the variation of waiting compared with that of the rate."""
    ratio = case.signs.elasticity
    times = number(1 / max(ratio, 1e-3), 2)
    text = f"latency and queue depth varied {times} times as much as the rate: pushing harder got no more through"
    return SignText(text, ratio)


def persistence_text(case: LevelCase) -> SignText:
    """Describe the total time at the level."""
    seconds = case.signs.minutes * 60
    samples = case.signs.samples
    plural = "" if samples == 1 else "s"
    text = f"the rate stayed at this level for {format_duration(seconds)} ({samples} sample{plural})"
    return SignText(text, seconds)


def recurrence_text(case: LevelCase) -> SignText:
    """Describe the number of visits to the level."""
    count, spell = case.signs.run_count, format_duration(case.signs.minutes * 60)
    return SignText(f"the rate reached this level {count} times, for {spell} in total", float(count))


def cliff_text(case: LevelCase) -> SignText:
    """Describe the waiting time just above and just below the level."""
    above, below = case.signs.pressed_above_ratio, case.signs.pressed_below_ratio
    text = (
        f"while requests waited, the rate was up to 10 % above this level for {_share(above)}"
        f" of the time at it, and up to 10 % below it for {_share(below)}"
    )
    return SignText(text, above, below)


def exceeded_text(case: LevelCase) -> SignText:
    """Describe the time with rates above the level."""
    free, any_above = case.signs.free_above_ratio, case.signs.above_ratio
    if case.is_numbered or free >= any_above:
        text = f"higher rates were served without waiting, for {_share(free)} as long as this level"
        return SignText(text, free)
    text = f"higher rates were served, for {_share(any_above)} as long as this level"
    return SignText(text, any_above)


def entry_text(case: LevelCase) -> SignText:
    """Describe the beginnings and ends of the stretches at the level."""
    signs = case.signs
    text = (
        f"{format_ratio(signs.entered_from_above)} of the intervals began just after a higher rate,"
        f" and {format_ratio(signs.left_upwards)} ended with one, as when credits run out"
    )
    return SignText(text, signs.entered_from_above, signs.left_upwards)


def balance_text(case: LevelCase) -> SignText:
    """Describe the balance metric that decides."""
    row = case.best.ceiling
    if row is not None and row.balance_metric in case.balances:
        return one_balance_text(case, row.balance_metric)
    emptiest = min(case.balances, key=lambda metric: case.balances[metric].high)
    return one_balance_text(case, emptiest)


def one_balance_text(case: LevelCase, metric: Metric) -> SignText:
    """Describe one balance metric during the stretches at the level."""
    view, name = case.balances[metric], METRICS[metric].cloudwatch
    middle = (view.low + view.high) / 2
    if view.is_empty:
        return SignText(f"{name} was {format_ratio(view.low)}: no credits were left", middle)
    if view.change_per_s < 0:
        fall = format_ratio(-view.change_per_s * 3600)
        span = f"from {format_ratio(view.high)} to {format_ratio(view.low)}"
        return SignText(f"{name} fell by {fall} an hour, {span}", middle)
    return SignText(f"{name} was {format_ratio(middle)}: enough credits were left", middle)


def credits_text(case: LevelCase) -> SignText:
    """Describe the result of the arithmetic of credits."""
    return SignText(case.credits.text)


def cpu_text(case: LevelCase) -> SignText:
    """Describe the CPU use."""
    ratio = case.signs.cpu_ratio
    return SignText(f"CPU was at {format_ratio(ratio)}, which alone can keep a rate constant", ratio)


def _percent(spread: float) -> str:
    return f"{number(max(spread * 100, 0.01), 2)} %"


def _share(ratio: float) -> str:
    return f"{number(ratio * 100, 2)} %"
