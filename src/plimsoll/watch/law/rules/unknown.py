"""
Rule `unknown`: nothing new was read from an instance for some time.

It is the only rule that counts time without data. Its state is unknown instead of bound, and it has one alert
for each instance; the alerts of other rules stay open and say nothing.
"""

from plimsoll.units import format_clock, format_duration
from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.rules.settings import Minutes, RuleSettings


class UnknownSettings(RuleSettings, frozen=True, kw_only=True):
    """Settings of the rule."""

    for_minutes: Minutes = 30
    """CloudWatch is often late by minutes and seldom by half an hour."""
    nearing_for_minutes: Minutes = 0
    clear_minutes: Minutes = 0
    """One new sample shows that data come again."""


def condition_of_silence(*, data_end_s: int, silent_s: int, reason: str) -> Condition:
    """
    Return the condition of an instance.

    Args:
        data_end_s: end of the newest data that was read, epoch seconds; the start of the watch without any.
        silent_s: time for which no newer data came; 0 where they did at this poll.
        reason: why nothing was read, lower case without a full stop; empty if the source gave none.
    """
    at_s = data_end_s + silent_s
    if silent_s <= 0:
        return Condition(at_s=at_s, text="sends new data")
    because = f": {reason}" if reason else ""
    return Condition(
        at_s=at_s,
        bound_since_s=data_end_s,
        value=float(silent_s),
        unit="s",
        text=f"has sent no data for {format_duration(silent_s)}{because}",
        facts=(
            f"The last complete minute ended at {format_clock(data_end_s)} UTC",
            "Open alerts of this instance stay open until data come again",
        ),
    )


def condition_of_departure(*, at_s: int, missed_s: float, is_configured: bool) -> Condition:
    """
    Return the condition of an instance that is forgotten.

    Args:
        at_s: now, in the time of the data, epoch seconds.
        missed_s: time for which its target has not named it.
        is_configured: whether its target is still in the configuration.
    """
    if is_configured:
        text = f"has not been listed for {format_duration(missed_s)}"
        why = "It was deleted or renamed, or these credentials do not show it any more"
    else:
        text = f"has not been watched for {format_duration(missed_s)}"
        why = "Its target is no longer in the configuration"
    return Condition(
        at_s=at_s, is_known=False, text=text, facts=(why, "Whether it still reaches the limit is not known")
    )
