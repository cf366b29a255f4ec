"""
Read a single target: a recorded snapshot, a capture of a host, or exports.

`-` is standard input; formats are told apart by content there as in files.
"""

from pathlib import Path

from msgspec.structs import replace

from plimsoll.errors import UsageError
from plimsoll.model.snapshot import Snapshot
from plimsoll.sources.export.read import read_export, read_instance_file, read_large_table, read_loaded
from plimsoll.sources.files.bytes import load
from plimsoll.sources.files.folder import data_files
from plimsoll.sources.files.standard_input import INTERRUPTED, NAME, STANDARD_INPUT, InputProgress, load_standard_input
from plimsoll.sources.reading.choose_instance import UNNAMED, choose, describe
from plimsoll.sources.sysstat.recognise import is_host_capture, parse_capture
from plimsoll.sources.targets import snapshot_file
from plimsoll.sources.values.shown import shown

_MARK = b'"plimsoll.snapshot/'


def read(
    path: Path,
    *,
    instance_file: Path | None = None,
    identifier: str | None = None,
    input_progress: InputProgress | None = None,
) -> Snapshot:
    """
    Return the snapshot of a target, told apart by content.

    Args:
        path: a recorded snapshot, a capture of iostat, sar or sadf, an export file, or a folder of
            exports; a folder with one file is read as that file; `-` is standard input.
        instance_file: a `describe-db-instances` answer; it takes precedence over the target.
        identifier: identifier of the instance, if the target contains several.
        input_progress: function that is called with the progress of standard input.

    Raises:
        UsageError: there are several instances and none was chosen, or the chosen one is missing.
        SourceError: a file cannot be opened.
        DataError: no file can be read.
    """
    if path == STANDARD_INPUT:
        data, was_interrupted = load_standard_input(input_progress=input_progress)
        snapshot = _read_bytes(data, Path(NAME), instance_file, identifier)
        gaps = (INTERRUPTED,) if was_interrupted else ()
        return replace(snapshot, gaps=(*snapshot.gaps, *gaps))
    if path.is_dir():
        files, unlisted = data_files(path)
        if len(files) != 1:
            return read_export(path, instance_file=instance_file, identifier=identifier)
        # A folder with a single file is that file, be it a snapshot.
        single = read(files[0], instance_file=instance_file, identifier=identifier)
        return replace(single, gaps=(*single.gaps, *unlisted))
    found = read_large_table(path, instance_file=instance_file, identifier=identifier, is_other=is_host_capture)
    if found is not None:
        return found
    return _read_bytes(load(path), path, instance_file, identifier)


def read_capture(path: Path, *, device: str | None = None, step_s: int | None = None) -> Snapshot:
    """
    Return the snapshot of a capture of a host.

    Args:
        path: output of iostat, sar or sadf, or a binary file of sysstat; `-` is standard input.
        device: names of devices to sum, separated by commas; None or `auto` takes the busiest device.
        step_s: length of a step, for a capture of iostat without times.

    Raises:
        UsageError: a device is missing, a step was given although the capture has times, or the input is a
            terminal.
        SourceError: the file cannot be opened.
        DataError: the file is not such a capture, or contains no usable sample.
    """
    if path != STANDARD_INPUT:
        return parse_capture(load(path), where=_where(path), device=device, step_s=step_s)
    data, was_interrupted = load_standard_input()
    snapshot = parse_capture(data, where=NAME, device=device, step_s=step_s)
    return replace(snapshot, gaps=(*snapshot.gaps, *((INTERRUPTED,) if was_interrupted else ())))


def with_description(snapshot: Snapshot, instance_file: Path | None, identifier: str | None) -> Snapshot:
    """
    Return what a server keeps of an instance, with what a `describe-db-instances` answer says was bought.

    Raises:
        UsageError: the answer contains several instances and none was chosen, or the chosen one is missing.
        SourceError, DataError: the answer cannot be read.
    """
    if instance_file is None:
        return snapshot
    name = snapshot.instance.identifier
    # A host is known by its address, not by the database's name.
    is_host = snapshot.instance.db_class is None and snapshot.instance.engine is None
    return _described(snapshot, None if is_host else name, instance_file, identifier)


def _where(path: Path) -> str:
    return NAME if path == Path(NAME) else f"'{shown(path.name, 100)}'"


def _read_bytes(data: bytes, path: Path, instance_file: Path | None, identifier: str | None) -> Snapshot:
    if is_host_capture(data):
        snapshot = parse_capture(data, where=_where(path))
        if instance_file is None:
            return snapshot
        # A host's name is not the database's: the one described instance is meant.
        host = replace(snapshot.instance, identifier=UNNAMED)
        return _described(replace(snapshot, instance=host), None, instance_file, identifier)
    if _MARK not in data:
        return read_loaded(data, path, instance_file=instance_file, identifier=identifier)
    snapshot = snapshot_file.decode(data, path)
    if identifier is not None and snapshot.instance.identifier.lower() not in (identifier.lower(), UNNAMED):
        raise UsageError(
            f"snapshot '{shown(path.name, 100)}' is of '{shown(snapshot.instance.identifier)}', "
            f"not of '{shown(identifier)}'",
            "Leave out --identifier, or record the other instance.",
        )
    if instance_file is None:
        return snapshot
    return _described(snapshot, snapshot.instance.identifier, instance_file, identifier)


def _described(snapshot: Snapshot, name: str | None, instance_file: Path, identifier: str | None) -> Snapshot:
    given = read_instance_file(instance_file)
    chosen = choose([name], given.described, identifier)
    instance, gaps = describe(chosen, given.described, [snapshot.instance])
    return replace(snapshot, instance=instance, gaps=(*snapshot.gaps, *given.gaps, *gaps))
