"""
A capture of `iostat -x -t` as a snapshot: any Linux host can make one, with nothing of ours on it.

Rule 1: the first report of a run is about the time since boot, so it is not a sample. Nothing in a
        capture says whether `-y` left it out; dropping one more step is the safe side.
Rule 2: a report is about the step that ends at its time.
"""

from collections.abc import Callable
from math import nan
from pathlib import Path

import numpy as np

from plimsoll.errors import DataError, UsageError
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Gap, Snapshot
from plimsoll.sources.file_bytes import load
from plimsoll.sources.iostat_reports import (
    HOW,
    Capture,
    Moments,
    Report,
    moments_of,
    reports_of_json,
    reports_of_text,
)

Row = dict[str, float]

# -k, -m and neither, and the names before sysstat 12; iostat's kB is 1024 bytes, its MB 1024².
_BYTES = {"kB/s": 1024.0, "MB/s": 1024.0**2, "sec/s": 512.0}
_QUEUES = ("aqu-sz", "avgqu-sz")

_NOT_DISKS = ("loop", "ram", "zram", "sr", "fd")


def is_iostat(text_head: bytes) -> bool:
    """Whether a file that begins so is an iostat capture, as text or JSON."""
    head = text_head.lstrip()
    if head.startswith(b"{"):
        # `sadf -j` has "sysstat" too, and says its own version first.
        return b'"sysstat"' in head and b'"number-of-cpus"' in head and b"sysdata" not in head
    first = head.split(b"\n", 1)[0]
    return (
        first.startswith(b"Linux ")
        and first.rstrip().endswith(b" CPU)")
        and any(word in head for word in (b"avg-cpu:", b"\nDevice"))
    )


def read_iostat(path: Path, device: str | None = None) -> Snapshot:
    """
    The snapshot of a capture.

    Args:
        path: text of `iostat -x -t -k 1` (also -m, also compressed), or `iostat -x -t -o JSON 1`.
        device: name of a device in it; None takes the busiest.

    Raises:
        DataError: not a capture, without times, or without -x.
        UsageError: the device is not in it.
        SourceError: the file cannot be read.
    """
    return parse_iostat(load(path), where=f"'{path}'", device=device)


def parse_iostat(data: bytes, *, where: str, device: str | None = None) -> Snapshot:
    """
    The snapshot of a capture's bytes; `where` names it in messages.

    Raises:
        DataError: not a capture, without times, or without -x.
        UsageError: the device is not in it.
    """
    if data.lstrip().startswith(b"{"):
        capture = reports_of_json(data, where)
    else:
        capture = reports_of_text(data.decode(errors="replace"))
    reports = [report for report in capture.reports if report.disks]
    _refuse(reports, where)
    moments = moments_of([report.stamp or "" for report in reports], where)
    step_s = _step_s(moments, where)
    samples = _samples(reports, moments, step_s)
    if not samples:
        raise DataError(f"{where} holds no report after the one since boot", HOW)
    name, others = _device([report for _, report in samples], device, where)
    rows = [(time_s, report.disks.get(name, {}), report.cpu) for time_s, report in samples]
    series = _series(rows, step_s)
    if Metric.READ_BYTES_PER_S not in series:
        raise DataError(f"{where} has no rates of reads and writes for '{name}'", HOW)
    busiest = f" (busiest of {len(others) + 1})" if others and device is None else ""
    return Snapshot(
        instance=Instance(
            identifier=capture.host or "host",
            vcpu_count=capture.cpu_count,
            storage=Storage(volume_count=1),
        ),
        series=series,
        source=f"iostat capture {where}, device {name}{busiest}",
        note=f"Taken from an iostat capture of device {name}{busiest} in steps of {step_s} s.",
        gaps=_gaps(capture, moments, len(samples), series),
    )


def _refuse(reports: list[Report], where: str) -> None:
    if not reports:
        raise DataError(f"{where} holds no report of devices by iostat", HOW)
    if not any("r/s" in row for report in reports for row in report.disks.values()):
        raise DataError(
            f"{where} was captured without -x: reads and writes are not told apart", HOW
        )
    if any(report.stamp is None for report in reports):
        raise DataError(f"{where} was captured without -t: its reports have no times", HOW)


def _step_s(moments: Moments, where: str) -> int:
    steps = np.diff(np.array(moments.time_s, dtype=np.int64))
    steps = steps[steps > 0]
    if not steps.size:
        raise DataError(f"{where} holds no report after the one since boot", HOW)
    return int(np.median(steps))


def _samples(reports: list[Report], moments: Moments, step_s: int) -> list[tuple[int, Report]]:
    """Start of the step and report, for those that are about one step."""
    samples: list[tuple[int, Report]] = []
    last_s: int | None = None
    for time_s, report in zip(moments.time_s, reports, strict=True):
        is_step = (
            last_s is not None
            and not report.is_since_boot
            # Times are whole seconds, so a step may look one second longer than it is; a report
            # about much more than a step (the machine slept) is not a sample of one.
            and 0 < time_s - last_s <= step_s + max(1, step_s // 2)
        )
        if is_step and (not samples or time_s - step_s > samples[-1][0]):
            samples.append((time_s - step_s, report))
        last_s = time_s if last_s is None else max(time_s, last_s)
    return samples


def _device(reports: list[Report], device: str | None, where: str) -> tuple[str, list[str]]:
    """The device to take, and the names of the others that could have been."""
    total: dict[str, float] = {}
    for report in reports:
        for name, row in report.disks.items():
            moved = np.nan_to_num([_bytes(row, "r"), _bytes(row, "w")])
            total[name] = total.get(name, 0.0) + float(moved.sum())
    if device is not None:
        name = device.removeprefix("/dev/")
        if name not in total:
            raise UsageError(
                f"device '{name}' is not in {where}", f"It has {', '.join(sorted(total))}."
            )
        return name, [other for other in total if other != name]
    disks = [n for n in total if not n.startswith(_NOT_DISKS) and not _is_partition(n, total)]
    disks = disks or list(total)
    # What is stacked on a disk (dm-0, md0) moves the same bytes; the disk itself wins a tie.
    name = max(disks, key=lambda n: (total[n], not n.startswith(("dm-", "md")), n))
    return name, [other for other in disks if other != name]


def _is_partition(name: str, names: dict[str, float]) -> bool:
    stem = name.rstrip("0123456789")
    return stem != name and (stem in names or (stem.endswith("p") and stem[:-1] in names))


def _bytes(row: Row, side: str) -> float:
    for unit, size in _BYTES.items():
        if side + unit in row:
            return row[side + unit] * size
    return nan


def _latency(row: Row, side: str) -> float:
    # Without an operation there is no latency; iostat prints 0.00 then.
    return row.get(f"{side}_await", nan) / 1000 if row.get(f"{side}/s", nan) > 0 else nan


def _queue(row: Row) -> float:
    return next((row[name] for name in _QUEUES if name in row), nan)


def _cpu(cpu: Row) -> float:
    return 1 - (cpu.get("idle", nan) + cpu.get("iowait", nan)) / 100


def _series(rows: list[tuple[int, Row, Row]], step_s: int) -> dict[Metric, Series]:
    of_disk: dict[Metric, Callable[[Row], float]] = {
        Metric.READ_BYTES_PER_S: lambda row: _bytes(row, "r"),
        Metric.WRITE_BYTES_PER_S: lambda row: _bytes(row, "w"),
        Metric.READ_OPS_PER_S: lambda row: row.get("r/s", nan),
        Metric.WRITE_OPS_PER_S: lambda row: row.get("w/s", nan),
        Metric.READ_LATENCY_S: lambda row: _latency(row, "r"),
        Metric.WRITE_LATENCY_S: lambda row: _latency(row, "w"),
        Metric.QUEUE_DEPTH: _queue,
    }
    values = {metric: [read(disk) for _, disk, _ in rows] for metric, read in of_disk.items()}
    values[Metric.CPU_RATIO] = [min(max(_cpu(cpu), 0.0), 1.0) if cpu else nan for *_, cpu in rows]
    time_s = np.array([time_s for time_s, _, _ in rows], dtype=np.int64)
    return {
        metric: Series(
            metric=metric, step_s=step_s, time_s=time_s, value=np.array(numbers, dtype=np.float64)
        )
        for metric, numbers in values.items()
        if not np.isnan(numbers).all()
    }


def _gaps(
    capture: Capture, moments: Moments, samples: int, series: dict[Metric, Series]
) -> tuple[Gap, ...]:
    gaps = []
    if not moments.has_zone:
        gaps.append(
            Gap(
                metric="time zone",
                reason="the capture does not say it; its times are taken as UTC",
                remedy="Capture with S_TIME_FORMAT=ISO.",
            )
        )
    if moments.is_ambiguous:
        gaps.append(
            Gap(
                metric="date",
                reason="day and month could be the other way round; the month is taken as first",
                remedy="Capture with S_TIME_FORMAT=ISO.",
            )
        )
    lost = len([r for r in capture.reports if not r.is_since_boot]) - samples
    if lost > 0:
        gaps.append(
            Gap(
                metric="iostat reports",
                reason=f"{lost} reports are not about one step after the report before",
                remedy="Capture in one run of iostat.",
            )
        )
    if Metric.CPU_RATIO not in series:
        gaps.append(
            Gap(
                metric=Metric.CPU_RATIO.value,
                reason="the capture has no processor times",
                remedy="Capture without -d.",
            )
        )
    return tuple(gaps)
