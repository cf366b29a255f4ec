"""
Rule `cause`: one thing inside the database makes most of its load.

It needs a DSN of the database, and judges the last inspection. While nothing is known of the load, an open alert
stays open.
"""

from plimsoll.units import format_bytes_per_s, format_duration, format_ratio
from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.load import InspectedLoad, LoadCause
from plimsoll.watch.law.rules.settings import Minutes, Ratio, RuleSettings
from plimsoll.watch.law.situation import Situation

# Keys are stored and sent; names of tables have up to 63 bytes each.
_SUBJECT_LENGTH_MAX = 150


class CauseSettings(RuleSettings, frozen=True, kw_only=True):
    """Settings of the rule. With an inspection every 15 minutes, three in a row have seen what is bound."""

    for_minutes: Minutes = 30
    nearing_for_minutes: Minutes = 0
    clear_minutes: Minutes = 60
    """A job that runs every half an hour is one alert."""
    share: Ratio = 0.5
    """Of the bytes that the database reads and writes; a larger share of one cause is bound."""


def conditions(situation: Situation, settings: CauseSettings) -> tuple[Condition, ...]:
    """Return the condition of the database, and one for the largest cause of its load."""
    load = situation.load
    if load is None:
        return ()
    if load.missing or load.bytes_per_s is None:
        text = load.missing or "does not show what it reads and writes"
        return (Condition(at_s=situation.at_s, is_known=False, text=text),)
    # Causes overlap, for example a rewrite and its WAL; people are told of one.
    found = next((c for c in load.causes if c.share > settings.share and not c.is_small), None)
    rest = Condition(
        at_s=situation.at_s, text=f"has no cause with more than {format_ratio(settings.share)} of its load"
    )
    return (rest,) if found is None else (rest, _of_cause(situation, load, found, settings))


def _of_cause(situation: Situation, load: InspectedLoad, cause: LoadCause, settings: CauseSettings) -> Condition:
    assert load.bytes_per_s is not None
    since_s = situation.at_s - round(load.age_s + load.window_s)
    return Condition(
        ceiling=f"{cause.kind.value} {cause.subject}"[:_SUBJECT_LENGTH_MAX].strip(),
        name=cause.words,
        at_s=situation.at_s,
        bound_since_s=since_s,
        nearing_since_s=since_s,
        value=cause.share,
        limit=settings.share,
        unit="ratio",
        text=(
            f"has one cause for {format_ratio(cause.share)} of its load: {cause.words}, "
            f"{format_bytes_per_s(cause.bytes_per_s)} of {format_bytes_per_s(load.bytes_per_s)}"
        ),
        facts=(*cause.facts, f"Observed inside the database for {format_duration(load.window_s)}"),
        advice=cause.advice,
    )
