"""
Make a snapshot of samples of sar: its text, sadf's JSON, or a binary file read by sadf.

Rule 1: sar counts reads and writes of a device together, so their sum is measured. If the host's totals
        (`sar -b`) equal those of the used devices, they separate reads and writes. Otherwise operations are
        divided in proportion to bytes: then reads and writes have the same size, so the division does not
        change what EBS counts (one I/O for each 256 KiB in either direction), and the sum stays the measured one.
Rule 2: the single wait of a device is used for reads and for writes; its mean weighted by operations is
        the measured one for any division.
Rule 3: since sysstat 12.2 the sum includes discards, which are neither reads nor writes. If they could be
        more than 2 % of it, operations and waits are unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan

import numpy as np

from plimsoll.errors import DataError, UsageError
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.model.snapshot import Annotation, EventKind, Gap, Snapshot
from plimsoll.sources.sysstat.capture import (
    CUT,
    ROUNDED,
    choose_devices,
    is_one_step,
    series_of,
    time_gaps,
    usual_length_s,
)
from plimsoll.sources.sysstat.moments import ABSENT, HOW, IoLine, Moment, SarCapture
from plimsoll.sources.sysstat.sadf_json import capture_of_json
from plimsoll.sources.sysstat.sar_text import capture_of_text
from plimsoll.sources.values.shown import counted

# Judgements: sar prints two decimals, and reads its totals slightly before or after the devices.
_SAME_RATIO = 0.02
_SAME_OPS_PER_S = 0.05
_SAME_BYTES_PER_S = 2048.0

# A file system discards whole blocks, nearly always of 4 KiB, so the discarded bytes divided by 4 KiB are
# the largest possible number of discards.
_DISCARD_BYTES_MIN = 4096.0
_DISCARDS_RATIO = 0.02

_LEVELS = {
    Metric.CPU_RATIO: "-u",
    Metric.FREEABLE_MEMORY_BYTES: "-r",
    Metric.SWAP_BYTES: "-S",
    Metric.LOAD_AVERAGE: "-q",
    Metric.NETWORK_RECEIVE_BYTES_PER_S: "-n DEV",
    Metric.NETWORK_TRANSMIT_BYTES_PER_S: "-n DEV",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Disks:
    """Sums over the used devices; shape (n,) each, NaN if one was missing."""

    ops_per_s: FloatArray
    read_bytes_per_s: FloatArray
    write_bytes_per_s: FloatArray
    discard_bytes_per_s: FloatArray
    wait_s: FloatArray
    queue_depth: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Split:
    """Operations split into reads and writes, shape (n,) each."""

    read_ops_per_s: FloatArray
    write_ops_per_s: FloatArray
    is_measured: BoolArray
    """Whether the host's totals split them; otherwise they are split in proportion to bytes."""
    is_unknown: BoolArray
    """Whether discards hide the operations."""
    is_wait_unknown: BoolArray
    """Whether the wait includes that of discards."""


def parse_sar(data: bytes, *, where: str, device: str | None = None, step_s: int | None = None) -> Snapshot:
    """
    Return the snapshot of output of sar or sadf.

    Args:
        data: sar's text, or `sadf -j`'s JSON, possibly several runs one after another.
        where: name of the capture in messages.
        device: names of devices in it, separated by commas, whose rates are added; None or `auto`
            takes the busiest.
        step_s: must be None, because sar's samples have times.

    Raises:
        DataError: not from sar, without disks, or without a whole step.
        UsageError: a device is not in it, or a step was given.
    """
    refuse_step(step_s, where)
    is_json = data.lstrip().startswith(b"{")
    capture = capture_of_json(data, where) if is_json else capture_of_text(data, where)
    return snapshot_of(capture, where, device)


def refuse_step(step_s: int | None, where: str) -> None:
    """
    Refuse a step length for samples that have times.

    Raises:
        UsageError: one was given.
    """
    if step_s is not None:
        raise UsageError(f"the samples of {where} have times", "Leave out --every.")


def snapshot_of(capture: SarCapture, where: str, device: str | None = None) -> Snapshot:
    """
    Return the snapshot of a capture.

    Raises:
        DataError: without disks, or without a whole step.
        UsageError: a device is not in it.
    """
    with_disks = [moment for moment in capture.moments if moment.disks]
    if not with_disks:
        raise DataError(f"{where} has no sample of disks", HOW)
    step_s = usual_length_s([moment.length_s for moment in with_disks])
    if step_s is None:
        raise DataError(f"{where} does not state the length of any step", HOW)
    moments = [moment for moment in with_disks if is_one_step(moment.length_s, step_s)]
    devices = choose_devices(_moved(moments), device, where)
    disks = _added_up(moments, devices.names)
    if np.isnan(disks.read_bytes_per_s).all():
        raise DataError(f"{where} has no rates of reads and writes for {devices.label}", HOW)
    split = _split(disks, [moment.io for moment in moments])
    columns = _columns(disks, split, moments)
    series = series_of(columns, [moment.end_s - step_s for moment in moments], step_s)
    return Snapshot(
        instance=Instance(
            identifier=capture.host or "host",
            vcpu_count=capture.cpu_count,
            storage=Storage(volume_count=devices.volume_count),
        ),
        series=series,
        source=f"{capture.program} output {where}, {devices.label}",
        note=f"Taken from {capture.program} output about {devices.label} in steps of {step_s} s.",
        gaps=(
            *time_gaps(
                has_zone=capture.has_zone,
                is_ambiguous=capture.is_ambiguous,
                remedy="Give the output of 'sadf -j', whose times are UTC.",
            ),
            *_gaps(capture, lost=len(with_disks) - len(moments)),
            *_split_gaps(split, disks),
            *_level_gaps(columns),
        ),
        annotations=tuple(
            Annotation(time_s=moment_s, text="Linux booted", kind=EventKind.RESTART) for moment_s in capture.restarts_s
        ),
    )


def _moved(moments: list[Moment]) -> dict[str, float]:
    total: dict[str, float] = {}
    for moment in moments:
        for name, line in moment.disks.items():
            moved = np.nan_to_num([line.read_bytes_per_s, line.write_bytes_per_s])
            total[name] = total.get(name, 0.0) + float(moved.sum())
    return total


def _added_up(moments: list[Moment], names: tuple[str, ...]) -> _Disks:
    table = np.array(
        [[moment.disks.get(name, ABSENT) for name in names] for moment in moments], dtype=np.float64
    )  # shape (moments, devices, 6)
    ops, wait_s = table[:, :, 0], table[:, :, 4]
    total = table.sum(axis=1)
    with np.errstate(all="ignore"):
        # sar prints 0.00 if there was no operation, which is not a wait of zero.
        wait = np.where(ops > 0, ops * wait_s, 0.0).sum(axis=1) / total[:, 0]
    return _Disks(
        ops_per_s=total[:, 0],
        read_bytes_per_s=total[:, 1],
        write_bytes_per_s=total[:, 2],
        discard_bytes_per_s=total[:, 3],
        wait_s=np.where(total[:, 0] > 0, wait, nan),
        queue_depth=total[:, 5],
    )


def _split(disks: _Disks, lines: list[IoLine | None]) -> _Split:
    """Split operations into reads and writes, by the rules above."""
    unknown = IoLine(nan, nan, nan, nan, nan)
    host = np.array([line or unknown for line in lines], dtype=np.float64)
    ops, read_ops, write_ops, read_bytes, write_bytes = host.T
    is_measured = (
        _same(ops, disks.ops_per_s, _SAME_OPS_PER_S)
        & _same(read_bytes, disks.read_bytes_per_s, _SAME_BYTES_PER_S)
        & _same(write_bytes, disks.write_bytes_per_s, _SAME_BYTES_PER_S)
        & np.isfinite(read_ops + write_ops)
    )
    moved = disks.read_bytes_per_s + disks.write_bytes_per_s
    with np.errstate(all="ignore"):
        # A request without bytes is a flush, which counts as a write.
        reads = np.where(moved > 0, disks.read_bytes_per_s / moved, moved * 0.0)
        scale = np.where(ops > 0, disks.ops_per_s / ops, 1.0)
        discards_max = disks.discard_bytes_per_s / _DISCARD_BYTES_MIN
        is_unknown = ~is_measured & (discards_max > _DISCARDS_RATIO * disks.ops_per_s)
        has_discards = is_measured & (ops - read_ops - write_ops > _DISCARDS_RATIO * ops)
    total = np.where(is_unknown, nan, disks.ops_per_s)
    return _Split(
        read_ops_per_s=np.where(is_measured, read_ops * scale, total * reads),
        write_ops_per_s=np.where(is_measured, write_ops * scale, total * (1 - reads)),
        is_measured=is_measured,
        is_unknown=is_unknown,
        is_wait_unknown=is_unknown | has_discards,
    )


def _same(host: FloatArray, devices: FloatArray, within: float) -> BoolArray:
    same: BoolArray = np.abs(host - devices) <= within + _SAME_RATIO * host
    return same


def _columns(disks: _Disks, split: _Split, moments: list[Moment]) -> dict[Metric, FloatArray]:
    wait_s = np.where(split.is_wait_unknown, nan, disks.wait_s)
    columns = {
        Metric.READ_BYTES_PER_S: disks.read_bytes_per_s,
        Metric.WRITE_BYTES_PER_S: disks.write_bytes_per_s,
        Metric.READ_OPS_PER_S: split.read_ops_per_s,
        Metric.WRITE_OPS_PER_S: split.write_ops_per_s,
        Metric.READ_LATENCY_S: np.where(split.read_ops_per_s > 0, wait_s, nan),
        Metric.WRITE_LATENCY_S: np.where(split.write_ops_per_s > 0, wait_s, nan),
        Metric.QUEUE_DEPTH: disks.queue_depth,
    }
    for metric in _LEVELS:
        columns[metric] = np.array([moment.levels.get(metric, nan) for moment in moments], dtype=np.float64)
    return columns


def _gaps(capture: SarCapture, lost: int) -> list[Gap]:
    gaps = [CUT] if capture.is_cut else []
    gaps += [ROUNDED] if capture.is_rounded else []
    if lost:
        gaps.append(
            Gap(
                metric=f"{capture.program} samples",
                reason=f"{counted(lost, 'sample')} left out: not of the usual step length",
                remedy="Give samples of one step length: one run, or files of one collector.",
            )
        )
    if capture.repeated:
        gaps.append(
            Gap(
                metric=f"{capture.program} samples",
                reason=f"{counted(capture.repeated, 'sample')} left out: their times were already "
                "read (a file given twice, or a clock set back)",
                remedy="Give each file once; 'sadf -j' has UTC times, which no daylight saving repeats.",
            )
        )
    return gaps


def _split_gaps(split: _Split, disks: _Disks) -> list[Gap]:
    steps = disks.ops_per_s.size
    is_known = np.isfinite(disks.ops_per_s)
    divided = int((is_known & ~split.is_measured & ~split.is_unknown).sum())
    hidden = int((is_known & split.is_unknown).sum())
    gaps = []
    if divided:
        gaps.append(
            Gap(
                metric="read_ops_per_s, write_ops_per_s",
                reason=f"sar counts reads and writes of a device together; in {divided} of "
                f"{counted(steps, 'step')} their sum was divided in proportion to bytes",
                remedy="Capture with 'iostat -x -t', or add 'sar -b' where one disk does all the work.",
            )
        )
    if hidden:
        gaps.append(
            Gap(
                metric="read_ops_per_s, write_ops_per_s",
                reason=f"in {hidden} of {counted(steps, 'step')} they include discards",
                remedy="Capture with 'iostat -x -t', or add 'sar -b' where one disk does all the work.",
            )
        )
    gaps.append(
        Gap(
            metric="read_latency_s, write_latency_s",
            reason="sar has one wait for reads and writes together, which is used for both",
            remedy="Capture with 'iostat -x -t', which separates them.",
        )
    )
    return gaps


def _level_gaps(columns: Mapping[Metric, FloatArray]) -> list[Gap]:
    absent = [m for m in _LEVELS if np.isnan(columns[m]).all()]
    gaps = []
    if absent:
        options = " ".join(dict.fromkeys(_LEVELS[metric] for metric in absent))
        gaps.append(
            Gap(
                metric=", ".join(metric.value for metric in absent),
                reason="this output does not have it",
                remedy=f"Add {options} to the options of sar or sadf, or use -A.",
            )
        )
    return gaps
