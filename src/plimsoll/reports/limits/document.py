"""
The document of an instance's limits: by I/O size, ceiling by ceiling, with sources.

Rule: every rate has its unit in the column's title or beside it; every ceiling has its source.
"""

from collections.abc import Iterable, Sequence

from plimsoll.model.ceiling import Ceiling, Phase
from plimsoll.model.family import FAMILIES, INSTANCE_FAMILIES
from plimsoll.model.metric import METRICS
from plimsoll.model.sheet import ChainRate, Knee, LimitSheet, UnusableStorage
from plimsoll.reports.chart.drawing import Spec
from plimsoll.reports.chart.look import page_look
from plimsoll.reports.document.parts import (
    Column,
    Document,
    Paragraph,
    Part,
    Picture,
    Section,
    Table,
    bullets_of,
    facts_of,
)
from plimsoll.reports.limits.curve import curve_text, has_burst
from plimsoll.reports.render import words
from plimsoll.reports.render.explanations import Topic
from plimsoll.units import format_bytes, format_bytes_per_s, format_time, number

# Below this the table of sizes leaves out IOPS, which follow from MB/s and size.
_NARROW = 76
_KEY = "MB/s by I/O size in KiB:  ⠤ baseline  ◆ knee"
_KEY_WITH_BURST = "MB/s by I/O size in KiB:  ⠤ baseline  · burst, while credits last  ◆ knee"
_CAPTION = "Maximum of reads and writes together, by mean I/O size. Thin lines: each limit alone. Circle: knee."
_MOVES = {True: "can move", False: "cannot move", None: "not known"}


def limits_document(sheet: LimitSheet) -> Document:
    """Return the document of an instance's limits: by I/O size, ceiling by ceiling, with sources."""
    legacy = [c for c in sheet.ceilings if c.phase is Phase.LEGACY]
    present = [c for c in sheet.ceilings if c.phase is not Phase.LEGACY]
    named = (
        ("Ceiling by I/O size, reads and writes together", _sizes(sheet) if sheet.rows else ()),
        ("Curve", (_curve(sheet),) if sheet.rows else ()),
        ("Ceilings", (_ceilings(sheet, present),)),
        ("Balances", (_balances(sheet),)),
        ("Paid for, but more than the class can use", _list(map(_unreachable, sheet.unreachable))),
        (
            "Legacy limits this instance may still have",
            (_ceilings(sheet, legacy), *_list(_legacy_notes(legacy))) if legacy else (),
        ),
        ("Notes", _list(sheet.notes)),
        ("Sources", _sources(sheet)),
    )
    sections = (Section(title=title, parts=parts) for title, parts in named)
    return Document(kind="limits", headline=sheet_title(sheet), parts=tuple(sections), topic=Topic.LIMITS)


def _list(items: Iterable[str]) -> tuple[Part, ...]:
    found = tuple(items)
    return (bullets_of(found),) if found else ()


def sheet_title(sheet: LimitSheet) -> str:
    """Return the title of a sheet: class, engine, storage and layout as far as they are known."""
    instance = sheet.instance
    storage = words.storage(instance)
    if instance.storage.volume_count is None and sheet.volume_count is not None:
        storage += f" on {words.counted(sheet.volume_count, 'volume')}"
    parts = [
        words.subject(instance),
        instance.engine,
        storage if instance.storage.kind else None,
        "Multi-AZ" if instance.multi_az else None,
        f"launched {format_time(instance.launched_s)[:10]}" if instance.launched_s else None,
    ]
    return " · ".join(words.plain(part) for part in parts if part)


def _sizes(sheet: LimitSheet) -> tuple[Part, ...]:
    bursts = has_burst(sheet)
    columns = [Column(title="I/O size", is_number=True, may_break=False)]
    for title in ["baseline", "burst"] if bursts else ["baseline"]:
        columns += [
            Column(title=f"{title}\nMB/s", is_number=True, may_break=False),
            Column(title="IOPS", is_number=True, may_break=False, from_width=_NARROW),
            Column(title="binds", may_break=False),
        ]
    rows = []
    for row in sheet.rows:
        rates = (row.baseline, row.burst) if bursts else (row.baseline,)
        cells = [cell for rate in rates for cell in _rate(rate)]
        rows.append((format_bytes(row.io_size_bytes), *cells))
    return Table(columns=tuple(columns), rows=tuple(rows)), Paragraph(text=_knees(sheet))


def _curve(sheet: LimitSheet) -> Picture:
    key = _KEY_WITH_BURST if has_burst(sheet) else _KEY

    def characters(width: int) -> Sequence[str]:
        return (*curve_text(sheet, width=width).split("\n"), f"  {key}")

    def spec(width: int) -> Spec:
        from plimsoll.reports.limits.chart import MARGIN, NAMES_FROM, limits_spec

        # The names of the single limits stand at the right of the plot.
        width = width if width < NAMES_FROM else width - MARGIN
        return limits_spec(sheet, look=page_look(), width=width, is_titled=False)

    return Picture(characters=characters, spec=spec, caption=_CAPTION)


def _rate(rate: ChainRate) -> list[str]:
    return [
        number(rate.bytes_per_s / 1e6, 5),
        f"{rate.ops_per_s:,.0f}",
        FAMILIES[rate.binding].short_name or words.FAMILY_NAMES[rate.binding],
    ]


def _knees(sheet: LimitSheet) -> str:
    if sheet.knee is None:
        binding = words.FAMILY_NAMES[sheet.rows[-1].baseline.binding]
        sentence = f"No knee at the baseline: {binding} binds at every size."
    else:
        sentence = f"Knee at {_knee(sheet.knee)}."
    if sheet.burst_knee is None:
        return sentence
    return f"{sentence} While credits last, at {_knee(sheet.burst_knee)}."


def _knee(knee: Knee) -> str:
    return (
        f"{format_bytes(knee.io_size_bytes)}: below it {words.FAMILY_NAMES[knee.below]}"
        f" ({knee.ops_per_s:,.0f}) binds, above it {words.FAMILY_NAMES[knee.above]}"
        f" ({format_bytes_per_s(knee.bytes_per_s, 5)})"
    )


def _ceilings(sheet: LimitSheet, ceilings: list[Ceiling]) -> Table:
    """Return the table of ceilings: name, number with its remark, and source."""
    rows = []
    for ceiling in ceilings:
        remark = _remark(ceiling)
        value = words.ceiling_value(ceiling) + (f"; {remark}" if remark else "")
        rows.append((_name(ceiling), value, _reference(sheet, ceiling)))
    columns = (Column(title="Ceiling"), Column(title="Value"), Column(title="Source", is_number=True, may_break=False))
    return Table(columns=columns, rows=tuple(rows))


def _name(ceiling: Ceiling) -> str:
    if ceiling.phase is not Phase.LEGACY:
        return words.ceiling_name(ceiling)
    return words.limit_name(ceiling.family, ceiling.former_phase or Phase.FIXED)


def _remark(ceiling: Ceiling) -> str:
    origin = ceiling.origin
    if ceiling.phase is Phase.LEGACY:
        until = f" to {origin.valid_to}" if origin.valid_to else ""
        return f"documented {origin.valid_from}{until}"
    if ceiling.family in INSTANCE_FAMILIES:
        return ""
    # The layout of the volumes is a note of the sheet; here it would repeat in every row.
    return ceiling.note.split("; ")[0]


def _reference(sheet: LimitSheet, ceiling: Ceiling) -> str:
    for index, origin in enumerate(sheet.origins, start=1):
        if (origin.source, origin.read_on) == (ceiling.origin.source, ceiling.origin.read_on):
            return f"[{index}]"
    return ""


def _balances(sheet: LimitSheet) -> Table:
    columns = (Column(title="Metric", may_break=False), Column(title="Moves", may_break=False), Column(title="Why"))
    rows = (
        (METRICS[note.metric].cloudwatch or note.metric.value, _MOVES[note.can_move], note.reason)
        for note in sheet.balances
    )
    return Table(columns=columns, rows=tuple(rows))


def _unreachable(item: UnusableStorage) -> str:
    bought, baseline, burst = (
        words.quantity(v, item.unit) if item.unit == "ops/s" else format_bytes_per_s(v, 5)
        for v in (item.bought, item.baseline, item.burst)
    )
    if item.baseline == item.burst:
        return f"You pay for {bought}; this class can use {burst}."
    if item.bought > item.burst:
        return f"You pay for {bought}; this class can use {baseline}, and {burst} in bursts."
    return f"You pay for {bought}; this class can use {baseline}, and more only in bursts."


def _legacy_notes(legacy: list[Ceiling]) -> list[str]:
    """Return the remarks on the legacy limits as sentences, each once."""
    remarks = dict.fromkeys(part for c in legacy for part in c.note.split("; ") if part)
    return [f"{remark[0].upper()}{remark[1:]}." for remark in remarks]


def _sources(sheet: LimitSheet) -> tuple[Part, ...]:
    sources = [
        (f"[{index}]", f"{origin.source} ({origin.read_on})") for index, origin in enumerate(sheet.origins, start=1)
    ]
    return (facts_of(sources),) if sources else ()
