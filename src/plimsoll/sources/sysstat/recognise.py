"""Recognise captures of iostat, sar and sadf by their content."""

from collections.abc import Callable

from msgspec.structs import replace

from plimsoll.errors import DataError
from plimsoll.model.snapshot import Snapshot
from plimsoll.sources.files.bytes import HEAD_BYTES
from plimsoll.sources.sysstat.iostat import is_iostat, parse_iostat
from plimsoll.sources.sysstat.sadf import is_sysstat_file, json_of_file, name_gap
from plimsoll.sources.sysstat.sadf_json import capture_of_json, is_sadf_json
from plimsoll.sources.sysstat.sar import parse_sar, refuse_step, snapshot_of
from plimsoll.sources.sysstat.sar_text import is_sar_text

_PACKED = {b"\xfd7zXZ\x00": "xz -dc", b"BZh": "bzip2 -dc", b"\x28\xb5\x2f\xfd": "zstd -dc"}


def is_host_capture(data: bytes) -> bool:
    """Return whether a file is a capture of a host, or compressed as sysstat compresses old files."""
    head = data[:HEAD_BYTES]
    return head.startswith(tuple(_PACKED)) or _reader_of(head) is not None


def parse_capture(data: bytes, *, where: str, device: str | None = None, step_s: int | None = None) -> Snapshot:
    """
    Return the snapshot of a capture.

    Args:
        data: the file's content, unpacked.
        where: name of the capture in messages.
        device: names of devices separated by commas, whose rates are added; None or `auto` takes
            the busiest.
        step_s: length of a step, for a capture of iostat without times.

    Raises:
        DataError: not a capture, or a capture without usable data.
        SourceError: a binary file, but sadf is not installed.
        UsageError: a device is not in it, or a step was given for a capture with times.
    """
    head = data[:HEAD_BYTES]
    read = _reader_of(head)
    if read is None:
        for magic, program in _PACKED.items():
            if head.startswith(magic):
                raise DataError(f"{where} is compressed", f"Decompress it: '{program} FILE | plimsoll diagnose -'.")
        raise DataError(
            f"{where} is not a capture of iostat, sar or sadf",
            "For exports and snapshots use 'plimsoll record TARGET' or 'plimsoll diagnose TARGET'.",
        )
    return read(data, where=where, device=device, step_s=step_s)


def _reader_of(head: bytes) -> Callable[..., Snapshot] | None:
    if is_sysstat_file(head):
        return _parse_binary
    if is_iostat(head):
        return parse_iostat
    if is_sadf_json(head) or is_sar_text(head):
        return parse_sar
    return None


def _parse_binary(data: bytes, *, where: str, device: str | None, step_s: int | None) -> Snapshot:
    refuse_step(step_s, where)
    answer, complaint = json_of_file(data, where)
    capture = capture_of_json(answer, where)
    snapshot = snapshot_of(capture, where, device)
    gaps = [gap for gap in (complaint, name_gap(capture.host)) if gap is not None]
    return replace(snapshot, gaps=(*snapshot.gaps, *gaps))
