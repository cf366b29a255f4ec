"""
The content of an inspection before it has a form: its sentences, their order and words.

The order is that of somebody who asks who spends it: the largest cause in a sentence, how it was
watched, what the database as a whole reads and writes, then each cause with its proof, what to do and
what would refute it. Claims come from the inspection; this file adds none, it counts and arranges.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from plimsoll.model.cause import Cause, Inspection, Remedy
from plimsoll.model.diagnosis import Missing
from plimsoll.model.severity import Severity
from plimsoll.reports.document.severity import SEVERITY_SIGNS
from plimsoll.reports.render import words
from plimsoll.reports.render.explanations import Topic, topic_of_cause
from plimsoll.reports.render.facts import Fact
from plimsoll.units import format_bytes, format_bytes_per_s, format_duration, format_ratio, number

NEVER_RUN = "Plimsoll never runs these commands. Read them, then run them yourself."

"""Beside every word, so that nothing rests on colour; one column wide in a terminal."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyRow:
    """One thing to do."""

    text: str
    commands: tuple[str, ...]
    """Lines as they are to be run; none is ever broken."""
    expected: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseCard:
    """One cause in detail."""

    number: str
    severity: Severity
    title: str
    size: str
    """Bytes per second with shares; empty where it moves no bytes."""
    text: str
    evidence: tuple[str, ...]
    remedies: tuple[RemedyRow, ...]
    refuted_by: str
    topic: Topic
    """What explains it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectionOutline:
    """All texts of an inspection."""

    headline: str
    severity: Severity | None
    """Of the worst cause; empty where nothing was found, or nothing could be told."""
    identity: str
    watched: str
    load: tuple[Fact, ...]
    counted: str
    """How many causes of which severity; empty where there are few."""
    causes: tuple[CauseCard, ...]
    missing: tuple[Fact, ...]
    notes: tuple[str, ...]
    measured: tuple[Fact, ...]

    @property
    def cost(self) -> str:
        """Return one sentence about the measurement, for a section of another report."""
        costs = [f"{fact.name[0].lower()}{fact.name[1:]}: {fact.value}" for fact in self.measured]
        return words.sentence(f"Watching the database cost this; {'; '.join(costs)}")

    @property
    def has_commands(self) -> bool:
        """Return whether there are commands to run."""
        return any(r.commands for card in self.causes for r in card.remedies)


def inspection_outline(inspection: Inspection) -> InspectionOutline:
    """Return the texts of an inspection for people."""
    return InspectionOutline(
        headline=headline(inspection),
        severity=inspection.causes[0].severity if inspection.causes else None,
        identity=_identity(inspection),
        watched=_watched(inspection),
        load=_load(inspection),
        counted=_counted_causes(inspection),
        causes=_once([_card(cause, n) for n, cause in enumerate(inspection.causes, start=1)]),
        missing=tuple(_missing(gap) for gap in inspection.missing),
        notes=tuple(words.sentence(note) for note in inspection.notes),
        measured=_measured(inspection),
    )


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
    below = [_counted(count, noun) for count, noun in counts if count]
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


def _watched(inspection: Inspection) -> str:
    samples = _counted(inspection.glance_count, "sample")
    readings = _counted(inspection.reading_count, "reading")
    span = words.span(int(inspection.start_s), int(inspection.end_s))
    time = format_duration(inspection.end_s - inspection.start_s)
    return f"Watched for {time} ({span} UTC): {readings} of its counters, {samples} of its sessions and vacuums."


def _load(inspection: Inspection) -> tuple[Fact, ...]:
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
        facts.append(Fact("Ceiling", "not known"))
        return tuple(facts)
    share = "" if together is None else f": {format_ratio((together + vacuums) / ceiling)} of it is taken"
    named = words.plain(inspection.ceiling_name)
    value = words.published(ceiling, "bytes/s")
    facts.append(Fact("Ceiling", f"{value}{f', {named}' if named else ''}{share}"))
    return tuple(facts)


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
        f"{count} critical" if severity == "critical" else _counted(count, severity)
        for count, severity in counts
        if count
    )


def _card(cause: Cause, place: int) -> CauseCard:
    return CauseCard(
        number=str(place),
        severity=cause.severity,
        title=words.sentence(cause.title),
        size=size_of(cause),
        text=words.sentence(cause.text),
        evidence=tuple(words.sentence(e.text) for e in cause.evidence),
        remedies=_remedies(cause.remedies),
        refuted_by=words.sentence(cause.refuted_by),
        topic=topic_of_cause(cause.kind),
    )


def _once(cards: Sequence[CauseCard]) -> tuple[CauseCard, ...]:
    """
    Return the cards, each long paragraph printed with the first that has it.

    Ten tables with the same defect have the same ways out of it, in six programming languages: they stand
    once, and the others point there. JSON has all of them with every table's own names.
    """
    seen: dict[str, str] = {}
    found = []
    for card in cards:
        evidence = [text for text in card.evidence if len(text) < _LONG or text not in seen]
        rows = _ways(card.remedies, seen)
        for text in (*card.evidence, *(row.text for row in card.remedies)):
            seen.setdefault(text, card.number)
        found.append(replace(card, evidence=tuple(evidence), remedies=rows))
    return tuple(found)


def _ways(rows: Sequence[RemedyRow], seen: Mapping[str, str]) -> tuple[RemedyRow, ...]:
    """Return the remedies without those already listed under an earlier number; short code is repeated."""
    again = [row for row in rows if len(row.text) >= _LONG and row.text in seen]
    if not again:
        return tuple(rows)
    if sum(len(row.commands) for row in again) <= _OWN_LINES_MOST:
        return tuple(replace(row, text=f"As under {seen[row.text]}.") if row in again else row for row in rows)
    where = words.series_of(sorted({seen[row.text] for row in again}, key=int))
    text = f"The same {_counted(len(again), 'way')} as under {where}, with the names of this one."
    pointer = RemedyRow(text=text, commands=(), expected=again[-1].expected)
    return (*(row for row in rows if row not in again), pointer)


def _remedies(remedies: Sequence[Remedy]) -> tuple[RemedyRow, ...]:
    """Return the remedies; an effect that several in a row share is given with the last of them."""
    following = [*(remedy.expected for remedy in remedies[1:]), None]
    return tuple(
        RemedyRow(
            text=words.sentence(remedy.text),
            commands=tuple(_lines(remedy.commands)),
            expected="" if remedy.expected == after else words.sentence(remedy.expected),
        )
        for remedy, after in zip(remedies, following, strict=False)
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


def _missing(gap: Missing) -> Fact:
    hidden = ""
    if gap.hides:
        is_all = gap.hides == "verdict"
        lost = "without it nothing can be judged" if is_all else f"we do not know {gap.hides}"
        hidden = words.sentence(lost)
    # SQL ends as SQL does.
    remedy = words.sentence(gap.remedy).replace(";.", ";")
    return Fact(words.plain(gap.name), f"{hidden} {remedy}".strip())


def _measured(inspection: Inspection) -> tuple[Fact, ...]:
    seconds = inspection.end_s - inspection.start_s
    spent = f"at most {_time(inspection.asked_s)}"
    if seconds > 0:
        spent += f", {format_ratio(inspection.asked_s / seconds)} of the time of one processor"
    return (
        Fact("Asked", f"{_counted(inspection.query_count, 'statement')}, all of them read-only"),
        Fact("Received", format_bytes(inspection.received_bytes)),
        Fact("Spent in the server", spent),
    )


def _time(seconds: float) -> str:
    return f"{number(seconds * 1e3, 3)} ms" if seconds < 10 else format_duration(seconds)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _without_stop(text: str) -> str:
    return words.plain(text).removesuffix(".")
