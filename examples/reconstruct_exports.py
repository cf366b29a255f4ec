"""
Write simulated metrics in the forms in which people export them: the CloudWatch console, Grafana, iostat.

    python examples/reconstruct_exports.py [FOLDER]

The console's file and Grafana's have a day and six hours of the claims pipeline, as its example has them. The
capture of iostat is a made-up host whose volume includes 3,000 IOPS. All of it is simulated; equal seeds give equal
files.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot, cut
from plimsoll.model.snapshot_file.codec import decode_snapshot

FOLDER = Path(__file__).parent / "exports"
DAY_S = (1676332800, 1676419200)  # 2023-02-14
HOURS_S = (1676332800 + 3600, 1676332800 + 7 * 3600)
NAME = "simulated-claims"

# CloudWatch's name, ours, how many of CloudWatch's units are one of ours, digits after the point.
CONSOLE = (
    ("ReadThroughput", Metric.READ_BYTES_PER_S, 1, 0),
    ("WriteThroughput", Metric.WRITE_BYTES_PER_S, 1, 0),
    ("ReadIOPS", Metric.READ_OPS_PER_S, 1, 2),
    ("WriteIOPS", Metric.WRITE_OPS_PER_S, 1, 2),
    ("ReadLatency", Metric.READ_LATENCY_S, 1, 6),
    ("WriteLatency", Metric.WRITE_LATENCY_S, 1, 6),
    ("DiskQueueDepth", Metric.QUEUE_DEPTH, 1, 3),
    ("EBSByteBalance%", Metric.BYTE_BALANCE_RATIO, 100, 1),
    ("EBSIOBalance%", Metric.IO_BALANCE_RATIO, 100, 1),
    ("BurstBalance", Metric.VOLUME_BALANCE_RATIO, 100, 1),
)
# As Grafana's units "bytes/sec (SI)", "I/O ops/sec" and "seconds" print them.
GRAFANA = (
    ("ReadThroughput", Metric.READ_BYTES_PER_S, 1e-6, "MB/s"),
    ("WriteThroughput", Metric.WRITE_BYTES_PER_S, 1e-6, "MB/s"),
    ("ReadIOPS", Metric.READ_OPS_PER_S, 1, "io/s"),
    ("WriteIOPS", Metric.WRITE_OPS_PER_S, 1, "io/s"),
    ("ReadLatency", Metric.READ_LATENCY_S, 1e3, "ms"),
    ("WriteLatency", Metric.WRITE_LATENCY_S, 1e3, "ms"),
    ("DiskQueueDepth", Metric.QUEUE_DEPTH, 1, ""),
)
_CALM_S, _BUSY_S = 60, 120
_FIRST_S = 1676390400  # 2023-02-14 16:00
_IOSTAT_HEAD = (
    "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await "
    "wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util"
)


def console_csv(snapshot: Snapshot) -> str:
    """Return a day as 'Actions, Download as .csv' of the CloudWatch console writes it, at one minute."""
    day = cut(snapshot, DAY_S)
    names = [name for name, *_ in CONSOLE]
    lines = ["Full label," + ",".join(f"{NAME} {name}" for name in names)]
    lines.append("Label," + ",".join(names))
    columns = []
    for _, metric, factor, digits in CONSOLE:
        series = day.series[metric]
        columns.append(
            {
                int(time_s): f"{value * factor:.{digits}f}"
                for time_s, value in zip(series.time_s, series.value, strict=True)
            }
        )
    for time_s in range(*DAY_S, 60):
        at = datetime.fromtimestamp(time_s, UTC).strftime("%Y/%m/%d %H:%M:%S")
        lines.append(",".join([at, *(column.get(time_s, "") for column in columns)]))
    return "\n".join(lines) + "\n"


def grafana_csv(snapshot: Snapshot) -> str:
    """Return six hours as 'Inspect, Data, Download CSV' of Grafana writes them, with formatted values."""
    hours = cut(snapshot, HOURS_S)
    titles = ("Time", *(f"{NAME} {name}" for name, *_ in GRAFANA))
    lines = [",".join(f'"{title}"' for title in titles)]
    for number, time_s in enumerate(range(*HOURS_S, 60)):
        cells = [datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d %H:%M:%S")]
        for _, metric, factor, unit in GRAFANA:
            cells.append(f"{hours.series[metric].value[number] * factor:.3g} {unit}".strip())
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def iostat_text() -> str:
    """Return a minute of light load and two minutes at 3,000 IOPS, as `iostat -x -t -k 1` prints them."""
    rng = np.random.default_rng(8)
    lines = ["Linux 6.1.0 (simulated-host) \t2023-02-14 \t_x86_64_\t(4 CPU)", ""]
    for second in range(_CALM_S + _BUSY_S + 1):
        is_calm = second <= _CALM_S
        ops = rng.normal(1100, 120) if is_calm else rng.normal(3000, 4)
        reads = ops * rng.uniform(0.68, 0.74)
        writes = ops - reads
        read_kb, write_kb = rng.normal(9.5, 0.8), rng.normal(14, 2)
        wait_ms = rng.normal(0.7, 0.05) if is_calm else rng.normal(21, 3)
        idle = rng.normal(88, 1) if is_calm else rng.normal(64, 2)
        at = datetime.fromtimestamp(_FIRST_S + second, UTC).strftime("%Y-%m-%dT%H:%M:%S+0000")
        lines += [
            at,
            "avg-cpu:  %user   %nice %system %iowait  %steal   %idle",
            f"        {9:8.2f}{0:8.2f}{3:8.2f}{88 - idle if idle < 88 else 0:8.2f}{0:8.2f}{idle:8.2f}",
            "",
            _IOSTAT_HEAD,
            _device_line(reads, writes, read_kb, write_kb, wait_ms, 41 if is_calm else 100),
            "",
            "",
        ]
    return "\n".join(lines) + "\n"


def _device_line(reads: float, writes: float, read_kb: float, write_kb: float, wait_ms: float, busy: float) -> str:
    none = f"{0:8.2f} {0:6.2f}"
    return (
        f"nvme1n1     {reads:9.2f} {reads * read_kb:9.2f} {none} {wait_ms:7.2f} {read_kb:8.2f} "
        f"{writes:7.2f} {writes * write_kb:9.2f} {none} {wait_ms * 1.1:7.2f} {write_kb:8.2f} "
        f"{0:7.2f} {0:9.2f} {none} {0:7.2f} {0:8.2f} {0:7.2f} {0:7.2f} "
        f"{(reads + writes * 1.1) * wait_ms / 1e3:7.2f} {busy:6.2f}"
    )


def made() -> dict[str, str]:
    """Return the text of each file by its name."""
    source = Path(__file__).parent / "claims-pipeline" / "snapshot.json"
    snapshot = decode_snapshot(source.read_bytes())
    return {"console.csv": console_csv(snapshot), "grafana.csv": grafana_csv(snapshot), "iostat.txt": iostat_text()}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in made().items():
        (folder / name).write_text(text, encoding="utf-8")
        print(f"{folder / name}: {len(text) / 1e3:,.0f} kB")


if __name__ == "__main__":
    main()
