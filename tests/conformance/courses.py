"""
Measure behaviour over time and under parallel loads: credits that end and return, shares, buffered writes.

Each is measured on a mounted gate and compared with the law: the replay of the same demand through the
same chain. The law's capacities are divided by the credit clock, as the gate's are.
"""

import mmap
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from conformance.flows import THROUGHPUT, Load, instance
from conformance.gate_arm import CLOCK, Rig
from live.gate_machine import BASELINE, BURST, CAPACITY
from plimsoll.kernel import Stage, replay
from plimsoll.units import KIB, MIB
from plimsoll_lab.gate.config import MAX_BACKGROUND
from plimsoll_lab.gate.control import GateControl

STEP_S = 0.05
_READERS = 4
_READ_BYTES = 256 * KIB


def t3(clock: float = 1.0) -> Stage:
    """Return the throughput stage of db.t3.xlarge at a credit clock."""
    return Stage(name=THROUGHPUT, baseline=BASELINE, burst=BURST, capacity=CAPACITY / clock, counts="bytes")


@dataclass(frozen=True, kw_only=True)
class Course:
    """Hold a burst and what came after it, measured or by the law."""

    burst_bytes_per_s: float
    empty_s: float
    """Seconds from the grant to the end of the burst."""
    after_bytes_per_s: float
    refill_ratio: float
    """Share of the bucket that was refilled while idle."""

    def error_of(self, law: "Course") -> dict[str, float]:
        """Return the deviations, relative to the law's values."""
        pairs = {
            "burst": (self.burst_bytes_per_s, law.burst_bytes_per_s),
            "end of the burst": (self.empty_s, law.empty_s),
            "rate after it": (self.after_bytes_per_s, law.after_bytes_per_s),
            "refill while idle": (self.refill_ratio, law.refill_ratio),
        }
        return {name: found / expected - 1 for name, (found, expected) in pairs.items()}


def course_of(rig: Rig, *, burst_s: float, after_s: float, idle_s: float) -> tuple[Course, Course]:
    """
    Read without pause during a grant of this length, for a while after it, and then not at all.

    Returns:
        The measured course, and that of the law.
    """
    ratio = burst_s * (BURST - BASELINE) / (CAPACITY / CLOCK)
    rig.limit([t3()])
    control = GateControl(rig.gate.folder)
    with reading(rig.table) as moments:
        # Use up the slack, and let requests queue, before credits arrive.
        time.sleep(0.5)
        began_s = time.monotonic()
        control.set_balance(THROUGHPUT, ratio)
        time.sleep(burst_s + after_s)
    ended_s = time.monotonic()
    time.sleep(0.2)
    empty, idle_from_s = _balance(control)
    time.sleep(idle_s)
    full, idle_to_s = _balance(control)
    idle_s = idle_to_s - idle_from_s
    at_s = np.array(sorted(moment - began_s for moment in moments if began_s < moment < ended_s))
    course = law_of(ratio, burst_s + after_s, idle_s)
    served = np.interp(np.arange(0, burst_s + after_s, STEP_S), at_s, np.arange(1, at_s.size + 1))
    return _course(served * _READ_BYTES, full - empty), course


def _balance(control: GateControl) -> tuple[float, float]:
    """Return the balance, and the middle of the time in which it was asked for."""
    asked_s = time.monotonic()
    found = control.status().balance[THROUGHPUT] or 0.0
    return found, (asked_s + time.monotonic()) / 2


def law_of(ratio: float, length_s: float, idle_s: float) -> Course:
    """Return the replay of the same."""
    stage = replace(t3(CLOCK), start_balance=ratio * CAPACITY / CLOCK)
    steps = round(length_s / STEP_S)
    demand = np.full(steps, 2 * BURST / _READ_BYTES)
    busy = replay(demand, _READ_BYTES, step_s=STEP_S, chain=[stage])
    idle = replay([0.0], 1.0, step_s=idle_s, chain=[replace(stage, start_balance=0.0)])
    refill = float(idle.balance[0, -1]) / stage.capacity
    served = np.concatenate(([0.0], np.cumsum(busy.served_bytes)[:-1]))
    return _course(served, refill)


def _course(served_bytes: np.ndarray, refill_ratio: float) -> Course:
    """
    Compute both rates of a burst and its end from the amounts served in each step, as two straight lines.

    They are fitted to its first and last part, and the burst ends where they cross.
    """
    at_s = np.arange(served_bytes.size) * STEP_S
    rates = np.diff(served_bytes) / STEP_S
    # Steps above the middle between both rates are the burst; a quarter of a second is left out on either
    # side of its end.
    middle_s = STEP_S * np.count_nonzero(rates > (BURST + BASELINE) / 2)
    first, last = at_s <= middle_s - 0.25, at_s >= middle_s + 0.25
    burst, burst_from = np.polyfit(at_s[first], served_bytes[first], 1)
    after, after_from = np.polyfit(at_s[last], served_bytes[last], 1)
    return Course(
        burst_bytes_per_s=float(burst),
        empty_s=float((after_from - burst_from) / (burst - after)),
        after_bytes_per_s=float(after),
        refill_ratio=refill_ratio,
    )


@contextmanager
def reading(path: Path) -> Iterator[list[float]]:
    """Read past the page cache with several readers until the block ends; yield when each request was done."""
    moments: list[float] = []
    over = threading.Event()

    def read(number: int) -> None:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECT)
        buffer = mmap.mmap(-1, _READ_BYTES)
        end = os.fstat(handle).st_size
        offset = end // _READERS * number
        while not over.is_set():
            os.preadv(handle, [buffer], offset)
            moments.append(time.monotonic())
            offset = (offset + _READ_BYTES) % end
        os.close(handle)
        buffer.close()

    readers = [threading.Thread(target=read, args=(number,)) for number in range(_READERS)]
    for reader in readers:
        reader.start()
    try:
        yield moments
    finally:
        over.set()
        for reader in readers:
            reader.join()


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Hold the rates of a reader and a writer that share a limit."""

    read_bytes_per_s: float
    write_bytes_per_s: float
    limit_bytes_per_s: float
    asked_ratio: float
    """
    Requests that the gate had of the rarer kind, as a share of those in flight. It is lower if the host
    was slow to pass them on, so that a turn came while none was waiting.
    """

    @property
    def error(self) -> float:
        """Return the deviation of both together from the limit that they share."""
        return (self.read_bytes_per_s + self.write_bytes_per_s) / self.limit_bytes_per_s - 1

    @property
    def read_ratio(self) -> float:
        """Return the reader's share of what was served."""
        return self.read_bytes_per_s / (self.read_bytes_per_s + self.write_bytes_per_s)

    @property
    def unfairness(self) -> float:
        """Return how far the share is off a half, beyond what missed turns explain."""
        return abs(self.read_ratio - 0.5) - (1 - self.asked_ratio)


def shares_of(rig: Rig, *, seconds: float) -> Shares:
    """
    Run small reads and large writes, both without pause, under a limit on bytes that they share.

    Together they are as many as the kernel passes on at a time; more would wait in its own queue, in order
    of arrival.
    """
    rig.limit(instance(BASELINE, 1e6))
    half = MAX_BACKGROUND // 2
    loads = [
        Load(pattern="random", direction="read", size_bytes=16 * KIB, depth=half),
        Load(pattern="sequential", direction="write", size_bytes=128 * KIB, depth=half),
    ]
    began_s = time.time()
    rig.fio(loads, seconds=seconds)
    lines = rig.window(began_s, seconds)
    length_s = sum(line.dt for line in lines)
    waited_s = [sum(getattr(x, f"{side}_wait_s_sum") for x in lines) for side in ("read", "write")]
    return Shares(
        read_bytes_per_s=sum(line.read_bytes for line in lines) / length_s,
        write_bytes_per_s=sum(line.write_bytes for line in lines) / length_s,
        limit_bytes_per_s=BASELINE,
        asked_ratio=min(1.0, min(waited_s) / length_s / half),
    )


@dataclass(frozen=True, kw_only=True)
class Written:
    """Hold the result of writes through the page cache, until fsync returned."""

    written_bytes: int
    distinct_bytes: int
    """Bytes that no later write overwrote."""
    charged_bytes: float
    """What the gate counted until then."""
    passed_s: float


def writing(rig: Rig, *, size_mib: int, rounds: int, bytes_per_s: float) -> Written:
    """Write the same bytes several times, flush, and measure what was charged and how long it took."""
    rig.limit(instance(bytes_per_s, 1e6))
    path = rig.gate.mount / "letter"
    before = _charged(rig)
    began_s = time.monotonic()
    with path.open("wb", buffering=0) as file:
        for _ in range(rounds):
            file.seek(0)
            for _ in range(size_mib):
                file.write(bytes(MIB))
        os.fsync(file.fileno())
    passed_s = time.monotonic() - began_s
    after = _charged(rig)
    path.unlink()
    return Written(
        written_bytes=rounds * size_mib * MIB,
        distinct_bytes=size_mib * MIB,
        charged_bytes=after - before,
        passed_s=passed_s,
    )


def _charged(rig: Rig) -> float:
    """Return bytes written through the gate so far: those of the record once the present line has ended."""
    asked_s = time.time()
    while not (lines := rig.gate.lines()) or lines[-1].t < asked_s:
        rig.gate.wait(0.05)
    return sum(line.write_bytes for line in lines)
