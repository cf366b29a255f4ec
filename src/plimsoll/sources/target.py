"""Whatever a command is pointed at: a recorded snapshot, or a file or folder of exports."""

from pathlib import Path

from msgspec.structs import replace

from plimsoll.errors import UsageError
from plimsoll.model.snapshot import Snapshot
from plimsoll.sources import export, iostat, snapshot_file
from plimsoll.sources.choose_instance import UNNAMED, choose, describe
from plimsoll.sources.file_bytes import HEAD_BYTES, load
from plimsoll.sources.shown import shown

_MARK = b'"plimsoll.snapshot/'


def read(
    path: Path, *, instance_file: Path | None = None, identifier: str | None = None
) -> Snapshot:
    """
    The snapshot of a target, told apart by content.

    Args:
        path: a recorded snapshot, an iostat capture, an export file, or a folder of exports;
            a folder with one file is that file.
        instance_file: a `describe-db-instances` answer; it wins over what the target says.
        identifier: which instance, if the target holds several.

    Raises:
        UsageError: several instances and none chosen, or the chosen one is not there.
        SourceError: a file that cannot be opened.
        DataError: nothing that can be read.
    """
    if path.is_dir():
        files = export.data_files(path)
        if len(files) != 1:
            return export.read_export(path, instance_file=instance_file, identifier=identifier)
        path = files[0]  # a folder with a single file is that file, be it a snapshot
    data = load(path)
    if iostat.is_iostat(data[:HEAD_BYTES]):
        return iostat.parse_iostat(data, where=f"'{shown(path.name, 100)}'")
    if _MARK not in data:
        return export.read_loaded(data, path, instance_file=instance_file, identifier=identifier)
    snapshot = snapshot_file.decode(data, path)
    if identifier is not None and snapshot.instance.identifier.lower() not in (
        identifier.lower(),
        UNNAMED,
    ):
        raise UsageError(
            f"snapshot '{shown(path.name, 100)}' is of '{shown(snapshot.instance.identifier)}', "
            f"not of '{shown(identifier)}'",
            "Leave out --identifier, or record the other instance.",
        )
    if instance_file is None:
        return snapshot
    described = export.read_instance_file(instance_file)
    chosen = choose([snapshot.instance.identifier], described, identifier)
    instance, gaps = describe(chosen, described, [snapshot.instance])
    return replace(snapshot, instance=instance, gaps=(*snapshot.gaps, *gaps))
