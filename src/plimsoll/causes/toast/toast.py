"""
Find updates that send TOAST values again although they have not changed.

PostgreSQL writes new chunks whenever such a value is sent. Counters show how many chunks. They cannot
show whether the value was equal. The detector decides by the first of these that applies:

1. A sample by logical decoding gives a certain answer.
2. Sizes: if values keep growing or shrinking, they do change. Nothing is reported.
3. Statements: a statement that compares first writes only changes, so nothing is reported. A statement
   that sets a whole row comes from a program that does not track changes.
4. Otherwise the rewrite is reported, with a command that tests whether the values changed.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from plimsoll.causes.budget import Budget, ranked, severity_of
from plimsoll.causes.toast.remedies import UNKNOWN_COLUMN, remedies_of
from plimsoll.causes.toast.statements import Setter, setters_of
from plimsoll.causes.toast.writes import Written, read_by, written_by
from plimsoll.causes.toast_rewrites import Rewrite, rewrites_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation, Relation, ToastableColumn
from plimsoll.model.diagnosis import Evidence, Missing
from plimsoll.model.severity import Severity
from plimsoll.model.shell import command_line
from plimsoll.model.toast import ToastSample
from plimsoll.units import format_bytes, format_bytes_per_s, format_ratio, number

# For a TOAST value, the row contains a pointer of 18 bytes (PostgreSQL, postgres.h).
_POINTER_BYTES = 18
# Values that are null or short change the mean width a little. A judgement.
_POINTER_SLACK_BYTES = 1.5

_LIMITED = re.compile(r"(?:character varying|character|bit varying|bit)\((\d+)\)$")
# A character takes at most 4 bytes in UTF-8; no other server encoding takes more.
_CHARACTER_BYTES_MOST = 4

# A sample with fewer values gives no reliable share. A judgement.
_SAMPLE_MIN = 10
# If less than a twentieth of the values are unchanged, the updates do change them. A judgement.
_UNCHANGED_MIN = 0.05

# A statement that sets this many columns was probably generated from a whole row. A judgement.
_WHOLE_ROW_COLUMNS = 4


class _Reading(Struct, frozen=True, kw_only=True):
    """What statements, sizes and samples show about one rewrite."""

    columns: tuple[str, ...]
    """The columns it may be, the likeliest first; empty if unknown."""
    how_sure: str
    """How certain the column is, as a phrase for the report."""
    unchanged: float | None
    """Share of sent values that were equal to the stored ones, 0–1; None without a sample."""
    form: str
    """How statements set the column: `whole row`, `narrow` or `unknown`."""
    evidence: tuple[Evidence, ...]


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return tables whose updates send TOAST values again, the most bytes first."""
    found = []
    for rewrite in rewrites_of(observation):
        samples = [s for s in observation.toast_samples if _is_of(s, rewrite.table)]
        setters = setters_of(observation, rewrite.table)
        reading = _reading_of(rewrite, setters, samples)
        if reading is not None:
            written = written_by(observation, rewrite)
            read = read_by(observation, rewrite, [setter.query_id for setter in setters])
            found.append(_cause(rewrite, reading, written, read, budget))
    return ranked(found)


def missing_of(observation: Observation) -> tuple[Missing, ...]:
    """Return the missing data of this detector."""
    found = []
    if observation.last.statements is None and rewrites_of(observation):
        found.append(
            Missing(
                name="pg_stat_statements",
                hides="which statements send values out of line again",
                remedy="CREATE EXTENSION pg_stat_statements, and grant pg_read_all_stats.",
            )
        )
    before = {relation.oid: relation for relation in observation.first.relations}
    reset = [
        relation.name
        for relation in observation.last.relations
        if relation.oid in before and relation.updated < before[relation.oid].updated
    ]
    if reset:
        found.append(
            Missing(
                name="table statistics",
                hides=f"what updates of {', '.join(reset[:3])} rewrote",
                remedy="They were reset between the readings: inspect again.",
            )
        )
    return tuple(found)


def _reading_of(rewrite: Rewrite, setters: Sequence[Setter], samples: Sequence[ToastSample]) -> _Reading | None:
    """Return what is known about a rewrite; None if the updates do change the values."""
    sampled = [s for s in samples if s.resent_same + s.resent_changed >= _SAMPLE_MIN]
    if sampled:
        return _by_sample(sampled)
    if not rewrite.is_steady:
        return None
    columns, how_sure = _columns_of(rewrite)
    of_column = [s for s in setters if set(s.columns) & set(columns)]
    if of_column and all(s.is_guarded for s in of_column):
        return None
    set_somewhere = [c for c in columns if any(c in s.columns for s in of_column)]
    if set_somewhere and len(set_somewhere) < len(columns):
        columns = tuple(set_somewhere)
        how_sure = "the only one that a statement sets" if len(columns) == 1 else "set by statements"
    form = "unknown"
    if any(len(s.columns) >= _WHOLE_ROW_COLUMNS and not s.is_guarded for s in of_column):
        form = "whole row"
    elif of_column and all(any(s.sets_only(c) for c in columns) for s in of_column):
        form = "narrow"
    return _Reading(
        columns=columns,
        how_sure=how_sure,
        unchanged=None,
        form=form,
        evidence=tuple(_of_statement(s) for s in of_column[:2]),
    )


def _by_sample(samples: Sequence[ToastSample]) -> _Reading | None:
    same = [s for s in samples if _unchanged(s) >= _UNCHANGED_MIN]
    if not same:
        return None
    same.sort(key=lambda s: -s.resent_same)
    sent = sum(s.resent_same + s.resent_changed for s in samples)
    return _Reading(
        columns=tuple(s.column for s in same),
        how_sure="seen by logical decoding",
        unchanged=sum(s.resent_same for s in samples) / sent,
        form="unknown",
        evidence=tuple(
            Evidence(
                kind="logical_decoding",
                text=f"in {number(s.seconds, 3)} s, {s.resent_same:,} of "
                f"{s.resent_same + s.resent_changed:,} values sent for {s.column} were the ones "
                f"stored already; {s.untouched:,} more updates left it alone",
                value=_unchanged(s),
            )
            for s in same
        ),
    )


def _unchanged(sample: ToastSample) -> float:
    known = sample.resent_same + sample.resent_changed
    return sample.resent_same / known if known else 0.0


def _columns_of(rewrite: Rewrite) -> tuple[tuple[str, ...], str]:
    """Return the columns it can be, the likeliest first, and how certain that is."""
    table = rewrite.table
    possible = [c for c in table.columns if c.storage != "plain" and not _is_inline(c)]
    # A column whose type has a length limit cannot store values longer than that.
    possible = [c for c in possible if _holds(c, rewrite.value_bytes)] or possible
    # PostgreSQL moves `main` columns (numeric, inet) out of the row only as a last resort.
    candidates = [c for c in possible if c.storage != "main"] or possible
    if not candidates:
        return (), "the columns were not read" if not table.columns else "none is wide enough"
    if len(candidates) == 1:
        return (candidates[0].name,), "the only one that can be stored out of line"
    if any(c.mean_width_bytes is None for c in candidates):
        # No column is likelier than another, so the order is that of the table.
        return (
            tuple(c.name for c in candidates),
            "not known which: its widths may not be read, or it was never analysed",
        )
    out = [c for c in candidates if _is_pointer(c)]
    if len(out) == 1:
        return (out[0].name,), "the only one whose width in the row is that of a pointer"
    ordered = sorted(out or candidates, key=lambda c: (-(c.mean_width_bytes or 0.0), c.name))
    return tuple(c.name for c in ordered), "one or more of them; counters do not say which"


def _holds(column: ToastableColumn, value_bytes: float) -> bool:
    """Return whether a value of that size fits the length of the column's type."""
    limit = _LIMITED.match(column.type)
    return limit is None or int(limit[1]) * _CHARACTER_BYTES_MOST >= value_bytes


def _is_pointer(column: ToastableColumn) -> bool:
    width = column.mean_width_bytes
    return width is not None and abs(width - _POINTER_BYTES) <= _POINTER_SLACK_BYTES


def _is_inline(column: ToastableColumn) -> bool:
    """Return whether its values are shorter than a pointer on average, so stored in the row."""
    width = column.mean_width_bytes
    return width is not None and width < _POINTER_BYTES - _POINTER_SLACK_BYTES


def _quoted(name: str) -> str:
    """Return a column's name, quoted if SQL requires it."""
    plain = name.isascii() and name.replace("_", "a").isalnum() and name == name.lower()
    return name if plain and not name[0].isdigit() else '"' + name.replace('"', '""') + '"'


def _of_statement(setter: Setter) -> Evidence:
    text = setter.text if len(setter.text) <= 160 else setter.text[:159] + "…"
    return Evidence(
        kind="statement",
        text=f"{setter.calls:,} calls set {len(setter.columns)} columns at once: {text}",
        value=float(setter.calls),
    )


def _cause(rewrite: Rewrite, reading: _Reading, written: Written, read: float | None, budget: Budget) -> Cause:
    share = 1.0 if reading.unchanged is None else reading.unchanged
    read_per_s = None if read is None else read * share
    bytes_per_s = written.bytes_per_s * share
    moved = bytes_per_s + (read_per_s or 0.0)
    subject = rewrite.table.name + (f".{reading.columns[0]}" if len(reading.columns) == 1 else "")
    dead = number(1 + rewrite.chunks_per_update, 3)
    rate = format_bytes_per_s(bytes_per_s, 3)
    if reading.unchanged is not None:
        what = f"{format_ratio(share)} of the values sent were the same"
        title = f"updates of {subject} write unchanged values again: {rate}, {what}"
        code = "ToastValuesRewritten"
    else:
        title = f"each update of {subject} leaves {dead} dead rows where 1 would do: {rate}"
        code = "ToastValuesResent"
    return Cause(
        kind=CauseKind.TOAST,
        code=code,
        severity=_severity(reading, severity_of(budget, moved)),
        subject=subject,
        title=title,
        text=_text(rewrite, reading, written),
        read_bytes_per_s=read_per_s,
        written_bytes_per_s=bytes_per_s,
        is_estimated=True,
        share_of_load=budget.of_load(moved),
        share_of_ceiling=budget.of_ceiling(moved),
        evidence=_evidence(rewrite, written) + reading.evidence,
        remedies=_remedies(rewrite, reading, rate),
        refuted_by=_refuted_by(reading),
    )


def _severity(reading: _Reading, severity: Severity) -> Severity:
    """Return the severity by bytes, but at most `warning` if the values may have changed."""
    if reading.form == "narrow":
        return "note"
    if reading.unchanged is None and reading.form == "unknown" and severity == "critical":
        return "warning"
    return severity


def _text(rewrite: Rewrite, reading: _Reading, written: Written) -> str:
    names = ", ".join(reading.columns) or "not known"
    parts = [
        f"Column: {names} ({reading.how_sure}).",
        (
            f"Values of about {format_bytes(rewrite.value_bytes)} stored are cut into chunks of "
            f"{number(rewrite.data_bytes_per_chunk, 3)} bytes on average. An update that sends a value "
            "rewrites all its chunks, even if equal, and leaves the old ones to vacuum."
        ),
    ]
    if reading.unchanged is None:
        forms = {
            "whole row": "Statements set whole rows, as programs do that do not track changes. "
            "So the values are likely equal, but this is not certain.",
            "narrow": "Statements set only this column, so they may really change it. "
            "Counters do not show whether it changed.",
            "unknown": "Counters do not show whether the values changed.",
        }
        parts.append(forms[reading.form])
    if written.is_shared_out:
        parts.append(
            "Bytes are these updates' share of writes to data files and WAL, by changed pages. Vacuum adds to that."
        )
    else:
        parts.append(
            "Bytes are new rows, index entries and WAL, estimated from chunk counts. Full-page images "
            "and vacuum add to that."
        )
    return " ".join(parts)


def _evidence(rewrite: Rewrite, written: Written) -> tuple[Evidence, ...]:
    how = "counted" if rewrite.is_exact else "corrected for inserts and deletes of the table"
    return (
        Evidence(
            kind="chunks",
            text=f"{rewrite.updates:,} updates left {number(rewrite.chunks, 4)} dead rows in "
            f"{rewrite.toast.name} ({how}): 1 + {number(rewrite.chunks_per_update, 3)} per update",
            value=1 + rewrite.chunks_per_update,
            reference=1.0,
        ),
        Evidence(
            kind="sizes",
            text="equal numbers of chunks were written and left dead: the values kept their size"
            if not rewrite.size_change
            else f"chunks written and left dead differ by {format_ratio(abs(rewrite.size_change))}",
            value=rewrite.size_change,
        ),
        Evidence(kind="bytes", text=_bytes(rewrite, written), value=written.bytes_per_s, reference=rewrite.bytes_per_s),
    )


def _bytes(rewrite: Rewrite, written: Written) -> str:
    """Describe how many bytes went to data files and how many to WAL."""
    wal = format_bytes_per_s(written.wal_bytes_per_s, 3)
    if not written.is_shared_out:
        return f"rows and index entries {format_bytes_per_s(written.data_bytes_per_s, 3)}, WAL {wal}"
    old = ", the pages of the old values among them" if written.has_old_pages else ""
    whole = format_bytes_per_s(written.whole_pages_bytes_per_s, 3)
    return (
        f"data files {format_bytes_per_s(written.data_bytes_per_s, 3)}{old}, and WAL {wal}, of it whole "
        f"pages {whole}; new rows, index entries and their WAL alone are "
        f"{format_bytes_per_s(rewrite.bytes_per_s, 3)}"
    )


def _remedies(rewrite: Rewrite, reading: _Reading, rate: str) -> tuple[Remedy, ...]:
    table = rewrite.table.name
    per_update = number(1 + rewrite.chunks_per_update, 3)
    # The code names one column. If it may be one of several, it names none of them.
    is_known = len(reading.columns) == 1 or reading.unchanged is not None
    found = remedies_of(
        table,
        _quoted(reading.columns[0]) if is_known and reading.columns else UNKNOWN_COLUMN,
        f"1 dead row per update instead of {per_update}, and {rate} less to write",
    )
    if reading.unchanged is not None:
        return found
    ask = Remedy(
        text="First check with a sample by logical decoding that the values are the same.",
        commands=(command_line(("plimsoll", "prove", "toast", "DSN", "--table", table, "--decode", "10s")),),
        expected="how many sent values were equal to the stored ones",
    )
    return (ask, *found)


def _refuted_by(reading: _Reading) -> str:
    if reading.unchanged is not None:
        return "In a longer sample the sent values differ from the stored ones."
    return "In a sample by logical decoding the sent values differ from the stored ones."


def _is_of(sample: ToastSample, table: Relation) -> bool:
    return sample.table == table.name
