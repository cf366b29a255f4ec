"""sar's text as tests write it, and what they look up in a snapshot."""

from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Gap, Snapshot
from plimsoll.sources.sysstat.sar import parse_sar

NOON_S = 1_795_176_000  # 2026-11-20T12:00:00Z
DAY_S = 86_400
HEADER = "Linux 6.1.0 (db1) \t2026-11-20 \t_x86_64_\t(8 CPU)\n\n"
COLUMNS = "DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util"


def read(text: str, device: str | None = None) -> Snapshot:
    return parse_sar(text.encode(), where="capture", device=device)


def at(snapshot: Snapshot, metric: Metric) -> list[float]:
    return snapshot.series[metric].value.tolist()


def gaps(snapshot: Snapshot) -> dict[str, Gap]:
    return {gap.metric: gap for gap in snapshot.gaps}


def line(
    moment: str,
    tps: float = 100,
    read_kb: float = 1000,
    write_kb: float = 3000,
    *,
    discard_kb: float = 0,
    wait_ms: float = 25,
    device: str = "vda",
) -> str:
    size_kb = (read_kb + write_kb + discard_kb) / tps if tps else 0
    numbers = (tps, read_kb, write_kb, discard_kb, size_kb, tps * wait_ms / 1000, wait_ms, 1)
    return f"{moment} {device} {' '.join(f'{n:.2f}' for n in numbers)}\n"


def table(start: str, *lines: str, header: str = HEADER) -> str:
    return f"{header}{start} {COLUMNS}\n{''.join(lines)}"
