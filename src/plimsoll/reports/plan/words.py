"""
The texts of a plan's bands, prices and judgements for people.

Rule 1: an estimate is never shown as zero or as all. At a ceiling demand is an estimate, so zero minutes
        are shown as `under 1 min`, and the whole demand as `at least 99.9 %`.
Rule 2: three numbers with dashes between them are the lowest, the middle and the highest over all
        plausible demands; if their texts are equal, one is shown.
Rule 3: an unknown price is shown as unknown, never as zero or blank.
"""

from collections.abc import Callable
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal

from plimsoll.model.plan import PROBABLY, Band, DemandSummary, Judgement, Ladder, NextCeiling, Plan, RungKind, WorkTime
from plimsoll.reports.render import words
from plimsoll.units import GIB, KIB, MIB, format_latency, number

PRICE_UNKNOWN = "price not known"
UNKNOWN = "unknown"
"""In a cell of a table, whose title says of what."""

# Each judgement has a sign, so that colour is not needed; it is one column wide in a terminal.
SIGNS = {Judgement.LIFTS: "✓", Judgement.DOES_NOT: "✕", Judgement.UNSURE: "?"}

# The current setup is no change, so it does not "lift" a ceiling.
PRESENT_WORDS = {Judgement.LIFTS: "is enough", Judgement.DOES_NOT: "does not", Judgement.UNSURE: "unsure"}

_DASH = " – "
_CENT = Decimal("0.01")
_MILLE = Decimal("0.001")
_SIZES = ((1024**4, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"))

# From two hours on, minutes are shown in hours.
_MINUTES_IN_HOURS = 120

# Above a hundred hours, tenths are of no interest.
_DECIMALS_BELOW = 100 * 60

# A larger share is shown as this one: demand at a ceiling is not known to a thousandth.
_NEARLY_ALL = 0.999


def is_observed(plan: Plan) -> bool:
    """Return whether the demand of the plan was measured: without throttling and without growth."""
    return is_seen(plan.demand) and plan.growth <= 1


def is_seen(demand: DemandSummary) -> bool:
    """Return whether the served rate is the demand: measured, and no ceiling bound."""
    return demand.measured_s > 0 and demand.held_back_s == 0


def is_recommended(ladder: Ladder, place: int) -> bool:
    """Return whether a step is the recommended one, and likely enough to be called so."""
    rung = ladder.rungs[place]
    is_likely = rung.kind is RungKind.SOONER or rung.chance >= PROBABLY
    return place == ladder.recommended and is_likely


def is_by_hours(plan: Plan) -> bool:
    """Return whether options are compared by hours of work, because the load uses any throughput it gets."""
    ladder = plan.ladder
    return ladder is not None and ladder.rungs[ladder.recommended].kind is RungKind.SOONER


def band(values: Band, text_of: Callable[[float], str], unit: str = "") -> str:
    """Return `3 – 5 – 9 min`, or one number if all three texts are equal."""
    parts = [text_of(value) for value in (values.low, values.middle, values.high)]
    text = parts[0] if len(set(parts)) == 1 else _DASH.join(parts)
    return f"{text} {unit}".strip()


def minutes(at: Band, *, is_observed: bool) -> str:
    """
    Return minutes at a ceiling, in hours from two on: `under 1 min`, `< 1 – 3 – 9 min`, `11.9 – 12.0 h`.

    Args:
        at: minutes.
        is_observed: whether the demand was measured, so that zero is a fact.
    """
    is_long = at.high >= _MINUTES_IN_HOURS
    per, unit = (60.0, "h") if is_long else (1.0, "min")
    decimals = 1 if is_long and at.high < _DECIMALS_BELOW else 0
    least = 10.0**-decimals

    def text_of(value: float) -> str:
        if value <= 0 and is_observed:
            return "0"
        if value / per < least:
            return f"< {number(least)}"
        return f"{value / per:,.{decimals}f}"

    text = band(at, text_of, unit)
    # On its own `< 1 min` reads better in words.
    return f"under {text[2:]}" if text.startswith("< ") and _DASH not in text else text


def work(done: WorkTime | None) -> str:
    """Return the duration of the same work with its tasks back to back: `6.9 h`; empty if not known."""
    if done is None:
        return ""
    value = done.chained_minutes
    return minutes(Band(low=value, middle=value, high=value), is_observed=False)


def share_served(of: Band, *, is_observed: bool) -> str:
    """
    Return the share of the demand that is served without waiting: `97 – 99.2 – > 99.9 %`.

    Args:
        of: shares 0–1.
        is_observed: whether the demand was measured, so that 100 % is a fact.
    """
    if is_observed and of.low >= 1:
        return "100 %"
    if of.low >= _NEARLY_ALL:
        return "at least 99.9 %"
    return band(of, lambda v: "> 99.9" if v >= _NEARLY_ALL else number(v * 100, 3), "%")


def bytes_per_s(rate: Band) -> str:
    """Return `212 – 250 – 290 MB/s`."""
    return band(rate, lambda value: number(value / 1e6, 3), "MB/s")


def ops_per_s(rate: Band) -> str:
    """Return `3,400 – 3,600 – 4,100 IOPS`."""
    return band(rate, lambda value: f"{value:,.0f}", "IOPS")


def sizes(amount: Band) -> str:
    """Return bytes in the unit of the largest: `0.4 – 1.2 – 2 TiB`."""
    size, unit = next((s for s in _SIZES if amount.high >= s[0]), (1, "B"))
    return band(amount, lambda value: number(value / size, 3), unit)


def latency(seconds: Band | None) -> str:
    """Return `3.1 – 3.4 – 4 ms`; `unknown` where no latency was measured."""
    if seconds is None:
        return UNKNOWN
    if seconds.high < 1e-4:
        return band(seconds, format_latency)
    # A predicted latency is not known to more than two figures.
    return band(seconds, lambda value: number(value * 1e3, 2), "ms")


def duration(seconds: Band) -> str:
    """Return a time in hours, or in minutes below two hours: `1 – 3 – 6 h`, `5 min – 3 h – 24 h`."""
    hour_s = 3600
    if seconds.low < hour_s and seconds.high >= 2 * hour_s:
        return band(seconds, lambda v: f"{number(v / hour_s, 2)} h" if v >= hour_s else f"{number(v / 60, 2)} min")
    per, unit = (hour_s, "h") if seconds.high >= 2 * hour_s else (60, "min")
    return band(seconds, lambda value: number(value / per, 2), unit)


def usd(amount: Decimal | None) -> str:
    """Return `$1,234.50`, to the cent."""
    if amount is None:
        return PRICE_UNKNOWN
    cents = _cents(amount)
    return f"−${-cents:,}" if cents < 0 else f"${cents:,}"


def usd_per_day(amount: Decimal | None) -> str:
    """Return `$12.17 a day`; an unknown price is returned without `a day`."""
    return usd(amount) if amount is None else f"{usd(amount)} a day"


def usd_per_month(amount: Decimal | None) -> str:
    """Return `$370.14 a month`; an unknown price is returned without `a month`."""
    return usd(amount) if amount is None else f"{usd(amount)} a month"


def usd_per_hour(amount: Decimal) -> str:
    """Return `$0.318 an hour`, with all published digits, and at least two."""
    digits = max(-int(amount.normalize().as_tuple().exponent), 2)
    return f"${amount:,.{digits}f} an hour"


def break_even(amount: Decimal) -> str:
    """Return `$1.033/h`, rounded down, so that the statement holds for every lower price."""
    return f"${amount.quantize(_MILLE, rounding=ROUND_FLOOR):,.3f}/h"


def usd_more(amount: Decimal | None) -> str:
    """Return the difference with its sign: `+$0.67`, `−$1.20`, `same price`."""
    if amount is None:
        return PRICE_UNKNOWN
    cents = _cents(amount)
    if not cents:
        return "same price"
    return f"+${cents:,}" if cents > 0 else f"−${-cents:,}"


def usd_per_day_more(amount: Decimal | None) -> str:
    """Return `+$0.67 a day`; an equal or unknown price is returned without `a day`."""
    text = usd_more(amount)
    return f"{text} a day" if "$" in text else text


def next_ceiling(following: NextCeiling | None, *, is_short: bool = False) -> str:
    """Return `volume IOPS, baseline, 3,600 IOPS`; `unknown` for None."""
    if following is None:
        return UNKNOWN
    name = words.short_limit_name if is_short else words.limit_name
    rate = words.level(following.value, following.dimension)
    return f"{name(following.family, following.phase)}{' ' if is_short else ', '}{rate}"


def probability(of: float) -> str:
    """Return a share of plausible demands in percent; never 0 or 100."""
    return "< 1 %" if of < 0.005 else words.confidence(of)


def _cents(amount: Decimal) -> Decimal:
    return amount.quantize(_CENT, rounding=ROUND_HALF_UP)
