"""
What a server does with values that are sent again, said.

Rule 1: every figure stands with its unit, and the sentence under the table says what it means.
Rule 2: no value of the user's is written, only sizes and counts.
"""

from collections.abc import Iterator

from plimsoll.model.toast import ToastCase, ToastProof, ToastSample, dead_rows_of_update
from plimsoll.reports.document.parts import Column, Document, Paragraph, Section, Table, bullets_of
from plimsoll.reports.render.explanations import Topic
from plimsoll.reports.render.words import sentence
from plimsoll.units import format_bytes, format_ratio, number

_ROLLED_BACK = "the scratch schema was made in one transaction that was rolled back"

_HEADS = ("value", "stored", "chunks", "dead rows", "WAL bytes", "buffers")


def toast_document(proof: ToastProof) -> Document:
    """Return what was counted, the arithmetic behind it, and what is left behind: nothing."""
    slot = "; the replication slot was dropped" if proof.sample else ""
    behind = f"Nothing is left behind: {_ROLLED_BACK}{slot}." if proof.cases else ""
    last = [*(sentence(note) for note in proof.notes), *([behind] if behind else [])]
    return Document(
        kind="proof",
        headline=_story(proof),
        topic=Topic.TOAST,
        parts=(
            Paragraph(
                text=f"PostgreSQL {proof.version} · {proof.place} · chunks of {proof.chunk_bytes:,} bytes",
                weight="quiet",
            ),
            *(Section(title=title, parts=(_table(cases),)) for title, cases in _groups(proof)),
            Section(
                title="Sampled", parts=(bullets_of([_sample(one) for one in proof.sample]),) if proof.sample else ()
            ),
            Section(title="Notes", parts=(bullets_of(last),) if last else ()),
        ),
    )


def _story(proof: ToastProof) -> str:
    """Return the arithmetic, and whether the server agrees with it."""
    sent = [
        case
        for case in proof.cases
        if case.chunks_dead and case.stored_bytes > proof.chunk_bytes and case.rows_updated == 1
    ]
    if not sent:
        return "No value was stored out of line."
    agree = sum(c.dead_rows == dead_rows_of_update(c.stored_bytes, proof.chunk_bytes) for c in sent)
    first = sent[0]
    return (
        f"Sending an unchanged value of {first.value_bytes:,} bytes left {first.dead_rows} dead rows: "
        f"1 + ⌈{first.stored_bytes:,} ÷ {proof.chunk_bytes:,}⌉. Leaving it alone left 1. "
        f"The arithmetic held in {agree} of {len(sent)} cases."
    )


def _groups(proof: ToastProof) -> list[tuple[str, list[ToastCase]]]:
    statements = [c for c in proof.cases if c.storage == "external" and ":" not in c.name]
    first_bytes = statements[0].value_bytes if statements else 0
    groups = [
        ("By statement", [c for c in statements if c.value_bytes == first_bytes]),
        ("By size, sent again", [c for c in statements if c.value_bytes != first_bytes]),
        ("By storage and compression, sent again", [c for c in proof.cases if ":" in c.name]),
        ("On a copy of the table", list(proof.copies)),
    ]
    return [(title, cases) for title, cases in groups if cases]


def _table(cases: list[ToastCase]) -> Table:
    columns = (Column(title=""), *(Column(title=title, is_number=True) for title in _HEADS))
    return Table(columns=columns, rows=tuple((_name(case), *_figures(case)) for case in cases))


def _figures(case: ToastCase) -> Iterator[str]:
    for figure in (
        case.value_bytes,
        case.stored_bytes,
        case.chunks_written,
        case.dead_rows,
        case.wal_bytes,
        case.buffers,
    ):
        yield f"{figure:,}"


def _name(case: ToastCase) -> str:
    _, _, kind = case.name.partition(": ")
    if kind:
        return f"{case.storage}, {kind}"
    if case.storage.startswith("column "):
        return f"{case.storage.removeprefix('column ')}: {case.name}"
    return case.name


def _sample(sample: ToastSample) -> str:
    known = sample.resent_same + sample.resent_changed
    if not known + sample.resent_unknown:
        result = "no value was sent again"
    elif not known:
        result = "whether values changed could not be seen: the table has no primary key, or rows were new"
    else:
        result = (
            f"{sample.resent_same:,} of {known:,} values sent were the same as stored "
            f"({format_ratio(sample.resent_same / known)})"
        )
    parts = [
        (
            f"Column {sample.column} of {sample.table}, {number(sample.seconds, 3)} s of logical decoding: "
            f"{result}; {sample.untouched:,} updates left the value alone"
        )
    ]
    if sample.resent_unknown and known:
        parts.append(f"{sample.resent_unknown:,} unknown")
    if sample.value_bytes_mean is not None:
        parts.append(f"values of {format_bytes(sample.value_bytes_mean)} on average")
    if not sample.is_whole:
        parts.append("the sample ended early at its bound on WAL")
    return "; ".join(parts) + "."
