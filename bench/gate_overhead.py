"""
Measure the cost of a gate without limits: PostgreSQL and fio behind it and directly on the same disk.

    python bench/gate_overhead.py [--require] [--rounds 5] [--seconds 6] [--scale 40] [--only TEXT]

Both arms are on the same disk. The rounds alternate which arm is first, and the figure is the median of
the rounds' ratios, so other load on this machine affects both. PostgreSQL 18 has a data set of at least
four times its buffers, and both servers really flush. fio bypasses the page cache; behind the gate the
cache of the disk below remains. It is emptied before each run, and no block is read twice, so all reads
come from the disk. fio in memory shows the gate's own cost without a disk; nothing is promised for it.
With --require the exit status is 1 if a promise is broken.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "tests"))

from live.gate_machine import quick_folder
from plimsoll.kernel import Stage
from plimsoll.model.instance import Instance
from plimsoll.units import MIB
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.gate.place import disk_folder
from plimsoll_lab.load.dataset import LOADING, Dataset, fill
from plimsoll_lab.servers.postgres import Postgres

SHARED_BUFFERS_BYTES = 128 * MIB
# The default of `plimsoll lab postgres`.
CLIENTS = 16
FIO_BYTES = 2048 * MIB
MEMORY_BYTES = 256 * MIB

POSTGRES_LEAST, FIO_LEAST = 0.80, 0.70

SERVING = {
    "shared_buffers": f"{SHARED_BUFFERS_BYTES // MIB}MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "1h",
    "autovacuum": "off",
}

_TPS = re.compile(r"^tps = ([0-9.]+)", re.MULTILINE)

# Only a name: limits are off.
_NOTHING = Stage(name="none", baseline=1e12, burst=1e12, counts="bytes")

Measure = Callable[[], float]
Pair = tuple[Measure, Measure]
"""Measure natively, and behind the gate."""


def main() -> int:
    """Return exit status 0, or 1 with --require and a broken promise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--scale", type=int, default=40)
    parser.add_argument("--only", default="", help="only work whose name contains this text")
    given = parser.parse_args()
    print(
        f"{platform.platform()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; "
        f"{given.rounds} rounds of {given.seconds:g} s"
    )
    with ExitStack() as stack:
        works = _works(stack, given.scale, given.seconds)
        works = {name: work for name, work in works.items() if given.only in name}
        ratios: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
        for number in range(given.rounds):
            for name, ((native, gated), _) in works.items():
                if number % 2:
                    behind, beside = gated(), native()
                else:
                    beside, behind = native(), gated()
                ratios[name].append((beside, behind))
    print(f"{'work':<46} {'native':>12} {'gate':>12} {'ratio':>7}  {'rounds':<24} promised")
    kept = [_row(name, ratios[name], least) for name, (_, least) in works.items()]
    return 1 if given.require and not all(kept) else 0


def _row(name: str, found: list[tuple[float, float]], least: float | None) -> bool:
    each = sorted(behind / beside for beside, behind in found)
    ratio = statistics.median(each)
    holds = least is None or ratio >= least
    beside = statistics.median(pair[0] for pair in found)
    behind = statistics.median(pair[1] for pair in found)
    promise = "-" if least is None else f"≥ {least:.0%}: {'kept' if holds else 'BROKEN'}"
    rounds = " ".join(f"{one:.0%}" for one in each)
    print(f"{name:<46} {beside:>12,.0f} {behind:>12,.0f} {ratio:>7.0%}  {rounds:<24} {promise}")
    return holds


class Arm:
    """Run work in a folder whose files are at another path on the real disk."""

    def __init__(self, folder: Path, backing: Path, fio_bytes: int) -> None:
        """Write a file for fio there."""
        self.folder, self._backing, self._fio_bytes = folder, backing / "table", fio_bytes
        self._is_on_disk = fio_bytes == FIO_BYTES
        with self._backing.open("wb") as file:
            for _ in range(fio_bytes // MIB):
                file.write(os.urandom(MIB))
            os.fsync(file.fileno())

    def fio(self, pattern: str, size_kib: int, seconds: float) -> float:
        """Return requests per second, 16 in flight, past the page cache above and with none below."""
        is_once = self._is_on_disk and "read" in pattern
        span = () if is_once else ("--norandommap", "--time_based")
        handle = os.open(self._backing, os.O_RDONLY)
        # Otherwise dirty data would stay, and be written out during the measurement.
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)
        done = subprocess.run(
            [
                *("fio", "--name=overhead", f"--filename={self.folder / 'table'}", "--thread"),
                *(f"--rw={pattern}", f"--bs={size_kib}k", "--iodepth=16", "--ioengine=libaio"),
                *("--direct=1", f"--size={self._fio_bytes}", *span, "--randrepeat=0"),
                *(f"--runtime={seconds}s", "--output-format=json"),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
        return float(job["read"]["iops"] + job["write"]["iops"])


def _works(stack: ExitStack, scale: int, seconds: float) -> dict[str, tuple[Pair, float | None]]:
    """Return each measurement for both arms, with the promised share of the native figure."""
    disk = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=disk_folder())))
    disk.chmod(0o711)
    arms = _arms(stack, disk, FIO_BYTES)
    beside, behind = _servers(stack, arms, scale)
    works: dict[str, tuple[Pair, float | None]] = {}
    for name in ("select-only", "tpcb-like"):
        pair = _pgbench(beside, name, seconds), _pgbench(behind, name, seconds)
        works[f"pgbench {name}, transactions/s"] = (pair, POSTGRES_LEAST)
    memory = _arms(stack, stack.enter_context(quick_folder()), MEMORY_BYTES)
    for (native, gated), place, least in ((arms, "disk", FIO_LEAST), (memory, "memory", None)):
        for pattern, size_kib in (("randread", 8), ("randwrite", 8), ("read", 128), ("write", 128)):
            asked = (pattern, size_kib, seconds)
            pair = partial(native.fio, *asked), partial(gated.fio, *asked)
            works[f"fio {pattern} {size_kib} kB in {place}, requests/s"] = (pair, least)
    return works


def _arms(stack: ExitStack, place: Path, fio_bytes: int) -> tuple[Arm, Arm]:
    """Return a plain folder, and one behind a gate without limits."""
    for name in ("beside", "data"):
        (place / name).mkdir()
    instance = Instance(identifier="overhead")
    setup = GateSetup(instance=instance, stages=(_NOTHING,), is_limited=False)
    gate = stack.enter_context(Gate(setup, place / "data", place / "behind"))
    native = Arm(place / "beside", place / "beside", fio_bytes)
    return native, Arm(gate.mount, gate.backing, fio_bytes)


def _servers(stack: ExitStack, arms: tuple[Arm, Arm], scale: int) -> tuple[Postgres, Postgres]:
    """Return two servers of the same database, filled once and copied."""
    native, gated = (arm.folder / "database" for arm in arms)
    with Postgres(LOADING, data_directory=native) as loading:
        fill(loading, Dataset(kind="pgbench", scale=scale))
        loading.run("psql", "-XAtc", "checkpoint")
    subprocess.run(["cp", "-a", str(native), str(gated)], check=True)
    size = sum(path.stat().st_size for path in (native / "base").rglob("*") if path.is_file())
    print(f"data set {size / MIB:,.0f} MiB, {size / SHARED_BUFFERS_BYTES:.1f} times shared_buffers")
    beside, behind = (loading.relocated(place, SERVING) for place in (native, gated))
    return stack.enter_context(beside), stack.enter_context(behind)


def _pgbench(server: Postgres, name: str, seconds: float) -> Measure:
    """Return transactions per second of the clients."""

    def measure() -> float:
        server.run("psql", "-XAtc", "checkpoint")
        output = server.run(
            *("pgbench", "-n", "-M", "prepared", "-b", name, "-c", str(CLIENTS)),
            *("-j", str(min(CLIENTS, os.cpu_count() or 1)), "-T", str(round(seconds))),
        )
        found = _TPS.search(output)
        if found is None:
            raise RuntimeError(f"pgbench printed no rate: {output}")
        return float(found[1])

    return measure


if __name__ == "__main__":
    sys.exit(main())
