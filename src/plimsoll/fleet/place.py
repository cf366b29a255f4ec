"""Where a lake or its source lies: a folder of this machine, or a prefix of an S3 bucket (`s3://bucket/prefix`)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs

from plimsoll.errors import SourceError
from plimsoll.fleet.failures import failed

S3 = "s3://"


@dataclass(frozen=True, slots=True)
class LakePlace:
    """A folder or a file, on disk or on S3."""

    url: str
    """As given: a path, or `s3://bucket/prefix`."""

    @property
    def is_local(self) -> bool:
        """Return whether it is on this machine's disk."""
        return not self.url.startswith(S3)

    @property
    def root(self) -> str:
        """Return its path in the terms of its file system."""
        if self.is_local:
            return str(Path(self.url).absolute())
        return self.url.removeprefix(S3).rstrip("/")

    def files(self, *, may_lack: bool = False) -> list[tuple[str, int, int]]:
        """
        Return all files below it by path, relative to it, with size in bytes and time of change in nanoseconds.

        Of a place that is a file, an empty name. Hidden names, beginning with a dot, are left out.

        Args:
            may_lack: whether a place that does not exist has no files, instead of being an error.

        Raises:
            SourceError: it does not exist, or cannot be read.
        """
        system = self._system()
        try:
            info = system.get_file_info(self.root)
            if info.type == pyarrow.fs.FileType.NotFound:
                if may_lack:
                    return []
                raise SourceError(f"'{self.url}' does not exist", "Give a folder, or s3://bucket/prefix.")
            if info.type == pyarrow.fs.FileType.File:
                return [("", info.size, info.mtime_ns or 0)]
            selector = pyarrow.fs.FileSelector(self.root, recursive=True)
            found = [
                (one.path[len(self.root) :].lstrip("/"), one.size, one.mtime_ns or 0)
                for one in system.get_file_info(selector)
                if one.type == pyarrow.fs.FileType.File
            ]
        except OSError as error:
            raise failed("read", self.url, error) from error
        return sorted(f for f in found if not any(p.startswith(".") for p in f[0].split("/")))

    def exists(self, name: str) -> bool:
        """
        Return whether there is a file of this name below it.

        Raises:
            SourceError: the place cannot be read.
        """
        try:
            info = self._system().get_file_info(self._path(name))
        except OSError as error:
            raise failed("read", self.url, error) from error
        return bool(info.type == pyarrow.fs.FileType.File)

    def read(self, name: str) -> bytes:
        """
        Return the content of a file below it; of a place that is a file, with the name empty, its own.

        Raises:
            SourceError: it cannot be read.
        """
        try:
            with self._system().open_input_file(self._path(name)) as file:
                return bytes(file.read())
        except OSError as error:
            raise failed("read", f"{self.url}/{name}", error) from error

    @contextmanager
    def opened(self, name: str) -> Iterator[Any]:
        """
        Yield a file below it that is read in parts; on disk it is mapped into memory.

        Raises:
            SourceError: it cannot be read.
        """
        path = self._path(name)
        try:
            with pa.memory_map(path) if self.is_local else self._system().open_input_file(path) as file:
                yield file
        except OSError as error:
            raise failed("read", f"{self.url}/{name}", error) from error

    def write(self, name: str, content: bytes) -> None:
        """
        Write a file below it, whole or not at all.

        Raises:
            SourceError: it cannot be written.
        """
        system, path = self._system(), self._path(name)
        # S3 shows an object when it is complete; on disk a name of its own is renamed at the end.
        written = f"{path}.part" if self.is_local else path
        try:
            if self.is_local:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            with system.open_output_stream(written) as file:
                file.write(content)
            if self.is_local:
                Path(written).replace(path)
        except OSError as error:
            raise failed("write", f"{self.url}/{name}", error) from error

    def read_version(self, name: str) -> tuple[bytes, str]:
        """
        Return the content of a file below it, and what `replace` needs to know of it.

        Raises:
            SourceError: it cannot be read.
        """
        if self.is_local:
            return self.read(name), ""
        from plimsoll.fleet.conditional import read_version

        return read_version(self._path(name), self.url)

    def replace(self, name: str, content: bytes, *, version: str | None) -> str:
        """
        Write a file below it whole, on S3 only if nobody else did since, and return its new version.

        On disk nobody else is there: an ingest holds the lock of the lake.

        Args:
            name: of the file.
            content: of the file.
            version: as of `read_version`; None if there was no such file.

        Raises:
            SourceError: it cannot be written, or another process wrote it in the meantime.
        """
        if self.is_local:
            self.write(name, content)
            return ""
        from plimsoll.fleet.conditional import replace

        return replace(self._path(name), content, version, self.url)

    def delete(self, name: str) -> None:
        """
        Delete a file below it.

        Raises:
            SourceError: it cannot be deleted.
        """
        try:
            self._system().delete_file(self._path(name))
        except OSError as error:
            raise failed("delete", f"{self.url}/{name}", error) from error

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root

    def _system(self) -> Any:
        if self.is_local:
            return pyarrow.fs.LocalFileSystem()
        return pyarrow.fs.S3FileSystem(**_s3_options())


def _s3_options() -> dict[str, Any]:
    """Return options by the variables of AWS SDKs; keys are found by the SDK itself."""
    address = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    options: dict[str, Any] = {"region": region} if region else {}
    if address:
        scheme, _, host = address.partition("://")
        options |= {"endpoint_override": host.rstrip("/"), "scheme": scheme}
    return options
