"""
Use a mounted gate as an arm: fio sends requests, and both fio and the gate's record count them.

The data is in memory, so that the emulated disk is never faster than the real one. A run that this
machine disturbed can be distinguished from a wrong one: the gate reports when the disk below was late, and
for which share of the time its limits throttled requests. If the host stops for longer than the slack, or
sends requests too slowly, nothing is throttled in that time.
"""

import json
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from conformance.flows import DEPTH, Case, Load, Served
from live.gate_machine import quick_folder
from plimsoll.kernel import Stage
from plimsoll.model.instance import Instance
from plimsoll.units import KIB, MIB
from plimsoll_lab.gate.config import GateSetup, Latency, chain_document, has_credits
from plimsoll_lab.gate.control import GateControl
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.gate.record import RecordLine, truth_of
from programs import ran

FILE_BYTES = 512 * MIB
CACHE_BYTES = 64 * MIB
"""The page cache is smaller than the file, so repeated reads come from the disk again."""

# Short, so that the limits decide and not the latency: 128 kB at 593.75 MB/s follow each other in 0.2 ms.
LATENCY = Latency(read_s=0.0001, write_s=0.0001)
CLOCK = 60.0
RAMP_S = 1.0
PART_MS = 250
PARTS_MIN = 4
BOUND_RATIO_MIN = 0.99

# Programs that use the page cache, each with one request at a time: a few streams with readahead and
# writeback keep a disk busy; random requests come one from each program.
_STREAMS, _SEEKERS = 4, 2 * DEPTH


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Hold the result of a case."""

    served: Served
    """Counted by fio if it accesses the disk directly, by the gate if a page cache is between."""
    recorded: Served
    """Counted in the gate's record."""
    latency_s: float | None
    """Mean latency; None with a page cache."""
    late_ratio: float
    """Share 0–1 of operations for which the real disk was slower than the emulated one."""
    bound_ratio: float
    """Share 0–1 of the time in which a limit throttled requests."""
    is_late: bool
    """Whether the gate itself marks the run as void."""
    stall_ratio: float
    """Longest delay of a reply after it was due, as a share of the time."""

    @property
    def is_held(self) -> bool:
        """
        Return whether a limit throttled requests nearly all the time.

        If not, and too little was served, then demand was too low: the host stood still for longer than
        the slack, or writers waited for their page cache.
        """
        return self.bound_ratio >= BOUND_RATIO_MIN

    @property
    def depth(self) -> float | None:
        """Return the requests in flight by Little's law: rate times latency."""
        return None if self.latency_s is None else self.served.ops_per_s * self.latency_s


@dataclass(frozen=True, kw_only=True)
class Side:
    """Hold the result of a load in one direction, as fio counted it."""

    name: str
    """`read` or `write`."""
    ops_per_s: float
    bytes_per_s: float
    latency_s: float
    """Mean latency."""


class Rig:
    """Mount one gate for all cases; each case sets its own chain."""

    def __init__(self, *, clock: float = CLOCK, file_bytes: int = FILE_BYTES) -> None:
        """Set the credit clock; nothing is mounted yet."""
        self._clock, self._file_bytes = clock, file_bytes
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Mount."""
        with ExitStack() as stack:
            folder = stack.enter_context(quick_folder())
            (folder / "data").mkdir()
            with (folder / "data" / "table").open("wb") as file:
                for _ in range(self._file_bytes // MIB):
                    file.write(b"plimsoll" * (MIB // 8))
            setup = GateSetup(
                instance=Instance(identifier="accuracy"),
                stages=(Stage(name="none", baseline=1e12, burst=1e12, counts="bytes"),),
                clock=self._clock,
                memory_bytes=CACHE_BYTES,
                latency=LATENCY,
            )
            self.gate = stack.enter_context(Gate(setup, folder / "data", folder / "disk"))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Unmount, and remove the files."""
        self._stack.close()

    @property
    def table(self) -> Path:
        """Return the file behind the limits."""
        return self.gate.mount / "table"

    def limit(self, chain: Sequence[Stage], *, balance_ratio: float = 0.0) -> None:
        """Replace the limits, with this share of their credits."""
        GateControl(self.gate.folder).ask(
            {
                "ask": "set",
                "chain": chain_document(tuple(chain)),
                "balance_ratio": [balance_ratio if has_credits(s) else 1.0 for s in chain],
            }
        )

    def measure(self, case: Case, *, seconds: float) -> Measured:
        """Run the load for that long, after a second in which queues form and the slack is used up."""
        self.limit(case.chain)
        began_s = time.time()
        (sides,) = self.fio([case.load], seconds=seconds)
        return _measured(case, sides, self.window(began_s, seconds))

    def fio(self, loads: Sequence[Load], *, seconds: float) -> list[list[Side]]:
        """Run fio with these loads in parallel; return the result of each."""
        with tempfile.TemporaryDirectory(prefix="plimsoll-fio-") as folder:
            argv = ["fio", "--output-format=json"]
            for number, load in enumerate(loads):
                argv += [f"--name=load{number}", f"--filename={self.table}", *_arguments(load)]
                argv += [f"--size={self._file_bytes // _parts(load)}", "--new_group"]
                argv += [f"--ramp_time={RAMP_S}s", f"--runtime={seconds}s", "--time_based"]
                argv += [f"--write_bw_log={folder}/load{number}", "--per_job_logs=0"]
                argv += [f"--bwavgtime={PART_MS}", f"--log_avg_msec={PART_MS}"]
            done = ran(argv, timeout=300)
            if done.returncode:
                raise RuntimeError(f"fio failed: {done.stderr or done.stdout}")
            jobs = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
            logs = [Path(folder, f"load{number}_bw.log") for number in range(len(loads))]
            return [
                _sides(job, load.size_bytes, log.read_text()) for job, load, log in zip(jobs, loads, logs, strict=True)
            ]

    def window(self, began_s: float, seconds: float) -> list[RecordLine]:
        """Return lines of the record that are wholly in the time for which fio counted."""
        lines = [line for line in self.gate.lines() if line.t >= began_s]
        first = next(line for line in lines if line.read_ops + line.write_ops > 0)
        # The load began somewhere within the first line with requests.
        from_s, to_s = first.t + RAMP_S, first.t - first.dt + RAMP_S + seconds
        slip_s = 0.01 * first.dt
        return [x for x in lines if x.t - x.dt >= from_s - slip_s and x.t <= to_s + slip_s]


def _programs(load: Load) -> int:
    if load.is_direct:
        return 1
    return _STREAMS if load.pattern == "sequential" else _SEEKERS


def _parts(load: Load) -> int:
    """Return into how many parts the file is divided: sequential programs have one each."""
    return _programs(load) if load.pattern == "sequential" else 1


def _arguments(load: Load) -> list[str]:
    words = {
        ("random", "read"): "randread",
        ("random", "write"): "randwrite",
        ("random", "mixed"): "randrw",
        ("sequential", "read"): "read",
        ("sequential", "write"): "write",
        ("sequential", "mixed"): "rw",
    }
    shared = [
        f"--rw={words[load.pattern, load.direction]}",
        f"--bs={load.size_bytes // KIB}k",
        *("--thread", "--group_reporting", "--norandommap", "--randrepeat=0", "--overwrite=1"),
    ]
    if load.is_direct:
        return [*shared, "--direct=1", "--ioengine=libaio", f"--iodepth={load.depth}"]
    parts = _parts(load)
    return [
        *(*shared, "--direct=0", "--ioengine=psync", f"--numjobs={_programs(load)}"),
        f"--offset_increment={100 // parts if parts > 1 else 0}%",
    ]


def _measured(case: Case, sides: Sequence[Side], lines: Sequence[RecordLine]) -> Measured:
    truth = truth_of(lines)
    bound = truth.bound_s()
    binds = next((name for name, _ in bound), None)
    moved = sum(line.read_bytes + line.write_bytes for line in lines) / truth.length_s
    counted = sum(line.read_ops + line.write_ops for line in lines) / truth.length_s
    load = case.load
    # Large requests are several operations of a device. With a page cache between, the requests that reach
    # the gate have other sizes.
    ops_per_s = moved / load.size_bytes if load.is_direct else counted
    recorded = Served(ops_per_s=ops_per_s, bytes_per_s=moved, binds=binds)
    asked = served_in(sides, binds)
    latency_s = sum(side.latency_s * side.ops_per_s for side in sides) / asked.ops_per_s
    return Measured(
        served=asked if load.is_direct else recorded,
        recorded=recorded,
        latency_s=latency_s if load.is_direct else None,
        late_ratio=truth.late_ratio,
        bound_ratio=sum(bound.values()) / truth.length_s,
        is_late=truth.is_void,
        stall_ratio=max(line.stall_s_max for line in lines) / truth.length_s,
    )


def served_in(sides: Sequence[Side], binds: str | None = None) -> Served:
    """Return the result of several loads together."""
    return Served(
        ops_per_s=sum(side.ops_per_s for side in sides),
        bytes_per_s=sum(side.bytes_per_s for side in sides),
        binds=binds,
    )


def _sides(job: dict[str, Any], size_bytes: int, log: str) -> list[Side]:
    """
    Return the result of a job of fio in each direction.

    Its totals may or may not include the requests left at the end. Its log has the mean rates of parts of
    the run: milliseconds at their end, KiB/s, direction, and more.
    """
    rows = [[float(field) for field in line.split(",")[:3]] for line in log.splitlines()]
    found = []
    for number, side in enumerate(("read", "write")):
        parts = [(ended_ms, rate) for ended_ms, rate, direction in rows if direction == number]
        if len(parts) < PARTS_MIN or not job[side]["total_ios"]:
            continue
        # Parts are longer if the host stood still; the log does not say when the first one began.
        (began_ms, _), (ended_ms, _) = parts[0], parts[-1]
        lengths_ms = [to[0] - since[0] for since, to in pairwise(parts)]
        moved = sum(rate * ms for (_, rate), ms in zip(parts[1:], lengths_ms, strict=True))
        rate = moved * KIB / (ended_ms - began_ms)
        waited_s = job[side]["lat_ns"]["mean"] / 1e9
        found.append(Side(bytes_per_s=rate, ops_per_s=rate / size_bytes, latency_s=waited_s, name=side))
    return found
