"""
The document of an inspection.

The order is that of somebody who asks who spends it: the largest cause in a sentence, how it was
watched, what the database as a whole reads and writes, then each cause with its proof, what to do and
what would refute it. Claims come from the inspection; this file adds none, it counts and arranges.
"""

from collections.abc import Iterator, Mapping, Sequence

from plimsoll.model.cause import Cause, Inspection, Remedy
from plimsoll.model.diagnosis import Missing
from plimsoll.reports.document.parts import (
    Bullets,
    Card,
    Code,
    Document,
    Facts,
    Paragraph,
    Part,
    Remark,
    Section,
    Tone,
    bullets_of,
    facts_of,
)
from plimsoll.reports.document.severity import SEVERITY_SIGNS, SEVERITY_TONES
from plimsoll.reports.render import words
from plimsoll.reports.render.explanations import topic_of_cause
from plimsoll.reports.render.facts import Fact
from plimsoll.units import format_bytes, format_bytes_per_s, format_duration, format_ratio, number

NEVER_RUN = "Plimsoll never runs these commands. Read them, then run them yourself."

# A paragraph of a line and a half or more is read once. A judgement.
_LONG = 120
# Code of one table with at most this many lines is repeated. A judgement.
_OWN_LINES_MOST = 3

# Below these values a rate is written in the smaller unit.
_MB, _KB = 1e5, 1e3
# Below this load the unexplained rest does not matter. A judgement.
_LOAD_LEAST = 0.5e6
# If at least this share of the load is unexplained, a report without a finding says so. A judgement.
_MUCH_UNEXPLAINED = 0.5


def inspect_document(inspection: Inspection) -> Document:
    """Return the document of an inspection, the largest cause first."""
    notes, missing = _notes(inspection), _missing(inspection)
    return Document(
        kind="inspection",
        headline=headline(inspection),
        tone=_tone(inspection),
        parts=(
            Paragraph(text=_identity(inspection), weight="quiet"),
            Paragraph(text=watched(inspection)),
            Section(title="What it reads and writes", parts=(_load(inspection),)),
            Section(title="Causes", parts=tuple(_causes(inspection))),
            Section(title="Notes", parts=notes),
            Section(title="Not known", parts=missing),
            Section(title="How it was measured", parts=(facts_of(_measured(inspection)),)),
        ),
    )


def causes_section(inspection: Inspection) -> Section:
    """Return the same as a section of a diagnosis."""
    costs = [f"{name[0].lower()}{name[1:]}: {value}" for name, value in _measured(inspection)]
    cost = words.sentence(f"Watching the database cost this; {'; '.join(costs)}")
    return Section(
        title="Causes",
        parts=(
            Paragraph(text=headline(inspection), tone=_tone(inspection), weight="strong"),
            Paragraph(text=_identity(inspection), weight="quiet"),
            Paragraph(text=watched(inspection)),
            _load(inspection),
            *_causes(inspection),
            *_notes(inspection),
            *_missing(inspection),
            Paragraph(text=cost),
        ),
    )


def _tone(inspection: Inspection) -> Tone:
    return SEVERITY_TONES[inspection.causes[0].severity] if inspection.causes else Tone.PLAIN


def _causes(inspection: Inspection) -> Iterator[Part]:
    """Yield each cause with its evidence and its remedies, each long paragraph with the first that has it."""
    counted = _counted_causes(inspection)
    if counted:
        yield Paragraph(text=counted)
    seen: dict[str, str] = {}
    for number_, cause in enumerate(inspection.causes, start=1):
        yield Card(
            title=words.sentence(cause.title),
            number=str(number_),
            verdict=f"{SEVERITY_SIGNS[cause.severity]} {cause.severity}",
            tone=SEVERITY_TONES[cause.severity],
            parts=tuple(_cause(cause, str(number_), seen)),
            topic=topic_of_cause(cause.kind),
        )
    if any(any(_lines(remedy.commands)) for cause in inspection.causes for remedy in cause.remedies):
        yield Paragraph(text=NEVER_RUN, weight="strong")


def _cause(cause: Cause, place: str, seen: dict[str, str]) -> Iterator[Part]:
    """
    Yield the parts of a cause; a long paragraph that an earlier cause has is not repeated.

    Ten tables with the same defect have the same ways out of it, in six programming languages: they stand
    once, and the others point there. JSON has all of them with every table's own names.

    Args:
        cause: one of several.
        place: its number.
        seen: the number of the cause that has a text; grows.
    """
    if size_of(cause):
        yield Remark(name="Size", text=size_of(cause))
    if cause.text:
        yield Paragraph(text=words.sentence(cause.text))
    evidence = [words.sentence(e.text) for e in cause.evidence]
    kept = [text for text in evidence if len(text) < _LONG or text not in seen]
    if kept:
        yield bullets_of(kept)
    for text, commands, expected in _ways(cause.remedies, seen):
        yield Bullets(items=(text,), are_moves=True)
        if commands:
            yield Code(lines=commands)
        if expected:
            yield Remark(name="Expected", text=expected)
    for text in (*evidence, *(words.sentence(remedy.text) for remedy in cause.remedies)):
        seen.setdefault(text, place)
    if cause.refuted_by:
        yield Remark(name="Wrong if", text=words.sentence(cause.refuted_by))


def _ways(remedies: Sequence[Remedy], seen: Mapping[str, str]) -> list[tuple[str, tuple[str, ...], str]]:
    """
    Return text, lines and effect of each remedy, without those already listed under an earlier number.

    Short code is repeated. An effect that several in a row share is given with the last of them.
    """
    following = [*(remedy.expected for remedy in remedies[1:]), None]
    rows = [
        (
            words.sentence(remedy.text),
            tuple(_lines(remedy.commands)),
            "" if remedy.expected == after else words.sentence(remedy.expected),
        )
        for remedy, after in zip(remedies, following, strict=False)
    ]
    again = [row for row in rows if len(row[0]) >= _LONG and row[0] in seen]
    if not again:
        return rows
    if sum(len(commands) for _, commands, _ in again) <= _OWN_LINES_MOST:
        return [(f"As under {seen[row[0]]}.", *row[1:]) if row in again else row for row in rows]
    where = words.series_of(sorted({seen[text] for text, _, _ in again}, key=int))
    text = f"The same {words.counted(len(again), 'way')} as under {where}, with the names of this one."
    return [*(row for row in rows if row not in again), (text, (), again[-1][2])]


def headline(inspection: Inspection, *, counts_rest: bool = True) -> str:
    """
    Return the largest cause in one sentence with its shares, or that there is none or it is unknown.

    Args:
        inspection: what was found.
        counts_rest: whether to count the notes and gaps below, if there is no cause.
    """
    place = words.plain(inspection.place)
    first = inspection.causes[0] if inspection.causes else None
    if first is not None and first.severity != "note":
        return words.sentence(f"{_without_stop(first.title)}{_shares(inspection, first)}")
    blind = [gap for gap in inspection.missing if gap.hides == "verdict"]
    if blind:
        names = words.series_of([words.plain(gap.name) for gap in blind])
        verb = "is" if len(blind) == 1 and "counters" not in blind[0].name else "are"
        return f"We cannot say what {place} spends its reads and writes on: {names} {verb} missing."
    time = format_duration(inspection.end_s - inspection.start_s)
    found = f"No problem found in {place} in {time} of watching{_unexplained(inspection)}."
    # Gaps are counted in the headline, because no finding does not prove that all is well.
    counts = ((len(inspection.causes), "note"), (len(inspection.missing), "gap"))
    below = [words.counted(count, noun) for count, noun in counts if count]
    return f"{found} {' and '.join(below)} below." if below and counts_rest else found


def _unexplained(inspection: Inspection) -> str:
    """Return a clause if no cause explains most of the load; empty otherwise."""
    share, left = inspection.unexplained_share, inspection.unexplained_bytes_per_s
    if share is None or left is None or share < _MUCH_UNEXPLAINED or left < _LOAD_LEAST:
        return ""
    return f", but no cause explains {format_ratio(share)} of the load, {rate(left)}"


def size_of(cause: Cause) -> str:
    """Return `41.2 MB/s written, 3 MB/s read, estimated: 62 % of the load, 33 % of the ceiling`; or empty."""
    parts = [
        f"{rate(value)} {word}"
        for value, word in ((cause.written_bytes_per_s, "written"), (cause.read_bytes_per_s, "read"))
        if value
    ]
    if not parts:
        return ""
    shares = [
        f"{format_ratio(share)} of the {whole}"
        for share, whole in ((cause.share_of_load, "load"), (cause.share_of_ceiling, "ceiling"))
        if share is not None
    ]
    text = ", ".join([*parts, *(["estimated"] if cause.is_estimated else [])])
    return f"{text}: {' and '.join(shares)}" if shares else text


def rate(bytes_per_s: float) -> str:
    """Return decimal MB/s; below a tenth of one, kB/s."""
    if bytes_per_s >= _MB or bytes_per_s == 0:
        return format_bytes_per_s(bytes_per_s, 3)
    if bytes_per_s >= _KB:
        return f"{number(bytes_per_s / 1e3, 3)} kB/s"
    return f"{number(bytes_per_s, 3)} B/s"


def _shares(inspection: Inspection, cause: Cause) -> str:
    """Return the end of the headline, in full words; nothing that the title says, or that is not known."""
    parts = []
    for share, whole in (
        (cause.share_of_load, "all that the database reads and writes"),
        (cause.share_of_ceiling, _ceiling(inspection)),
    ):
        if share is not None and format_ratio(share) not in cause.title:
            parts.append(f"{format_ratio(share)} of {whole}")
    return f", {' and '.join(parts)}" if parts else ""


def _ceiling(inspection: Inspection) -> str:
    value = inspection.ceiling_bytes_per_s
    if value is None:
        return "the ceiling"
    amount, name = words.published(value, "bytes/s"), words.plain(inspection.ceiling_name)
    return f"{name} ({amount})" if name else f"the ceiling of {amount}"


def _identity(inspection: Inspection) -> str:
    parts = [
        inspection.place,
        f"PostgreSQL {inspection.version}".strip(),
        "standby" if inspection.is_standby else "",
        f"as {inspection.role}" if inspection.role else "",
    ]
    return " · ".join(words.plain(part) for part in parts if part)


def watched(inspection: Inspection) -> str:
    """Return how long and how often the database was watched, as a sentence."""
    samples = words.counted(inspection.glance_count, "sample")
    readings = words.counted(inspection.reading_count, "reading")
    span = words.span(int(inspection.start_s), int(inspection.end_s))
    time = format_duration(inspection.end_s - inspection.start_s)
    return f"Watched for {time} ({span} UTC): {readings} of its counters, {samples} of its sessions and vacuums."


def _load(inspection: Inspection) -> Facts:
    """Return what the database as a whole reads and writes."""
    read, written = inspection.load_read_bytes_per_s, inspection.load_written_bytes_per_s
    together = None if read is None or written is None else read + written
    estimated = ", estimated" if inspection.load_is_estimated else ""
    facts = [
        Fact(name, "unknown" if value is None else f"{rate(value)}{estimated}")
        for name, value in (("Reads", read), ("Writes", written), ("Together", together))
    ]
    if (together or 0.0) >= _LOAD_LEAST:
        facts += _left(inspection)
    vacuums = _uncounted(inspection)
    if vacuums:
        text = f"about {rate(vacuums)} more: the server counts a vacuum when it ends"
        facts.append(Fact("Running vacuums", text))
    ceiling = inspection.ceiling_bytes_per_s
    if ceiling is None:
        return Facts(facts=(*facts, Fact("Ceiling", "not known")))
    share = "" if together is None else f": {format_ratio((together + vacuums) / ceiling)} of it is taken"
    named = words.plain(inspection.ceiling_name)
    value = words.published(ceiling, "bytes/s")
    return Facts(facts=(*facts, Fact("Ceiling", f"{value}{f', {named}' if named else ''}{share}")))


def _left(inspection: Inspection) -> list[Fact]:
    """Return the part of the load that no cause explains."""
    left, share = inspection.unexplained_bytes_per_s, inspection.unexplained_share
    if left is None or share is None:
        return []
    amount = f"at least {rate(left)}, {format_ratio(share)} of the load" if left else "nothing"
    return [Fact("Not explained", amount)]


def _uncounted(inspection: Inspection) -> float:
    """Return the bytes/s of running vacuums that the server has not counted yet."""
    return sum(cause.uncounted_bytes_per_s for cause in inspection.causes)


def _counted_causes(inspection: Inspection) -> str:
    """Return `3 critical, 1 warning, 5 notes`."""
    if len(inspection.causes) < 3:
        return ""
    counts = [(sum(cause.severity == severity for cause in inspection.causes), severity) for severity in SEVERITY_SIGNS]
    return ", ".join(
        f"{count} critical" if severity == "critical" else words.counted(count, severity)
        for count, severity in counts
        if count
    )


def _lines(commands: Sequence[str]) -> Iterator[str]:
    """
    Yield every line of every command; an empty line after a command of several lines.

    A line break is the command's own; what else cannot be printed is shown, not obeyed.
    """
    was_long = False
    for n, command in enumerate(commands):
        lines = command.strip("\n").splitlines()
        if n and (was_long or len(lines) > 1):
            yield ""
        yield from map(words.plain_code, lines)
        was_long = len(lines) > 1


def _notes(inspection: Inspection) -> tuple[Part, ...]:
    return (bullets_of(list(map(words.sentence, inspection.notes))),) if inspection.notes else ()


def _missing(inspection: Inspection) -> tuple[Part, ...]:
    facts = tuple(map(_gap, inspection.missing))
    return (Facts(facts=facts, are_sentences=True),) if facts else ()


def _gap(gap: Missing) -> Fact:
    hidden = ""
    if gap.hides:
        is_all = gap.hides == "verdict"
        lost = "without it nothing can be judged" if is_all else f"we do not know {gap.hides}"
        hidden = words.sentence(lost)
    # SQL ends as SQL does.
    remedy = words.sentence(gap.remedy).replace(";.", ";")
    return Fact(words.plain(gap.name), f"{hidden} {remedy}".strip())


def _measured(inspection: Inspection) -> list[tuple[str, str]]:
    seconds = inspection.end_s - inspection.start_s
    spent = f"at most {_time(inspection.asked_s)}"
    if seconds > 0:
        spent += f", {format_ratio(inspection.asked_s / seconds)} of the time of one processor"
    return [
        ("Asked", f"{words.counted(inspection.query_count, 'statement')}, all of them read-only"),
        ("Received", format_bytes(inspection.received_bytes)),
        ("Spent in the server", spent),
    ]


def _time(seconds: float) -> str:
    return f"{number(seconds * 1e3, 3)} ms" if seconds < 10 else format_duration(seconds)


def _without_stop(text: str) -> str:
    return words.plain(text).removesuffix(".")
