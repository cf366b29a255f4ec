"""
Read a capture of `iostat -x -t`, which any Linux host with sysstat can make.

Rule 1: the first report of a run covers the time since boot (iostat(1)), so it is not a sample. A capture
        does not show whether `-y` omitted it, so the first report is always dropped.
Rule 2: a report covers the step that ends at its time.
Rule 3: the rates of several devices are added; a report without one of them has no sum.
"""

from collections.abc import Sequence
from math import nan

import numpy as np

from plimsoll.errors import DataError, UsageError
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Gap, Snapshot
from plimsoll.sources.sysstat.capture import (
    CUT,
    FIRST_LINES,
    ROUNDED,
    Devices,
    choose_devices,
    header_of,
    is_one_step,
    series_of,
    time_gaps,
    usual_length_s,
)
from plimsoll.sources.sysstat.dates import midnight_s, order_of
from plimsoll.sources.sysstat.iostat_reports import (
    HOW,
    IostatCapture,
    IostatReport,
    Moments,
    moments_of,
    reports_of_json,
    reports_of_text,
)
from plimsoll.sources.values.shown import counted

Row = dict[str, float]

# Units with -k, with -m, and in sectors; iostat's kB is 1,024 bytes, its MB 1,024², a sector 512 (iostat(1)).
_BYTES = {"kB/s": 1024.0, "MB/s": 1024.0**2, "sec/s": 512.0}
_QUEUES = ("aqu-sz", "avgqu-sz")
ASSUMED_STEP_S = 1
"""
Step of a capture without times; a judgement, because people type `iostat -x 1`. Rates are means of a step of
any length, so a wrong step changes only durations in the report.
"""
_DISK_METRICS = (
    Metric.READ_BYTES_PER_S,
    Metric.WRITE_BYTES_PER_S,
    Metric.READ_OPS_PER_S,
    Metric.WRITE_OPS_PER_S,
    Metric.READ_LATENCY_S,
    Metric.WRITE_LATENCY_S,
    Metric.QUEUE_DEPTH,
)


def is_iostat(text_head: bytes) -> bool:
    """Return whether the first bytes of a file are an iostat capture, as text or JSON."""
    head = text_head.lstrip()
    if head.startswith(b"{"):
        # `sadf -j` also has "sysstat", but with the date of its file or its version.
        is_sadf = b'"file-date"' in head or b'"sysdata-version"' in head
        return b'"sysstat"' in head and b'"number-of-cpus"' in head and not is_sadf
    lines = head.decode(errors="replace").splitlines()
    # A copy from a terminal may lack the first line, but not the heads of the tables.
    if any(_has_extended_columns(line.split()) for line in lines):
        return True
    return any(header_of(line) for line in lines[:FIRST_LINES]) and any(
        line.startswith(("avg-cpu:", "Device")) or line.endswith(" Device") for line in lines
    )


def _has_extended_columns(words: list[str]) -> bool:
    """Return whether these words are the head of a table of `iostat -x`."""
    is_head = bool(words) and (words[0] in {"Device", "Device:"} or words[-1] == "Device")
    return is_head and {"r/s", "w/s"} <= set(words)


def parse_iostat(data: bytes, *, where: str, device: str | None = None, step_s: int | None = None) -> Snapshot:
    """
    Return the snapshot of a capture.

    Args:
        data: text of `iostat -x -t -k 1` (also -m), or of `iostat -x -t -o JSON 1`.
        where: names the capture in messages.
        device: names of devices in it, separated by commas, whose rates are added; None or `auto`
            takes the busiest.
        step_s: length of a step of a capture without times; None takes a second. Its steps are counted
            from midnight of its date.

    Raises:
        DataError: not a capture, without -x, or with times for some reports only.
        UsageError: a device is not in it, or a step was given for a capture with times.
    """
    capture = reports_of_json(data, where) if data.lstrip().startswith(b"{") else reports_of_text(data)
    reports = [report for report in capture.reports if report.disks]
    _refuse(reports, where)
    is_timed = any(report.stamp is not None for report in reports)
    if is_timed and step_s is not None:
        raise UsageError(f"the reports of {where} have times", "Leave out --every.")
    moments = _moments(reports, where) if is_timed else _in_a_row(len(reports), capture, step_s or ASSUMED_STEP_S)
    usual_s = usual_length_s(np.diff(np.array(moments.time_s, dtype=np.int64)).tolist())
    samples = _samples(reports, moments, usual_s) if usual_s is not None else []
    if usual_s is None or not samples:
        raise DataError(f"{where} has no report after the one since boot", HOW)
    devices = _devices([report for _, report in samples], device, where)
    series = _series(samples, devices.names, usual_s)
    if Metric.READ_BYTES_PER_S not in series:
        raise DataError(f"{where} has no rates of reads and writes for {devices.label}", HOW)
    return Snapshot(
        instance=Instance(
            identifier=capture.host or "host",
            vcpu_count=capture.cpu_count,
            storage=Storage(volume_count=devices.volume_count),
        ),
        series=series,
        source=f"iostat capture {where}, {devices.label}",
        note=f"Taken from an iostat capture of {devices.label} in steps of {usual_s} s.",
        gaps=(
            *_time_gaps(moments, is_timed=is_timed, is_assumed=not is_timed and step_s is None),
            *_gaps(capture, len(samples), series),
            *_wait_gaps(samples, devices.names),
        ),
    )


def _refuse(reports: list[IostatReport], where: str) -> None:
    if not reports:
        raise DataError(f"{where} has no device report of iostat", HOW)
    if not any("r/s" in row for report in reports for row in report.disks.values()):
        raise DataError(f"{where} was captured without -x, so it does not separate reads and writes", HOW)


def _moments(reports: list[IostatReport], where: str) -> Moments:
    if any(report.stamp is None for report in reports):
        raise DataError(f"{where} mixes captures: only some of its reports have times", HOW)
    return moments_of([report.stamp or "" for report in reports], where)


def _in_a_row(count: int, capture: IostatCapture, step_s: int) -> Moments:
    """Return times for reports without any: one step after the other, from midnight on."""
    start_s, is_ambiguous = 0, False
    if capture.date is not None:
        order, is_ambiguous = order_of([capture.date], has_halves=False)
        try:
            start_s = midnight_s(capture.date, order)
        except ValueError:
            is_ambiguous = False
    time_s = [start_s + at * step_s for at in range(count)]
    return Moments(time_s=time_s, has_zone=True, is_ambiguous=is_ambiguous)


def _samples(reports: list[IostatReport], moments: Moments, step_s: int) -> list[tuple[int, IostatReport]]:
    """Return the reports that cover one step, each with the start of its step."""
    samples: list[tuple[int, IostatReport]] = []
    last_s: int | None = None
    for time_s, report in zip(moments.time_s, reports, strict=True):
        is_step = (
            last_s is not None
            and not report.is_since_boot
            and is_one_step(time_s - last_s, step_s)
            and (not samples or time_s - step_s > samples[-1][0])
        )
        if is_step:
            samples.append((time_s - step_s, report))
        last_s = time_s if last_s is None else max(time_s, last_s)
    return samples


def _devices(reports: list[IostatReport], asked: str | None, where: str) -> Devices:
    total: dict[str, float] = {}
    for report in reports:
        for name, row in report.disks.items():
            moved = np.nan_to_num([_bytes(row, "r"), _bytes(row, "w")])
            total[name] = total.get(name, 0.0) + float(moved.sum())
    return choose_devices(total, asked, where)


def _bytes(row: Row, side: str) -> float:
    for unit, size in _BYTES.items():
        if side + unit in row:
            return row[side + unit] * size
    return nan


def _wait_s(row: Row, side: str) -> float:
    """Return the mean wait; before sysstat 9.1.2 reads and writes share one."""
    return row.get(f"{side}_await", row.get("await", nan)) / 1000


def _queue(row: Row) -> float:
    return next((row[name] for name in _QUEUES if name in row), nan)


def _cpu(cpu: Row) -> float:
    return min(max(1 - (cpu.get("idle", nan) + cpu.get("iowait", nan)) / 100, 0.0), 1.0)


def _disk_values(rows: Sequence[Row | None]) -> tuple[float, ...]:
    """Return the seven values of `_DISK_METRICS` for all devices; a missing device is None."""
    if any(row is None for row in rows):
        return (nan,) * len(_DISK_METRICS)
    there = [row for row in rows if row is not None]
    ops = {side: [row.get(f"{side}/s", nan) for row in there] for side in "rw"}

    def latency(side: str) -> float:
        # Without an operation there is no latency, although iostat prints 0.00.
        done = [(n, _wait_s(row, side)) for n, row in zip(ops[side], there, strict=True) if n > 0]
        return sum(n * wait for n, wait in done) / sum(n for n, _ in done) if done else nan

    return (
        sum(_bytes(row, "r") for row in there),
        sum(_bytes(row, "w") for row in there),
        sum(ops["r"]),
        sum(ops["w"]),
        latency("r"),
        latency("w"),
        sum(_queue(row) for row in there),
    )


def _series(samples: list[tuple[int, IostatReport]], names: tuple[str, ...], step_s: int) -> dict[Metric, Series]:
    table = np.array(
        [_disk_values([report.disks.get(name) for name in names]) for _, report in samples], dtype=np.float64
    )
    columns = {metric: table[:, at] for at, metric in enumerate(_DISK_METRICS)}
    columns[Metric.CPU_RATIO] = np.array(
        [_cpu(report.cpu) if report.cpu else nan for _, report in samples], dtype=np.float64
    )
    return series_of(columns, [start_s for start_s, _ in samples], step_s)


def _time_gaps(moments: Moments, *, is_timed: bool, is_assumed: bool) -> list[Gap]:
    gaps = time_gaps(
        has_zone=moments.has_zone, is_ambiguous=moments.is_ambiguous, remedy="Capture with S_TIME_FORMAT=ISO."
    )
    if not is_timed:
        gaps.append(
            Gap(
                metric="times",
                reason="the capture has none (no -t); steps are counted from midnight of its first "
                "day, so times of day have no meaning",
                remedy="Capture with -t.",
            )
        )
    if is_assumed:
        gaps.append(
            Gap(
                metric="length of a step",
                reason=f"the capture does not state it; {ASSUMED_STEP_S} s is assumed",
                remedy="Give it with 'plimsoll record host --from FILE --every 5s', or capture with -t.",
            )
        )
    return gaps


def _gaps(capture: IostatCapture, samples: int, series: dict[Metric, Series]) -> list[Gap]:
    gaps = [CUT] if capture.is_cut else []
    gaps += [ROUNDED] if capture.is_rounded else []
    lost = len([r for r in capture.reports if not r.is_since_boot]) - samples
    if lost > 0:
        gaps.append(
            Gap(
                metric="iostat reports",
                reason=f"{counted(lost, 'report')} left out: not one step after the previous one",
                remedy="Capture in one run of iostat.",
            )
        )
    if Metric.CPU_RATIO not in series:
        gaps.append(
            Gap(
                metric=Metric.CPU_RATIO.value, reason="the capture has no processor times", remedy="Capture without -d."
            )
        )
    return gaps


def _wait_gaps(samples: list[tuple[int, IostatReport]], names: tuple[str, ...]) -> list[Gap]:
    rows = [report.disks[name] for _, report in samples for name in names if name in report.disks]
    if any("r_await" in row for row in rows) or not any("await" in row for row in rows):
        return []
    return [
        Gap(
            metric="read_latency_s, write_latency_s",
            reason="this version of iostat has one wait for reads and writes together",
            remedy="Capture with sysstat 9.1.2 or later, which separates them.",
        )
    ]
