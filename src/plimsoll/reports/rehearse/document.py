"""
The document of a rehearsal: how long the load takes, on which class, and from which parts that follows.

Rule: bounds are shown as bounds; a number that is not known is said to be unknown.
"""

from decimal import Decimal
from math import isfinite

from plimsoll.model.rehearsal import Rehearsal, RehearsedTime, Span
from plimsoll.reports.document.parts import (
    Cell,
    Column,
    Document,
    Paragraph,
    Section,
    Table,
    Tone,
    bullets_of,
    facts_of,
)
from plimsoll.reports.render.explanations import Topic
from plimsoll.reports.render.words import FAMILY_NAMES, sentence
from plimsoll.units import format_bytes, format_bytes_per_s, format_duration, format_ops_per_s, format_ratio, number

# Classes that are shown; the JSON form has all.
_SHOWN_MAX = 8
_CLEAR_GAIN = 0.9
# Fewer bytes than a tenth of a MB are easier to read as bytes.
_MB_LEAST = 1e5


def rehearsal_document(found: Rehearsal) -> Document:
    """Return the time in one sentence, the classes, and what the sample cost."""
    where = " · ".join(part for part in (found.identifier, found.table, found.source) if part)
    return Document(
        kind="rehearsal",
        headline=_headline(found),
        topic=Topic.REHEARSAL,
        tone=_tone(found),
        simulated=("",) if found.is_simulated else (),
        parts=(
            Paragraph(text=where, weight="quiet"),
            *((Paragraph(text=text),) if (text := _advice(found)) else ()),
            _table(found),
            facts_of(_facts(found)),
            Section(
                title="Not known", parts=(bullets_of([sentence(note) for note in found.notes]),) if found.notes else ()
            ),
        ),
    )


def _tone(found: Rehearsal) -> Tone:
    if found.finish_within_s is None:
        return Tone.PLAIN
    return {True: Tone.GOOD, False: Tone.BAD, None: Tone.UNKNOWN}[found.present.fits]


def _headline(found: Rehearsal) -> str:
    one = found.present
    size = f"{number(found.input_bytes / 1e9, 3)} GB" if found.input_bytes >= 1e9 else None
    small = f"{found.input_bytes:,.0f} bytes"
    what = size or (f"{number(found.input_bytes / 1e6, 3)} MB" if found.input_bytes >= _MB_LEAST else small)
    where = f" on {one.db_class}" if one.db_class else ""
    if _is_unknown(one.seconds):
        return f"How long {what} will take{where} is not known: the sample is too small."
    return f"{what} will take {_words(one.seconds)}{where}: {_why(one)}."


def _is_unknown(seconds: Span) -> bool:
    """Return whether not even a bound is known."""
    return seconds.low <= 0 and not isfinite(seconds.high)


def _words(seconds: Span) -> str:
    if not isfinite(seconds.low):
        return "for ever"
    if seconds.likely is not None and isfinite(seconds.likely):
        return f"about {format_duration(seconds.likely)}"
    if not isfinite(seconds.high):
        return f"at least {format_duration(seconds.low)}"
    low, high = format_duration(seconds.low), format_duration(seconds.high)
    return f"about {low}" if low == high else f"between {low} and {high}"


def _why(one: RehearsedTime) -> str:
    if one.binding is None:
        rate = format_bytes_per_s(one.end_per_s, 3)
        return f"the load itself decides ({rate} of input), not the storage"
    rate = _rate(one)
    if one.end_per_s <= 0:
        return f"others take all that the {FAMILY_NAMES[one.binding]} allows"
    if one.credits_end_s is not None:
        return (
            f"burst credits end after {format_duration(one.credits_end_s)}, then {rate} of the "
            f"{FAMILY_NAMES[one.binding]} decides"
        )
    return f"{rate} of the {FAMILY_NAMES[one.binding]} decides"


def _rate(one: RehearsedTime) -> str:
    if one.unit == "ops/s":
        return format_ops_per_s(one.end_per_s)
    return format_bytes_per_s(one.end_per_s, 3)


def _advice(found: Rehearsal) -> str:
    """Return what to do about the time that was given; empty without one."""
    if found.finish_within_s is None:
        return ""
    within = format_duration(found.finish_within_s)
    best = found.cheapest
    if found.present.fits:
        return f"It finishes within {within} here."
    here = (
        f"It does not finish within {within} here."
        if found.present.fits is False
        else f"Whether it finishes within {within} here is not known: the bounds are on both sides."
    )
    if best is None:
        return f"{here} No class with a known price is sure to finish in time with this storage."
    if best.is_present:
        return here
    more = _usd(best.usd_per_day_more)
    text = f"{here} The cheapest class that does is {best.db_class}: {_words(best.seconds)}, {more} a day"
    if best.usd_for_load is not None:
        text += (
            f", {_usd(best.usd_for_load)} if you keep it for the load alone (changing the class there and back "
            "restarts the instance twice)"
        )
    return f"{text}."


def _table(found: Rehearsal) -> Table:
    rows = [found.present, *_shown(found)]
    return Table(
        columns=(
            Column(title="class", least=12),
            Column(title="time", is_number=True),
            Column(title="bounds", is_number=True, leaves=3),
            Column(title="credits end", is_number=True, leaves=2),
            Column(title="decides", least=12, leaves=1),
            Column(title="$/day", is_number=True),
            Column(title="$ for the load", is_number=True, leaves=4),
        ),
        rows=tuple(_row(one) for one in rows),
        stacks=True,
    )


def _shown(found: Rehearsal) -> list[RehearsedTime]:
    """Return the classes that are faster than every cheaper one, and the one that was found."""
    best, shown = found.present.seconds.high, []
    for one in found.classes:
        is_faster = one.seconds.high < _CLEAR_GAIN * best and one.usd_per_day_more is not None
        if is_faster:
            best = one.seconds.high
        if is_faster or one == found.cheapest:
            shown.append(one)
    if not any(one.usd_per_day_more is not None for one in found.classes):
        # Without prices, the fastest ones; they come in this order.
        shown = [one for one in found.classes if one.seconds.high < best * _CLEAR_GAIN]
    return shown[:_SHOWN_MAX]


def _row(one: RehearsedTime) -> tuple[str | Cell, ...]:
    likely = one.seconds.likely
    tone = {True: Tone.GOOD, False: Tone.BAD, None: Tone.PLAIN}[one.fits]
    name = (one.db_class or "present") + (" (now)" if one.is_present else "")
    low = format_duration(one.seconds.low)
    high = format_duration(one.seconds.high) if isfinite(one.seconds.high) else "never"
    is_unknown = _is_unknown(one.seconds)
    # Bounds that read alike are the time, as in the first sentence.
    bounded = low if low == high else "unknown"
    return (
        Cell(name, tone=tone),
        bounded if likely is None else format_duration(likely) if isfinite(likely) else "never",
        "unknown" if is_unknown else f"{low} – {high}",
        "-" if one.credits_end_s is None else format_duration(one.credits_end_s),
        "unknown" if is_unknown else "the load itself" if one.binding is None else FAMILY_NAMES[one.binding],
        "-" if one.is_present else _usd(one.usd_per_day_more),
        "-" if one.is_present else _usd(one.usd_for_load),
    )


def _usd(value: Decimal | None) -> str:
    if value is None:
        return "unknown"
    sign = "−" if value < 0 else "+"
    return f"{sign}${abs(value):,.2f}"


def _facts(found: Rehearsal) -> list[tuple[str, str]]:
    cost, work = found.cost, found.work
    facts = [
        ("sample", f"{cost.row_count:,} rows, {format_bytes(cost.sample_bytes)} from {cost.place_count:,} places"),
        (
            "a byte of input",
            (
                f"{number(cost.wal_per_byte, 3)} bytes of WAL, {number(cost.table_per_byte, 3)} of "
                f"table, {number(cost.index_per_byte, 3)} of indexes"
            ),
        ),
        ("at the device", _bytes_span(work.device_bytes)),
        ("load without a storage limit", _rate_span(cost.input_bytes_per_s)),
        ("reserve", f"{format_ratio(found.reserve_ratio)} of the credits"),
    ]
    if work.checkpoint_count is not None:
        facts.insert(3, ("checkpoints", number(work.checkpoint_count, 2)))
    if found.prices_as_of is not None:
        facts.append(("prices as of", found.prices_as_of))
    return facts


def _bytes_span(span: Span) -> str:
    bounds = f"{format_bytes(span.low)} to {format_bytes(span.high)}"
    return bounds if span.likely is None else f"{format_bytes(span.likely)} ({bounds})"


def _rate_span(span: Span) -> str:
    if not isfinite(span.high):
        return f"at least {format_bytes_per_s(span.low, 3)} of input"
    likely = "unknown" if span.likely is None else format_bytes_per_s(span.likely, 3)
    return f"{likely} of input"
