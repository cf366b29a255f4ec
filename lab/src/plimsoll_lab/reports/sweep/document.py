"""The document of sweeps over I/O sizes: rates, the limits behind them, and what these sizes do not show."""

from collections.abc import Callable, Iterator, Sequence

from plimsoll.reports.chart.drawing import Spec
from plimsoll.reports.chart.look import page_look
from plimsoll.reports.document.parts import (
    Cell,
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
from plimsoll.reports.render.explanations import Topic
from plimsoll_lab.model.sweep import SweepReport
from plimsoll_lab.reports.sweep.outline import ComparedText, GroupText, SweepText, estimate, sweep_outline, with_phase


def sweep_document(reports: Sequence[SweepReport]) -> Document:
    """
    Return the document of sweeps, with a table of all if there are several.

    Args:
        reports: what was measured and found, one for each configuration; at least one.
    """
    texts = [sweep_outline(report) for report in reports]
    if len(texts) == 1:
        return Document(
            kind="sweep", headline=texts[0].title, parts=tuple(_parts(texts[0], reports[0])), topic=Topic.SWEEP
        )
    sections = [
        Section(title=one.title, parts=tuple(_parts(one, report))) for one, report in zip(texts, reports, strict=True)
    ]
    return Document(
        kind="sweep",
        headline=f"I/O sizes of {len(texts)} configurations",
        parts=(*sections, _summary(reports)),
        topic=Topic.SWEEP,
    )


def _parts(texts: SweepText, report: SweepReport) -> Iterator[Part]:
    yield Paragraph(text=texts.method, weight="quiet")
    yield Picture(characters=None, spec=_drawn(report))
    for group in texts.groups:
        yield Section(title=group.title, parts=tuple(_group(group)))
    if texts.truths:
        yield Section(title="Compared with the enforced limits", parts=(_compared(texts.truths, "enforced"),))
    if texts.published:
        yield Section(title="Compared with published numbers", parts=(_compared(texts.published, "published"),))
    if texts.notes:
        yield Section(title="Notes", parts=(bullets_of(texts.notes),))


def _drawn(report: SweepReport) -> Callable[[int], Spec]:
    def spec(_width: int) -> Spec:
        # The panels are side by side and have fixed widths.
        from plimsoll_lab.reports.sweep.chart import sweep_spec

        return sweep_spec([report], look=page_look(), is_titled=False)

    return spec


def _group(group: GroupText) -> Iterator[Part]:
    yield _rates(group)
    yield facts_of(group.limits)
    if group.merged:
        yield Paragraph(text=group.merged)
    if group.left_out:
        yield Section(title="Left out", parts=(bullets_of(group.left_out),))
    if group.unknown:
        yield Section(title="What these sizes do not show", parts=(bullets_of(group.unknown),))


def _rates(group: GroupText) -> Table:
    titles = ["I/O size"]
    if group.has_scattered:
        titles += ["scattered\nMB/s", "IOPS"]
    if group.has_sequential:
        titles += ["sequential\nMB/s", "IOPS"]
    if group.has_came_as:
        titles.append("actual\nsize")
    rows = []
    for row in group.rows:
        cells = [row.size]
        if group.has_scattered:
            cells += [row.scattered_mb, row.scattered_ops]
        if group.has_sequential:
            cells += [row.sequential_mb, row.sequential_ops]
        rows.append((*cells, row.came_as) if group.has_came_as else tuple(cells))
    columns = tuple(Column(title=title, is_number=True, may_break=False) for title in titles)
    return Table(columns=columns, rows=tuple(rows))


def _compared(rows: Sequence[ComparedText], other: str) -> Table:
    return Table(
        columns=(
            Column(title=""),
            Column(title=other, is_number=True),
            Column(title="found", is_number=True),
            Column(title="difference", is_number=True, may_break=False),
        ),
        rows=tuple((Cell(row.name, note=row.remark), row.other, row.found, row.difference) for row in rows),
    )


def _summary(reports: Sequence[SweepReport]) -> Section:
    """Return every configuration's limits in one table."""
    rows = [
        (
            with_phase(report.sweep.subject, fit.phase),
            estimate(fit.ops_limit, "ops/s"),
            estimate(fit.bytes_limit, "bytes/s"),
        )
        for report in reports
        for fit in report.fit.phases
    ]
    parts: list[Part] = [
        Table(
            columns=(
                Column(title="configuration"),
                Column(title="operations", is_number=True),
                Column(title="throughput", is_number=True),
            ),
            rows=tuple(rows),
        )
    ]
    known = [
        abs(truth.difference_ratio)
        for report in reports
        for truth in report.truths
        if truth.unit != "bytes" and truth.difference_ratio is not None
    ]
    if known:
        parts.append(
            Paragraph(
                text=f"Of {len(known)} limits found, the furthest from what is enforced is off by"
                f" {max(known) * 100:.1f} %."
            )
        )
    return Section(title="All configurations", parts=tuple(parts))
