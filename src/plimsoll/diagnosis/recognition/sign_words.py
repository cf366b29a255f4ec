"""
The sentence of each sign: number, unit, and what it is compared with.

A sentence tells what was seen. Whether it speaks for or against a limit follows from its weight
(score.py), and is added to the sentence where it speaks against.
"""

from typing import NamedTuple

import numpy as np

from plimsoll.diagnosis.recognition.congestion import HOT_LOG
from plimsoll.diagnosis.recognition.rate_words import describe, format_rate
from plimsoll.diagnosis.recognition.signs import LevelCase
from plimsoll.model.metric import METRICS, Metric
from plimsoll.units import format_duration, format_latency, format_ratio, number


class SignText(NamedTuple):
    """A sentence, the number it tells, and what that is compared with, in SI units."""

    text: str
    value: float | None = None
    reference: float | None = None


def tell_match(case: LevelCase) -> SignText:
    """Tell how far the level is from the documented number nearest to it."""
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


def tell_waiting(case: LevelCase) -> SignText:
    """Tell how long requests took, and how many of them were under way."""
    stretch = case.stretch
    seen, usual = stretch.latency_s, stretch.reference_s
    if not np.isfinite(case.signs.log_excess):
        return SignText("neither latency nor queue depth was measured at this level")
    # Latencies below what a float can hold are 0, and nothing is a multiple of it.
    if seen is None or not usual:
        times = number(float(np.exp(case.signs.log_excess)), 2)
        return SignText(f"latency was {times} times that of an idle storage")
    whose = (
        "of this storage under light load"
        if case.signs.is_reference_seen
        else "usual for SSD storage (the window shows no light load)"
    )
    text = (
        f"latency was {format_latency(seen)}, {number(seen / usual, 2)} times"
        f" the {format_latency(usual)} {whose}"
    )
    if stretch.queue_depth is not None:
        text += f"; queue depth was {number(stretch.queue_depth, 2)}"
    if case.is_few and not case.signs.least_log_excess > HOT_LOG:
        text += f"; latency was not high in all {case.signs.samples} samples"
    return SignText(text, seen, usual)


def tell_step(case: LevelCase) -> SignText:
    """Tell how much longer requests took at the level than a little below it."""
    times = float(np.exp(case.signs.step_log))
    text = (
        f"latency was {number(times, 2)} times as high at this level as just below it"
        " in the same hours"
    )
    return SignText(text, times)


def tell_waited_share(case: LevelCase) -> SignText:
    """Tell in how much of the time at the level requests waited."""
    share = case.signs.waited_share
    return SignText(f"requests waited for {format_ratio(share)} of the time at this rate", share)


def tell_flatness(case: LevelCase) -> SignText:
    """Tell how little the rate varied."""
    spread = case.signs.log_sd
    rate = format_rate(case.level, case.dimension)
    text = f"reads and writes together stayed within {_percent(spread)} of {rate}"
    return SignText(text, spread)


def tell_noise(case: LevelCase) -> SignText:
    """Compare the rate's spread with the workload's own."""
    here, elsewhere = case.signs.log_sd, case.signs.log_sd_elsewhere
    text = (
        f"from one sample to the next the rate varied by {_percent(here)} at this level,"
        f" and by {_percent(elsewhere)} at other times"
    )
    return SignText(text, elsewhere, here)


def tell_elasticity(case: LevelCase) -> SignText:
    """Tell whether more waiting came with another rate."""
    ratio = case.signs.elasticity
    times = number(1 / max(ratio, 1e-3), 2)
    text = (
        f"latency and queue depth varied {times} times as much as the rate:"
        " pushing harder got no more through"
    )
    return SignText(text, ratio)


def tell_persistence(case: LevelCase) -> SignText:
    """Tell how long the level was held in all."""
    seconds = case.signs.minutes * 60
    samples = case.signs.samples
    plural = "" if samples == 1 else "s"
    text = (
        f"the rate stayed at this level for {format_duration(seconds)} ({samples} sample{plural})"
    )
    return SignText(text, seconds)


def tell_recurrence(case: LevelCase) -> SignText:
    """Tell how often the level was reached."""
    count, spell = case.signs.run_count, format_duration(case.signs.minutes * 60)
    return SignText(
        f"the rate reached this level {count} times, for {spell} in total", float(count)
    )


def tell_cliff(case: LevelCase) -> SignText:
    """Tell how much pressed time lay beside the level and not at it."""
    above, below = case.signs.pressed_above_ratio, case.signs.pressed_below_ratio
    text = (
        f"while requests waited, the rate was up to 10 % above this level for {_share(above)}"
        f" of the time at it, and up to 10 % below it for {_share(below)}"
    )
    return SignText(text, above, below)


def tell_exceeded(case: LevelCase) -> SignText:
    """Tell how much time was served above the level."""
    free, any_above = case.signs.free_above_ratio, case.signs.above_ratio
    if case.is_numbered or free >= any_above:
        text = f"higher rates were served without waiting, for {_share(free)} as long as this level"
        return SignText(text, free)
    text = f"higher rates were served, for {_share(any_above)} as long as this level"
    return SignText(text, any_above)


def tell_entry(case: LevelCase) -> SignText:
    """Tell how stretches at the level began and ended."""
    signs = case.signs
    text = (
        f"{format_ratio(signs.entered_from_above)} of the intervals began just after a higher rate,"
        f" and {format_ratio(signs.left_upwards)} ended with one, as when credits run out"
    )
    return SignText(text, signs.entered_from_above, signs.left_upwards)


def tell_balance(case: LevelCase) -> SignText:
    """Tell what the balance that decides said."""
    row = case.best.ceiling
    if row is not None and row.balance_metric in case.balances:
        return tell_one_balance(case, row.balance_metric)
    emptiest = min(case.balances, key=lambda metric: case.balances[metric].high)
    return tell_one_balance(case, emptiest)


def tell_one_balance(case: LevelCase, metric: Metric) -> SignText:
    """Tell what one balance metric said while the level was held."""
    view, name = case.balances[metric], METRICS[metric].cloudwatch
    middle = (view.low + view.high) / 2
    if view.is_empty:
        return SignText(f"{name} was {format_ratio(view.low)}: no credits were left", middle)
    if view.change_per_s < 0:
        fall = format_ratio(-view.change_per_s * 3600)
        span = f"from {format_ratio(view.high)} to {format_ratio(view.low)}"
        return SignText(f"{name} fell by {fall} an hour, {span}", middle)
    return SignText(f"{name} was {format_ratio(middle)}: enough credits were left", middle)


def tell_credits(case: LevelCase) -> SignText:
    """Tell what the arithmetic of credits says."""
    return SignText(case.credits.text)


def tell_cpu(case: LevelCase) -> SignText:
    """Tell how busy the CPU was."""
    ratio = case.signs.cpu_ratio
    return SignText(
        f"CPU was at {format_ratio(ratio)}, which alone can keep a rate constant", ratio
    )


def _percent(spread: float) -> str:
    return f"{number(max(spread * 100, 0.01), 2)} %"


def _share(ratio: float) -> str:
    return f"{number(ratio * 100, 2)} %"
