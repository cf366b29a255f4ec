"""
Read fifty simulated instances from a double of AWS with the real command, and time it.

    python bench/live_aws.py [--require] [--instances 50] [--days 3]

The double is a moto server in its own process, filled with simulated incidents at one minute.
`plimsoll diagnose 'rds:*'` runs against it over HTTP as a separate process. Printed are its wall and CPU
time, its peak memory, the double's own time, and the requests that arrived, with those computed and those
that the command reports. With --require the exit status is 1 if a promise is broken.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "tests"))

from msgspec import Struct

from fixtures.aws import simulated
from fixtures.aws.double import Double, environment
from fixtures.aws.holdings import hold, write
from fixtures.aws.proxy import Proxy
from incidents import build
from plimsoll.app.read import ec2_type_of
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.sources.aws.metric_data import WANTED

WALL_S = 120.0
PEAK_MB = 500.0
DAY_S = 86400
MINUTE_S = 60
# At the instance's baseline after its burst, at the volumes' operations, at no ceiling, and so on.
FAMILIES = (
    "burst_exhausted_throughput", "gp3_iops", "quiet_diurnal", "burst_exhausted_iops",
    "gp2_credits_single", "cpu_bound", "provisioned_iops", "near_limit", "volume_throughput",
    "spikes",
)  # fmt: skip


class Run(Struct, kw_only=True):
    """Hold the results and the cost of one run of the command."""

    status: int
    stdout: str
    stderr: str
    wall_s: float
    cpu_s: float
    peak_mb: float


def simulated_fleet(count: int, days: int, end_s: int) -> list[Snapshot]:
    """Generate so many simulated incidents, one minute apart, repeated for that many days."""
    found: list[Snapshot] = []
    seed = 1
    while len(found) < count:
        family = FAMILIES[len(found) % len(FAMILIES)]
        snapshot = build.generate(seed, family=family).snapshot
        seed += 1
        if snapshot.series[Metric.READ_BYTES_PER_S].step_s != MINUTE_S:
            continue
        name = f"simulated-{len(found):02d}-{family.replace('_', '-')}"
        whole = simulated.repeated(snapshot, days * DAY_S)
        found.append(simulated.moved(whole, end_s, identifier=name, hours=24 * days))
    return found


def measured(command: list[str], variables: dict[str, str], folder: Path) -> Run:
    """
    Run a command to its end.

    Peak memory is the kernel's own high-water mark of the process (proc(5), VmHWM), read until it ends:
    the value of wait4 for a child starts from the size of its parent.
    """
    begin = time.perf_counter()
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen(command, env=variables, cwd=folder, stdout=out, stderr=err)
        peak = _Peak(process.pid)
        _, raw, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(raw)
    return Run(
        status=process.returncode,
        stdout=(folder / "out").read_text(),
        stderr=(folder / "err").read_text(),
        wall_s=wall,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_mb=peak.stop(),
    )


class _Peak:
    """Watch the memory of one process."""

    def __init__(self, pid: int) -> None:
        self._status = Path(f"/proc/{pid}/status")
        self._kib = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(0.02):
            try:
                found = re.search(r"VmHWM:\s+(\d+)", self._status.read_text())
            except OSError:
                return
            self._kib = max(self._kib, int(found[1]) if found else 0)

    def stop(self) -> float:
        """Megabytes."""
        self._ended.set()
        self._thread.join()
        return self._kib * 1024 / 1e6


def main() -> int:
    """Return exit status 0, or 1 with --require and a broken promise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--require", action="store_true", help="exit with 1 if a promise is broken")
    parser.add_argument("--instances", type=int, default=50)
    parser.add_argument("--days", type=int, default=3)
    wanted = parser.parse_args()
    end_s = simulated.recent_end_s()
    with tempfile.TemporaryDirectory(prefix="plimsoll-live-aws-") as place:
        folder = Path(place)
        fleet = simulated_fleet(wanted.instances, wanted.days, end_s)
        held = write(folder, [hold(folder, snapshot) for snapshot in fleet])
        begin = time.perf_counter()
        with Double(held) as double, Proxy(double.port) as proxy:
            filled_s, spent_s = time.perf_counter() - begin, double.spent_s()
            start_s = end_s - wanted.days * DAY_S
            command = [
                *(sys.executable, "-m", "plimsoll", "diagnose", "rds:*", "--format", "json"),
                *("--from", _iso(start_s), "--to", _iso(end_s)),
            ]
            run = measured(command, environment(proxy.url, folder), folder)
            spent_s = double.spent_s() - spent_s
            arrived = proxy.counts()
    return _report(wanted, fleet, run, (filled_s, spent_s), arrived)


def _iso(time_s: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time_s))


def _report(
    wanted: argparse.Namespace, fleet: list[Snapshot], run: Run, double_s: tuple[float, float], arrived: dict[str, int]
) -> int:
    samples = sum(series.time_s.size for s in fleet for series in s.series.values())
    overview = _decoded(run)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {sys.version.split()[0]}")
    print(f"{len(fleet)} simulated instances, {wanted.days} d at 60 s, {samples:,} samples")
    print(f"double filled and started in {double_s[0]:.1f} s; answering cost it {double_s[1]:.1f} s of CPU")
    kept = [
        _print_check("wall time", f"{run.wall_s:.1f} s", run.wall_s <= WALL_S, f"≤ {WALL_S:.0f} s"),
        _print_check("peak memory", f"{run.peak_mb:.0f} MB", run.peak_mb <= PEAK_MB, f"≤ {PEAK_MB:.0f} MB"),
    ]
    print(f"{'CPU of the command':22} {run.cpu_s:.1f} s")
    rows, unread = len(overview.get("rows", ())), len(overview.get("unread", ()))
    kept.append(_print_check("diagnosed", f"{rows}", rows == len(fleet) and not unread, f"all {len(fleet)}"))
    planned = computed(fleet, wanted.days)
    reported = {c["action"]: c["count"] for c in (overview.get("usage") or {}).get("calls", ())}
    total = sum(arrived.values())
    kept.append(_print_check("requests", f"{total} {arrived}", total == planned, f"{planned}, as computed"))
    kept.append(_print_check("reported", str(reported), reported == arrived, "as arrived"))
    if run.status not in {0, 1}:
        print(f"exit status {run.status}\n{run.stderr[-2000:]}")
    return 1 if wanted.require and not all(kept) else 0


def computed(fleet: list[Snapshot], days: int) -> int:
    """
    Compute the number of requests: a page of 100 instances, 100,800 points of metrics, 100 types, and
    the events of each instance.
    """
    points = days * DAY_S // MINUTE_S
    queries_a_call = min(500, 100_800 // points)
    types = {ec2_type_of(s.instance.db_class or "") for s in fleet} - {None}
    pages = (-(-len(fleet) // 100), -(-len(fleet) * len(WANTED) // queries_a_call), -(-len(types) // 100), len(fleet))
    return sum(pages)


def _decoded(run: Run) -> dict[str, Any]:
    try:
        return json.loads(run.stdout)
    except json.JSONDecodeError:
        return {}


def _print_check(what: str, value: str, holds: bool, promise: str) -> bool:
    print(f"{what:22} {value}   promised {promise}: {'kept' if holds else 'BROKEN'}")
    return holds


if __name__ == "__main__":
    sys.exit(main())
