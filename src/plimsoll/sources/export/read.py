"""
Read exported metrics: a file, or a folder with mixed formats.

Formats are told apart by content. In a folder, a file that cannot be read is a gap and the others
count; alone, it is an error.
"""

import re
from collections.abc import Callable
from enum import Enum, auto
from pathlib import Path
from typing import Any, NamedTuple

from plimsoll.errors import DataError, PlimsollError, SourceError, UsageError
from plimsoll.model.snapshot import Gap, Snapshot
from plimsoll.model.snapshot_file.codec import is_snapshot
from plimsoll.sources.documents import (
    cloudwatch_json,
    describe_instances,
    enhanced_monitoring,
    metric_stream,
    otel_stream,
)
from plimsoll.sources.export.csv.file import read_csv
from plimsoll.sources.export.parquet import read_parquet
from plimsoll.sources.files.bounds import MAX_BYTES
from plimsoll.sources.files.bytes import HEAD_BYTES, load
from plimsoll.sources.files.folder import data_files
from plimsoll.sources.files.json_text import documents, first_lines
from plimsoll.sources.files.text import open_text
from plimsoll.sources.prometheus.names import read_answer
from plimsoll.sources.reading.assemble import assemble
from plimsoll.sources.reading.reading import Reading
from plimsoll.sources.values.shown import counted, shown

FORMATS = (
    "Give get-metric-data or get-metric-statistics JSON, a metric stream, Enhanced Monitoring, "
    "CSV or Parquet; see 'plimsoll docs inputs'."
)

_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1f]")


class _IsSnapshot(DataError):
    """A recorded snapshot stands where an export is read."""


def read_export(path: Path, *, instance_file: Path | None = None, identifier: str | None = None) -> Snapshot:
    """
    Return the snapshot that an export holds.

    Args:
        path: a file, or a folder that is read with its subfolders.
        instance_file: a `describe-db-instances` answer, if it is not in the folder.
        identifier: identifier of the instance, if the export contains several.

    Raises:
        UsageError: there are several instances and none was chosen, or the chosen one is missing.
        SourceError: a file cannot be opened.
        DataError: no file can be read, or none contains a sample.
    """
    if not path.is_dir():
        found = read_large_table(path, instance_file=instance_file, identifier=identifier)
        return found or read_loaded(load(path), path, instance_file=instance_file, identifier=identifier)
    reading = Reading()
    _read_folder(path, reading)
    _describe(reading, instance_file)
    return assemble(reading, identifier=identifier, source=f"export folder {shown(path, 200)}")


def read_large_table(
    path: Path,
    *,
    instance_file: Path | None = None,
    identifier: str | None = None,
    is_other: Callable[[bytes], bool] = lambda _: False,
) -> Snapshot | None:
    """
    Return what `read_export` does, for a large table of text; None if the file is none and must be loaded.

    Args:
        is_other: function that returns whether another reader handles a file with these first bytes.
    """
    reading = Reading()
    if not _read_large_table(path, reading, is_other):
        return None
    _describe(reading, instance_file)
    return assemble(reading, identifier=identifier, source=f"export file {shown(path, 200)}")


def _read_large_table(path: Path, reading: Reading, is_other: Callable[[bytes], bool] = lambda _: False) -> bool:
    """Add a large table of text without loading it; False if the file is none."""
    with open_text(path) as text:
        head = b"" if text is None else text[:HEAD_BYTES]
        if text is None or len(text) > MAX_BYTES or is_other(head):
            return False
        if head.startswith(b"PAR1") or head.lstrip()[:1] in (b"{", b"[", b""):
            return False
        if otel_stream.looks_like_protobuf(head, len(text)) or not _is_text(head):
            return False
        where = f"'{shown(path.name, 100)}'"
        _refuse_forms_of_the_aws_cli(head, where)
        read_csv(text, reading, where=where, path=path)
        return True


def read_loaded(
    data: bytes, path: Path, *, instance_file: Path | None = None, identifier: str | None = None
) -> Snapshot:
    """Return what `read_export` does, for a file whose content is at hand already."""
    reading = Reading()
    read_bytes(data, path, reading)
    _describe(reading, instance_file)
    return assemble(reading, identifier=identifier, source=f"export file {shown(path, 200)}")


def _describe(reading: Reading, instance_file: Path | None) -> None:
    """Let a description that was given go before those in the export."""
    if instance_file is not None:
        given = read_instance_file(instance_file)
        reading.described = given.described
        reading.gaps += given.gaps


def read_instance_file(path: Path) -> Reading:
    """
    Return the instances of a `describe-db-instances` answer, at least one, and what was odd in it.

    Raises:
        SourceError: the file cannot be opened.
        DataError: the format is unknown, or the file is damaged.
        UsageError: it describes no instance.
    """
    reading = Reading()
    read_bytes(load(path), path, reading)
    if not reading.described:
        raise UsageError(
            f"'{shown(path, 200)}' describes no instance", "Give the answer of 'aws rds describe-db-instances'."
        )
    return reading


def _read_folder(folder: Path, reading: Reading) -> None:
    files, gaps = data_files(folder)
    reading.gaps += gaps
    failures: list[PlimsollError] = []
    for file in files:
        try:
            if not _read_large_table(file, reading):
                read_bytes(load(file), file, reading)
        except (DataError, SourceError) as error:
            failures.append(error)
            reading.gaps.append(
                Gap(metric=shown(f"file {file.relative_to(folder)}", 120), reason=error.message, remedy=error.hint)
            )
    if not reading.blocks and not reading.pending:
        snapshots = [f for f in failures if isinstance(f, _IsSnapshot)]
        if len(snapshots) > 1:
            raise DataError(
                f"folder '{shown(folder, 200)}' contains {len(snapshots)} recorded snapshots, and one is needed",
                "Name one of the files, or let 'plimsoll diagnose FOLDER --identifier \"*\"' read all.",
            )
        if failures:
            raise failures[0]
        what = "contains no file of metrics" if any(folder.iterdir()) else "is empty"
        raise DataError(f"folder '{shown(folder, 200)}' {what}", FORMATS)


def read_bytes(data: bytes, path: Path, reading: Reading) -> None:
    """
    Add the content of one file of any format; `path` names it in messages.

    Raises:
        DataError: the format is unknown, or the file is damaged.
    """
    where = f"'{shown(path.name, 100)}'"
    head = data[:HEAD_BYTES]
    if not head.strip():
        raise DataError(f"{where} is empty", FORMATS)
    if head.startswith(b"PAR1"):
        read_parquet(data, reading, where=where, path=path)
    elif head.lstrip()[:1] in (b"{", b"["):
        if not _MARKS.search(head):
            raise _unknown(where)
        _read_json(data, reading, where=where, path=path)
    elif otel_stream.looks_like_protobuf(head, len(data)):
        otel_stream.read_protobuf(data, reading, where=where)
    elif _is_text(head):
        _refuse_forms_of_the_aws_cli(head, where)
        read_csv(data, reading, where=where, path=path)
    else:
        raise _unknown(where)


_TEXT = re.compile(rb"(METRICDATARESULTS|DATAPOINTS|DBINSTANCES|MESSAGES)\t|\S+\r?\nDATAPOINTS\t")
_TABLE = re.compile(rb"[-+]{5,}\r?\n\|\s*(GetMetric|DescribeDB)")
_YAML = re.compile(rb"(MetricDataResults|Datapoints|DBInstances|Label):[ \r\n]")


def _refuse_forms_of_the_aws_cli(head: bytes, where: str) -> None:
    """
    Refuse what the AWS command line prints for people.

    Raises:
        DataError: the text has one of these formats; the hint names the option that prints JSON.
    """
    for form, words in (("text", _TEXT), ("table", _TABLE), ("yaml", _YAML)):
        if words.match(head):
            raise DataError(
                f"{where} was printed by the AWS command line with --output {form}",
                "Run the same command again with --output json.",
            )


def _is_text(head: bytes) -> bool:
    """
    Return whether these bytes could be a table: no zeros, and hardly a control character.

    A damaged byte costs a cell; one in a hundred is no damage but another format.
    """
    return b"\x00" not in head and 100 * len(_CONTROL.findall(head)) < len(head)


def _unknown(where: str) -> DataError:
    return DataError(f"{where} is of no format this version reads", FORMATS)


# --- JSON ---------------------------------------------------------------------------------------


class FileKind(Enum):
    """What a JSON document is, by its keys."""

    METRIC_DATA = auto()
    REQUEST = auto()
    STATISTICS = auto()
    INSTANCES = auto()
    STREAM_RECORD = auto()
    OPEN_TELEMETRY = auto()
    ENHANCED_MONITORING = auto()
    LOG_EVENTS = auto()
    PROMETHEUS = auto()
    SNAPSHOT = auto()


class _JsonForm(NamedTuple):
    """How a JSON document of one kind is recognised."""

    kind: FileKind
    keys: frozenset[str]
    """A document of this kind has all of them."""
    marks: tuple[str, ...]
    """One of these keys is in the first bytes of its file."""


def _form(kind: FileKind, *keys: str, marks: tuple[str, ...] = ()) -> _JsonForm:
    """Return a form whose first key is its mark, unless other marks are given."""
    return _JsonForm(kind, frozenset(keys), marks or keys[:1])


# In the order of recognition: a document counts as the first kind whose keys it has.
_JSON_FORMS = (
    _form(FileKind.METRIC_DATA, "MetricDataResults"),
    _form(FileKind.REQUEST, "MetricDataQueries"),
    _form(FileKind.STATISTICS, "Datapoints"),
    _form(FileKind.INSTANCES, "DBInstances"),
    _form(FileKind.INSTANCES, "DBInstanceIdentifier", "DBInstanceClass"),
    _form(FileKind.STREAM_RECORD, "metric_name", "value"),
    _form(FileKind.OPEN_TELEMETRY, "resourceMetrics"),
    _form(FileKind.OPEN_TELEMETRY, "resource_metrics"),
    # The identifiers of an Enhanced Monitoring document come before its measurements.
    _form(
        FileKind.ENHANCED_MONITORING,
        *("cpuUtilization", "timestamp"),
        marks=("cpuUtilization", "instanceID", "instanceResourceID"),
    ),
    _form(FileKind.ENHANCED_MONITORING, "physicalDeviceIO", "timestamp"),
    _form(FileKind.ENHANCED_MONITORING, "diskIO", "timestamp"),
    _form(FileKind.LOG_EVENTS, "events"),
    _form(FileKind.LOG_EVENTS, "logEvents"),
    # `status` and `data` are keys of many documents; `resultType` is in the data of an answer.
    _form(FileKind.PROMETHEUS, "status", "data", marks=("resultType",)),
    _form(FileKind.PROMETHEUS, "errorType", "status"),
    _form(FileKind.REQUEST, "MetricStat", "Id"),
    _form(FileKind.REQUEST, "Expression", "Id"),
)

# A JSON document that we read shows one of these keys early. So a hundred megabytes of other JSON are
# refused without being decoded. `schema` is the mark of a snapshot, which gets a message of its own.
_MARKS = re.compile(b'"(%s)"' % "|".join(["schema", *(mark for form in _JSON_FORMS for mark in form.marks)]).encode())


def _kind_of(document: Any) -> FileKind | None:
    """Return the kind of a JSON document; None if it is of no kind that we read."""
    if not isinstance(document, dict):
        return None
    if is_snapshot(document):
        return FileKind.SNAPSHOT
    return next((form.kind for form in _JSON_FORMS if form.keys <= document.keys()), None)


def _read_json(data: bytes, reading: Reading, *, where: str, path: Path) -> None:
    by_line: dict[FileKind, Callable[..., int]] = {
        FileKind.STREAM_RECORD: metric_stream.read_lines,
        FileKind.ENHANCED_MONITORING: enhanced_monitoring.read_lines,
        FileKind.OPEN_TELEMETRY: otel_stream.read_lines,
    }
    kinds = [k for d in first_lines(data) if (k := _kind_of(d)) is not None]
    kind = kinds[0] if kinds else None
    if kind in by_line:
        _count_bad(by_line[kind](data, reading, where=where), reading, where)
        return
    read_any = False
    waiting: dict[FileKind, list[Any]] = {}
    for document in documents(data, where):
        read_any |= _read_document(document, reading, waiting, where=where, path=path)
    for waiting_kind, gathered in waiting.items():
        if waiting_kind is FileKind.STREAM_RECORD:
            metric_stream.read_records(gathered, reading, where=where)
        else:
            enhanced_monitoring.read_documents(gathered, reading, where=where)
    if not read_any:
        raise _unknown(where)


def _read_document(
    document: Any, reading: Reading, waiting: dict[FileKind, list[Any]], *, where: str, path: Path
) -> bool:
    """
    Add a document, or keep it with others of its kind; False if it is of no kind.

    A list is as many documents: pages, records, or a bare request or description.
    """
    folder = path.parent
    if isinstance(document, list):
        kind = next((k for d in document if (k := _kind_of(d)) is not None), None)
        if kind is FileKind.REQUEST and "MetricDataQueries" not in document[0]:
            cloudwatch_json.read_request(document, reading, where=where, folder=folder)
            return True
        if kind is FileKind.INSTANCES and "DBInstances" not in document[0]:
            describe_instances.read_answer(document, reading, where=where)
            return True
        found = [_read_document(d, reading, waiting, where=where, path=path) for d in document if isinstance(d, dict)]
        return any(found)
    kind = _kind_of(document)
    if kind is FileKind.SNAPSHOT:
        raise _IsSnapshot(
            f"{where} is a recorded snapshot, not an export",
            "Give the snapshot itself as the target, without other files.",
        )
    if kind is FileKind.METRIC_DATA:
        cloudwatch_json.read_metric_data(document, reading, where=where, folder=folder)
        if "MetricDataQueries" in document:
            kind = FileKind.REQUEST
    if kind is FileKind.REQUEST:
        queries = document.get("MetricDataQueries", [document])
        cloudwatch_json.read_request(queries, reading, where=where, folder=folder)
    elif kind is FileKind.STATISTICS:
        cloudwatch_json.read_metric_statistics(document, reading, where=where, folder=folder)
    elif kind is FileKind.INSTANCES:
        describe_instances.read_answer(document, reading, where=where)
    elif kind is FileKind.PROMETHEUS:
        read_answer(document, reading, where=where, path=path)
    elif kind is FileKind.LOG_EVENTS:
        bad = enhanced_monitoring.read_log_events(document, reading, where=where)
        _count_bad(bad, reading, where)
    elif kind is FileKind.OPEN_TELEMETRY:
        otel_stream.read_json([document], reading, where=where)
    elif kind is not None and kind is not FileKind.METRIC_DATA:
        waiting.setdefault(kind, []).append(document)
    return kind is not None


def _count_bad(bad_lines: int, reading: Reading, where: str) -> None:
    if bad_lines:
        reading.gaps.append(
            Gap(
                metric=f"lines of {where}",
                reason=f"{counted(bad_lines, 'line')} ignored: cut off or of another shape",
                remedy="Download the file again.",
            )
        )
