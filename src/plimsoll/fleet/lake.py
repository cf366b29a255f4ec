"""
The lake: points by date and bucket as sorted Parquet, descriptions, and one manifest that says what counts.

Rule 1: only files that the manifest names count. A commit writes new files, then replaces the manifest at
once. A process that is killed leaves files that no manifest names; the next ingest deletes them.
Rule 2: a point is there once. Of several with the same instance, metric and time the last one written wins:
the later ingest, within one ingest the later file by name, within a file the later line.
Rule 3: an instance is in one bucket, by a hash of account, region and identifier. So an engine that reads a
bucket has all points of its instances, without a shuffle.
"""

import fcntl
import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import polars as pl
import pyarrow as pa
from msgspec import Struct

from plimsoll.errors import DataError, SourceError, UsageError
from plimsoll.fleet.descriptions import Descriptions
from plimsoll.fleet.instance_points import are_apart, points_of
from plimsoll.fleet.parts import date_of, merged, parts_of, points_file
from plimsoll.fleet.place import LakePlace
from plimsoll.fleet.series_index import SeriesBlocks, add_file, add_table
from plimsoll.fleet.tables import DESCRIBED, INSTANCE_KEY, POINT_KEY
from plimsoll.model.points import PointColumns

FORM = "plimsoll.lake/1"
MANIFEST = "lake.json"
BUCKETS = 64
"""Default number of buckets: 10,000 instances are 156 to a bucket, which fits in memory for two weeks."""
# A judgement: a part that gets a few points every minute is written again as a whole only at every eighth
# commit, and a reader opens few files.
FILES_A_PART = 8


class Manifest(Struct, kw_only=True):
    """What counts in a lake."""

    form: str = FORM
    bucket_count: int = BUCKETS
    commit: int = 0
    """Number of commits so far."""
    files: dict[str, list[str]] = {}
    """Files of each part, `date=2026-11-12/bucket=0007`, as paths within the lake, the oldest first."""
    described: str | None = None
    """File of the descriptions."""
    sources: dict[str, str] = {}
    """Size and time of change of each file that was ingested, by its place."""


class Lake:
    """A lake on disk or on S3."""

    def __init__(self, place: LakePlace) -> None:
        """Open a lake; nothing is read yet."""
        self.place = place
        self._version: str | None = None
        """Of the manifest that was read or written last."""

    def manifest(self) -> Manifest:
        """
        Return what counts now.

        Raises:
            UsageError: there is no lake.
            DataError: its manifest is damaged, or of a newer version.
        """
        if not self.place.exists(MANIFEST):
            raise UsageError(f"'{self.place.url}' is not a lake", "Make one with 'plimsoll fleet ingest SOURCE LAKE'.")
        try:
            content, self._version = self.place.read_version(MANIFEST)
            found = msgspec.json.decode(content, type=Manifest)
        except msgspec.DecodeError as error:
            raise DataError(
                f"'{self.place.url}/{MANIFEST}' is damaged", "Restore it, or ingest into a new lake."
            ) from error
        if found.form != FORM:
            raise DataError(
                f"'{self.place.url}' has the form '{found.form[:40]}', but {FORM} is needed",
                "Use the version of Plimsoll that wrote it.",
            )
        return found

    def manifest_or_new(self, bucket_count: int | None) -> Manifest:
        """
        Return what counts now, or the manifest of a new lake.

        Args:
            bucket_count: of a new lake; None takes the default.

        Raises:
            UsageError: the lake has another number of buckets.
        """
        if not self.place.exists(MANIFEST):
            self._version = None
            return Manifest(bucket_count=bucket_count or BUCKETS)
        found = self.manifest()
        if bucket_count not in (None, found.bucket_count):
            raise UsageError(
                f"'{self.place.url}' has {found.bucket_count} buckets, and that cannot be changed",
                "Leave out --buckets, or ingest into a new lake.",
            )
        return found

    @contextmanager
    def locked(self) -> Iterator[None]:
        """
        Keep other ingests of this machine out while the block runs.

        On S3 there is no lock: of two commits that began with the same manifest, the second is refused.

        Raises:
            UsageError: another ingest is running.
        """
        if not self.place.is_local:
            yield
            return
        folder = Path(self.place.root)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = (folder / ".lock").open("w")
        except OSError as error:
            raise SourceError(
                f"unable to write '{self.place.url}': {error.strerror}", "Check its permissions."
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UsageError(f"another ingest is writing '{self.place.url}'", "Wait until it ends.") from error
            yield

    def delete_leftovers(self, manifest: Manifest) -> None:
        """
        Delete files of parts and descriptions that the manifest does not name.

        On S3 another ingest may be writing the files of its next commit, so those of commits to come stay.
        """
        kept = {*(name for names in manifest.files.values() for name in names), manifest.described}
        for name, _, _ in self._own_files():
            is_over = self.place.is_local or commit_of(name) <= manifest.commit
            if name not in kept and is_over:
                self.place.delete(name)

    def commit(
        self, manifest: Manifest, points: PointColumns, described: pl.DataFrame, sources: dict[str, str]
    ) -> Manifest:
        """
        Add points, descriptions and the names of their files in one step, and return the new manifest.

        A part gets one more file; when it has `FILES_A_PART`, they become one.

        Args:
            manifest: what counted until now; it is not changed.
            points: of equal keys the last one wins.
            described: columns of `tables.DESCRIBED` with `valid_to_s` not set.
            sources: as of the manifest, of the files that these rows are from.

        Raises:
            SourceError: the lake cannot be written, or another process wrote it in the meantime.
        """
        files = dict(manifest.files)
        number = manifest.commit + 1
        for part, rows in parts_of(points, manifest.bucket_count):
            old = files.get(part, [])
            kept, content = old, points_file(rows)
            if len(old) + 1 >= FILES_A_PART:
                frames = [self._frame(name) for name in old] + [pl.read_parquet(content.getvalue())]
                kept, content = [], points_file(merged(frames).to_arrow())
            files[part] = [*kept, self._written(f"points/{part}", number, content)]
        descriptions = manifest.described
        if described.height:
            old_rows = [self._frame(descriptions)] if descriptions else []
            whole = with_validity(pl.concat([*old_rows, described], how="vertical"))
            content = io.BytesIO()
            whole.write_parquet(content, compression="zstd", statistics=True)
            descriptions = self._written("described", number, content)
        after = Manifest(
            bucket_count=manifest.bucket_count,
            commit=number,
            files=dict(sorted(files.items())),
            described=descriptions,
            sources=dict(sorted({**manifest.sources, **sources}.items())),
        )
        written = msgspec.json.format(msgspec.json.encode(after), indent=1)
        self._version = self.place.replace(MANIFEST, written, version=self._version)
        return after

    def buckets(self, manifest: Manifest) -> list[int]:
        """Return the buckets that have points, in order."""
        return sorted({int(part.rsplit("=", 1)[1]) for part in manifest.files})

    def instances(
        self, manifest: Manifest, bucket: int, window_s: tuple[int, int] | None
    ) -> Iterator[tuple[pa.Table, pa.Table]]:
        """
        Yield points and descriptions of each instance of a bucket, instances of one class and storage together.

        Args:
            manifest: what counts.
            bucket: one of `buckets`.
            window_s: epoch seconds, [start, end); None takes all points.

        Raises:
            SourceError: a file cannot be read.
        """
        found: SeriesBlocks = {}
        for names in self._parts(manifest, bucket, window_s):
            for key, blocks in self._part_series(names).items():
                found.setdefault(key, []).extend(blocks)
        described = Descriptions(self.described(manifest), found)
        # Like follows like: what depends on class and storage alone is then computed once for many.
        for key in sorted(found, key=lambda key: (described.bought(key), key)):
            points = points_of(key, found.pop(key), window_s)
            if points is not None:
                yield points, described.about(key)

    def _part_series(self, names: list[str]) -> SeriesBlocks:
        """Return the series of one part, each point once."""
        part: SeriesBlocks = {}
        for name in names:
            with self.place.opened(name) as file:
                if not add_file(file, part):
                    break
        else:
            # A file has each point once.
            if len(names) == 1 or are_apart(part):
                return part
        # A file has no index, or a point may be there twice.
        part = {}
        add_table(_merged_rows([self.place.read(name) for name in names]), part)
        return part

    def _parts(self, manifest: Manifest, bucket: int, window_s: tuple[int, int] | None) -> Iterator[list[str]]:
        """Yield the files of each part of a bucket that a window may touch, by date."""
        dates = _dates(window_s)
        ending = f"/bucket={bucket:04d}"
        for part, names in sorted(manifest.files.items()):
            date = part.removeprefix("date=").removesuffix(ending)
            if part.endswith(ending) and dates[0] <= date <= dates[1]:
                yield names

    def part(self, manifest: Manifest, part: str) -> pa.Table:
        """
        Return all columns of a part, sorted, each point once.

        Args:
            manifest: what counts.
            part: a key of its files.

        Raises:
            SourceError: a file cannot be read.
        """
        return merged([self._frame(name) for name in manifest.files[part]]).to_arrow()

    def described(self, manifest: Manifest) -> pl.DataFrame:
        """
        Return all descriptions, by instance and time.

        Raises:
            SourceError: the file cannot be read.
        """
        if manifest.described is None:
            return pl.DataFrame(DESCRIBED.empty_table())
        return self._frame(manifest.described)

    def find(self, manifest: Manifest, name: str) -> list[tuple[tuple[str, str, str], int]]:
        """
        Return account, region and identifier of the instances with a name, each with its bucket.

        Raises:
            SourceError: a file cannot be read.
        """
        found: set[tuple[tuple[str, str, str], int]] = set()
        wanted = pl.col("instance").str.to_lowercase() == name.lower()
        for part, files in manifest.files.items():
            bucket = int(part.rsplit("=", 1)[1])
            for file in files:
                content = io.BytesIO(self.place.read(file))
                keys = pl.read_parquet(content, columns=list(INSTANCE_KEY)).filter(wanted).unique()
                found |= {((row[0], row[1], row[2]), bucket) for row in keys.iter_rows()}
        return sorted(found)

    def end_s(self, manifest: Manifest) -> int:
        """
        Return the start of the last point plus a minute, epoch seconds; 0 without points.

        Raises:
            SourceError: a file cannot be read.
        """
        last = max((part.split("/")[0] for part in manifest.files), default="")
        ends = [0]
        for part, files in manifest.files.items():
            for file in files if part.split("/")[0] == last else []:
                content = io.BytesIO(self.place.read(file))
                times = pl.read_parquet(content, columns=["time_s"])["time_s"]
                ends.append(int(str(times.max())) + 60)
        return max(ends)

    def _own_files(self) -> list[tuple[str, int, int]]:
        return [f for f in self.place.files(may_lack=True) if f[0].startswith(("points/", "described/"))]

    def _frame(self, name: str) -> pl.DataFrame:
        return pl.read_parquet(io.BytesIO(self.place.read(name)))

    def _written(self, folder: str, number: int, content: io.BytesIO) -> str:
        digest = hashlib.sha256(content.getbuffer()).hexdigest()[:16]
        # The number keeps a file that is written again apart from one that a reader may still have open.
        name = f"{folder}/{number:06d}-{digest}.parquet"
        self.place.write(name, content.getvalue())
        return name


def commit_of(name: str) -> int:
    """Return the number of the commit that a file of a lake was written for."""
    number = name.rsplit("/", 1)[-1].partition("-")[0]
    return int(number) if number.isdecimal() else 0


def with_validity(described: pl.DataFrame) -> pl.DataFrame:
    """
    Return descriptions sorted, without those that repeat the one before, each valid until the next.

    Of two with the same instance and time the last row wins.
    """
    keys = list(INSTANCE_KEY)
    once = described.unique(subset=[*keys, "valid_from_s"], keep="last", maintain_order=True)
    ordered = once.sort([*keys, "valid_from_s"])
    before = pl.col("described").shift(1).over(keys)
    changed = ordered.filter(before.is_null() | (before != pl.col("described")))
    return changed.with_columns(pl.col("valid_from_s").shift(-1).over(keys).alias("valid_to_s"))


def _merged_rows(contents: list[bytes]) -> pa.Table:
    """Return key, sum and count of the files of a part, sorted, each point once."""
    columns = [*POINT_KEY, "sum", "count"]
    frames = [pl.read_parquet(io.BytesIO(content), columns=columns) for content in contents]
    return merged(frames).to_arrow()


def _dates(window_s: tuple[int, int] | None) -> tuple[str, str]:
    if window_s is None:
        return "", "9"
    return date_of(window_s[0]), date_of(window_s[1])
