"""
Read every instance of a folder or file: exports with several, recorded snapshots, or both.

Exports are read into one reading, since an instance's metrics may lie in many files; then one
snapshot after the other is put together and handed out, so that a caller who keeps none holds one.
"""

from collections.abc import Iterator
from dataclasses import replace as replace_field
from pathlib import Path

from msgspec.structs import replace

from plimsoll.errors import DataError, PlimsollError, SourceError
from plimsoll.model.overview import UnreadInstance
from plimsoll.model.snapshot import Gap, Snapshot
from plimsoll.sources.export.read import FORMATS, read_bytes, read_instance_file
from plimsoll.sources.files.bytes import load
from plimsoll.sources.files.folder import data_files
from plimsoll.sources.reading.assemble import assemble
from plimsoll.sources.reading.choose_instance import describe
from plimsoll.sources.reading.reading import Block, Reading
from plimsoll.sources.reading.resolve import resolve
from plimsoll.sources.targets import snapshot_file
from plimsoll.sources.values.shown import shown

_MARK = b'"plimsoll.snapshot/'
_UNNAMED = Gap(
    metric="samples without an instance",
    reason="the export contains several instances and these name none; ignored",
    remedy="Export them with the dimension DBInstanceIdentifier.",
)


def read_all(path: Path, *, instance_file: Path | None = None) -> Iterator[Snapshot | UnreadInstance]:
    """
    Yield the instances that a folder or file holds, recorded snapshots first, then exports by name.

    Args:
        path: a file, or a folder that is read with its subfolders.
        instance_file: a `describe-db-instances` answer, if it does not lie in the folder.

    Yields:
        A snapshot of each instance; unread are a damaged snapshot, an instance whose samples cannot
        be used, and one that is described and has no metrics.

    Raises:
        SourceError: the path cannot be opened.
        DataError: no file that can be read, or no sample in any.
    """
    given = Reading() if instance_file is None else read_instance_file(instance_file)
    described, reading = given.described, Reading(gaps=given.gaps)
    failures: list[PlimsollError] = []
    recorded: set[str] = set()
    files, unlisted = data_files(path) if path.is_dir() else ([path], [])
    reading.gaps += unlisted
    for file in files:
        found = _added(file, path, reading, failures)
        if isinstance(found, Snapshot) and described:
            name = found.instance.identifier
            instance, gaps = describe(name, described, [found.instance])
            found = replace(found, instance=instance, gaps=(*found.gaps, *gaps))
        if found is not None:
            name = found.instance.identifier if isinstance(found, Snapshot) else found.identifier
            recorded.add(name.lower())
            yield found
    reading.described = described or reading.described
    if reading.blocks or reading.pending:
        yield from _exported(path, reading, recorded)
    elif not recorded:
        if failures:
            raise failures[0]
        raise DataError(f"'{shown(path, 200)}' contains no file of metrics", FORMATS)


def _added(file: Path, path: Path, reading: Reading, failures: list[PlimsollError]) -> Snapshot | UnreadInstance | None:
    """Return the snapshot of a recorded file; anything else is added to the reading."""
    is_snapshot = False
    try:
        data = load(file)
        is_snapshot = _MARK in data
        if is_snapshot:
            return snapshot_file.decode(data, file)
        read_bytes(data, file, reading)
    except (DataError, SourceError) as error:
        name = shown(file.relative_to(path) if path.is_dir() else file.name, 120)
        if is_snapshot:
            return UnreadInstance(identifier=name, reason=error.message, remedy=error.hint)
        failures.append(error)
        reading.gaps.append(Gap(metric=f"file {name}", reason=error.message, remedy=error.hint))
    return None


def _exported(path: Path, reading: Reading, recorded: set[str]) -> Iterator[Snapshot | UnreadInstance]:
    """Yield a snapshot for each named instance, then the described instances without samples."""
    source = f"export {'folder' if path.is_dir() else 'file'} {shown(path, 200)}"
    blocks, nobodys = _by_instance(reading)
    if len(blocks) <= 1:
        yield assemble(reading, identifier=next(iter(blocks), None), source=source)
    else:
        gaps = [*reading.gaps, *([_UNNAMED] if nobodys else [])]
        for name in sorted(blocks, key=str.lower):
            mine = replace_field(reading, blocks=blocks[name], gaps=gaps)
            try:
                yield assemble(mine, identifier=name, source=source)
            except DataError as error:
                yield UnreadInstance(identifier=shown(name, 63), reason=error.message, remedy=error.hint)
    named = {name.lower() for name in blocks} | recorded
    for identifier in sorted({i.identifier for i in reading.described}):
        if named and identifier.lower() not in named:
            yield UnreadInstance(
                identifier=shown(identifier, 63),
                reason="described, but no metric of it is in the export",
                remedy="Export its metrics, or leave it out.",
            )


def _by_instance(reading: Reading) -> tuple[dict[str, list[Block]], bool]:
    """Group blocks by the instance they name, and return whether some name none."""
    found: dict[str, list[Block]] = {}
    spelled: dict[str, str] = {}
    is_unnamed_seen = False
    for block in reading.blocks:
        samples = resolve(replace_field(reading, blocks=[block])).samples
        name = samples[0].instance if samples else block.instance
        if name is None:
            is_unnamed_seen = is_unnamed_seen or bool(samples)
        else:
            found.setdefault(spelled.setdefault(name.lower(), name), []).append(block)
    return found, is_unnamed_seen
