"""Ingest files of metrics into a lake: metric streams as Firehose writes them, and whatever `diagnose` reads."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from plimsoll.errors import DataError, ExtraMissing, SourceError, UsageError
from plimsoll.model.overview import UnreadInstance
from plimsoll.model.points import PointColumns
from plimsoll.model.snapshot import Snapshot
from plimsoll.sources.reading.choose_instance import UNNAMED
from plimsoll.sources.values.shown import shown

if TYPE_CHECKING:
    from plimsoll.app.lake.files import DescribedSince
    from plimsoll.fleet.iceberg import IcebergCopy
    from plimsoll.fleet.lake import Lake, Manifest
    from plimsoll.fleet.place import LakePlace
    from plimsoll.sources.documents.stream_points import StreamPoints

# A judgement: this many points take about 500 MiB while they are collected, and a commit rewrites the parts it
# touches, so that fewer and larger commits write less.
POINTS_A_COMMIT = 2_000_000


class Ingested(Struct, kw_only=True):
    """What an ingest did."""

    file_count: int = 0
    """Files that were read."""
    known_count: int = 0
    """Files that were ingested before, and have not changed since."""
    point_count: int = 0
    """Points that were read, including those that replace others."""
    described_count: int = 0
    """Descriptions that were read."""
    bad_lines: int = 0
    bad_points: int = 0
    without_mean: int = 0
    """Points of tables that have a maximum, a minimum or a percentile, but no mean."""
    unnamed: int = 0
    """Values of tables and of Prometheus that name no instance."""
    counters: int = 0
    """Series of Prometheus that count up."""
    copied_count: int | None = None
    """Points that were written to a table of Iceberg; None without one."""
    unread: list[str] = []
    """Sentences: which instance or file could not be used, and why."""


def open_lake(url: str) -> "Lake":
    """
    Return a lake, on disk or on S3; nothing is read yet.

    Raises:
        ExtraMissing: pyarrow or polars is not installed.
    """
    try:
        from plimsoll.fleet.lake import Lake
        from plimsoll.fleet.place import LakePlace
    except ModuleNotFoundError as error:
        raise ExtraMissing.naming("a lake", "fleet") from error
    return Lake(LakePlace(url))


def ingest(
    source: str,
    lake: "Lake",
    *,
    bucket_count: int | None = None,
    points_a_commit: int = POINTS_A_COMMIT,
    iceberg: str | None = None,
    on_file: Callable[[int, int], None] | None = None,
) -> Ingested:
    """
    Add the files of a source to a lake that are not in it yet, in name order.

    Every commit is whole or has no effect, so an ingest that was killed goes on where it stopped.

    Args:
        source: a folder, a file, or `s3://bucket/prefix`.
        lake: opened; made if there is none.
        bucket_count: of a new lake; None takes the default, or keeps what the lake has.
        points_a_commit: points after which what was read is committed.
        iceberg: `catalog.namespace.table`, a table of Iceberg that becomes a copy of the lake.
        on_file: called after each file, with the number of files done and of all.

    Raises:
        ExtraMissing: pyiceberg is not installed, and a table was given.
        UsageError: the source is the lake, or another ingest is running.
        SourceError: source or lake cannot be read or written.
        DataError: nothing in the source can be used.
    """
    from plimsoll.fleet.place import LakePlace

    place = LakePlace(source)
    if place.root == lake.place.root:
        raise UsageError("source and lake are the same place", "Give the lake a place of its own.")
    copy = _iceberg_copy(iceberg) if iceberg is not None else None
    with lake.locked():
        manifest = lake.manifest_or_new(bucket_count)
        lake.delete_leftovers(manifest)
        work = _Ingest(place, lake, manifest, points_a_commit)
        work.run(on_file)
        if copy is not None:
            # Also if there was nothing new: the last update may have been killed.
            work.done.copied_count = copy.update(lake, work.manifest)
    return work.done


def _iceberg_copy(name: str) -> "IcebergCopy":
    try:
        from plimsoll.fleet.iceberg import IcebergCopy
    except ModuleNotFoundError as error:
        raise ExtraMissing.naming("a table of Iceberg", "iceberg") from error
    return IcebergCopy(name)


class _Ingest:
    """One ingest."""

    def __init__(self, source: "LakePlace", lake: "Lake", manifest: "Manifest", points_a_commit: int) -> None:
        self.done = Ingested()
        self._source, self._lake, self.manifest = source, lake, manifest
        self._points_a_commit = points_a_commit
        self._points = _no_points()
        self._parts: list[PointColumns] = []
        self._described: list[dict[str, object]] = []
        self._pending: dict[str, str] = {}
        self._engines: dict[str, object] | None = None
        """Engines of the described instances; None until one is asked for."""

    def run(self, on_file: Callable[[int, int], None] | None) -> None:
        files = self._source.files()
        others: list[tuple[str, str, int]] = []
        for index, (name, size, changed_ns) in enumerate(files):
            key, state = f"{self._source.root}/{name}", f"{size}-{changed_ns}"
            if self.manifest.sources.get(key) == state:
                self.done.known_count += 1
            else:
                is_read = self._add_file(name, changed_ns)
                if is_read:
                    self._pending[key] = state
                    self.done.file_count += 1
                    self._commit_if_full()
                elif is_read is None:
                    others.append((name, state, changed_ns))
            if on_file is not None:
                on_file(index + 1, len(files))
        self._commit_pending()
        if others:
            self._add_others(others)
        if not (self.done.point_count or self.done.described_count or self.done.known_count):
            raise DataError(
                f"'{shown(self._source.url, 200)}' contains no metrics that can be used",
                " ".join(self.done.unread[:1])
                or "Give files of a CloudWatch metric stream, or what 'plimsoll diagnose' reads.",
            )

    def _add_file(self, name: str, changed_ns: int) -> bool | None:
        """Collect what a file holds; False if it cannot be used, None if `_add_others` reads it."""
        from plimsoll.sources.documents.stream_points import add_file, add_packed, is_stream
        from plimsoll.sources.files.bytes import unwrapped

        packed = self._source.read(name)
        if add_packed(packed, self._points):
            return True
        shown_name = name or Path(self._source.url).name
        try:
            data = unwrapped(packed, Path(shown_name))
            if is_stream(data):
                add_file(data, self._points, where=f"'{shown(name, 120)}'")
                return True
            return self._add_content(data, shown_name, changed_ns // 1_000_000_000)
        except DataError as error:
            self.done.unread.append(f"{error.message}. {error.hint}")
            return False

    def _add_content(self, data: bytes, name: str, changed_s: int) -> bool | None:
        from plimsoll.app.lake.files import content_of
        from plimsoll.sources.points.values import ReadTally

        tally = ReadTally()
        found = content_of(data, name, changed_s, tally)
        if found is None:
            return None
        rows = [_described_row(one, name) for one in found.described]
        point_count = 0
        for piece in found.pieces:
            points = piece if found.has_units else self._in_their_units(piece)
            point_count += len(points)
            self._flush_stream()
            self._parts.append(points)
            # A piece is committed before its file is done: if this process is killed, the file is read
            # again, and each of its points replaces itself.
            self._commit_if_full()
        self._described += rows
        if rows:
            self._engines = None
        self.done.bad_lines += tally.bad_lines
        self.done.bad_points += tally.bad_points
        self.done.without_mean += tally.without_mean
        self.done.unnamed += tally.unnamed
        self.done.counters += tally.counters
        if not point_count and not rows and tally.unknown:
            named = ", ".join(f"'{shown(one)}'" for one in list(tally.unknown)[:3])
            raise DataError(
                f"no known metric in '{shown(name, 120)}'; its names are {named}",
                "Name metrics as CloudWatch does, for example ReadThroughput.",
            )
        return True

    def _in_their_units(self, points: PointColumns) -> PointColumns:
        from plimsoll.sources.points.units import points_in_their_units

        checked, said = points_in_their_units(points, self._engine_of)
        self.done.unread += said
        return checked

    def _engine_of(self, name: str) -> str | None:
        if self._engines is None:
            known = self._lake.described(self.manifest).select("instance", "engine").rows()
            new = [(row["instance"], row["engine"]) for row in self._described]
            self._engines = {str(one).lower(): engine for one, engine in [*known, *new]}
        engine = self._engines.get(name.lower())
        return None if engine is None else str(engine)

    def _flush_stream(self) -> None:
        """Hand over the points of streams, so that points stay in the order of their files."""
        if self._points.count:
            self._parts.append(self._points.columns())
        self.done.bad_lines += self._points.bad_lines
        self.done.bad_points += self._points.bad_points
        self._points.restart()

    def _commit_if_full(self) -> None:
        if self._points.count + sum(map(len, self._parts)) >= self._points_a_commit:
            self._commit_pending()

    def _commit_pending(self) -> None:
        self._flush_stream()
        if not (self._pending or self._parts or self._described):
            return
        self._commit(PointColumns.of(self._parts), self._described, self._pending)
        self._parts, self._described, self._pending = [], [], {}

    def _commit(self, points: PointColumns, described: list[dict[str, object]], sources: dict[str, str]) -> None:
        import polars as pl

        from plimsoll.fleet.tables import DESCRIBED

        empty = pl.DataFrame(DESCRIBED.empty_table())
        about = pl.DataFrame(described, schema=empty.schema) if described else empty
        self.manifest = self._lake.commit(self.manifest, points, about, sources)
        self.done.point_count += len(points)
        self.done.described_count += len(described)

    def _add_others(self, files: list[tuple[str, str, int]]) -> None:
        """Read what is no metric stream as `diagnose` reads it, in a copy that has nothing else."""
        from plimsoll.app.lake.files import snapshot_points
        from plimsoll.sources.targets.many import read_all

        with tempfile.TemporaryDirectory(prefix="plimsoll-ingest-") as folder:
            for name, _, _ in files:
                copy = Path(folder) / (name or Path(self._source.root).name)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(self._source.read(name))
            described, naming = _descriptions(Path(folder), files)
            points: list[PointColumns] = []
            try:
                for found in read_all(Path(folder)):
                    if isinstance(found, UnreadInstance):
                        if found.identifier.lower() not in described:
                            self.done.unread.append(f"{found.identifier}: {found.reason}")
                        continue
                    name = found.instance.identifier
                    if name == UNNAMED:
                        self.done.unread.append("an export that does not name its instance")
                        continue
                    points.append(snapshot_points(found))
                    # An export without class and storage must not replace what is known of them.
                    if found.instance.db_class or found.instance.storage.kind:
                        row = _description(found, (found.window_s or (0, 0))[0])
                        described.setdefault(name.lower(), []).append(row)
            except (DataError, SourceError) as error:
                # Files of descriptions alone have no metrics, and need none.
                if len(naming) < len(files):
                    reason = error.message.replace(folder, self._source.url)
                    self.done.unread.append(f"{reason}. {error.hint}")
                    files = [file for file in files if file[0] in naming]
        whole = PointColumns.of(points)
        rows = [row for found in described.values() for row in found]
        if len(whole) or rows:
            sources = {f"{self._source.root}/{name}": state for name, state, _ in files}
            self._commit(whole, rows, sources)
            self.done.file_count += len(files)


def _descriptions(
    folder: Path, files: list[tuple[str, str, int]]
) -> tuple[dict[str, list[dict[str, object]]], set[str]]:
    """Return what answers of `describe-db-instances` say, by instance, valid from the time of their file, and these files."""
    from plimsoll.sources.export.read import read_bytes
    from plimsoll.sources.files.bytes import load
    from plimsoll.sources.reading.reading import Reading

    found: dict[str, list[dict[str, object]]] = {}
    naming: set[str] = set()
    for name, _, changed_ns in files:
        copy = folder / name if name else next(folder.iterdir())
        reading = Reading()
        try:
            if b"DBInstanceClass" not in copy.read_bytes()[:65_536]:
                continue
            read_bytes(load(copy), copy, reading)
        except (DataError, SourceError):
            continue  # named when everything is read
        if reading.described:
            naming.add(name)
        for instance in reading.described:
            snapshot = Snapshot(instance=instance, series={}, source=name, is_simulated=reading.simulated is not None)
            row = _description(snapshot, changed_ns // 1_000_000_000)
            found.setdefault(instance.identifier.lower(), []).append(row)
    return found, naming


def _description(snapshot: Snapshot, valid_from_s: int) -> dict[str, object]:
    instance = snapshot.instance
    return {
        "account": "",
        "region": instance.region or "",
        "instance": instance.identifier,
        "valid_from_s": valid_from_s,
        "valid_to_s": None,
        "db_class": instance.db_class,
        "engine": instance.engine,
        "storage": instance.storage.kind,
        "storage_gib": instance.storage.total_gib,
        "is_simulated": snapshot.is_simulated,
        "described": msgspec.json.encode(instance).decode(),
    }


def _described_row(found: "DescribedSince", source: str) -> dict[str, object]:
    snapshot = Snapshot(instance=found.instance, series={}, source=source, is_simulated=found.is_simulated)
    return _description(snapshot, found.valid_from_s) | {"account": found.account}


def _no_points() -> "StreamPoints":
    from plimsoll.sources.documents.stream_points import StreamPoints

    return StreamPoints()
