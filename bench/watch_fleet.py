"""
Measure a watch of many simulated instances: time and memory of a round, then growth over a day.

    python bench/watch_fleet.py [--require] [--instances 1000] [--rounds 3] [--hours 24] [--day-instances 50]

Reading is simulated: each poll yields the minutes of each instance; one in twenty is at a ceiling, and one in ten moves
in and out of it. Diagnosis, rules, messages, the ledger and `/metrics` are real, and so is the schedule; the clock is
accelerated. A round reads every instance that is due; the first one reads all, and the others come an hour later each,
so that all are due. Then a smaller fleet is watched for a day of its clock.

Printed: seconds of each round, memory of the process, seconds of a scrape; and of the first and the last quarter of the
day memory, file descriptors and size of the ledger. With --require the exit status is 1 if a round takes more than 60 s
or the process more than 300 MB, if memory grows by more than a twentieth or descriptors at all after the first quarter
of the day, or if a scrape reads anything.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import watched
from plimsoll.app.watch import computations
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.snapshot import Snapshot
from plimsoll.watch.config import TargetSettings, WatchSettings
from plimsoll.watch.exposition import exposition
from plimsoll.watch.law.metrics import ProcessStatus, samples_of
from plimsoll.watch.ledger import Ledger
from plimsoll.watch.loop import Watch
from plimsoll.watch.targets import WatchClock, WatchTarget

MB = 1_000_000
SECONDS_MAX, MEGABYTES_MAX, GROWTH_MOST = 60.0, 300.0, 1.05
# Bytes/s: what a gp3 volume below 400 GiB gives.
CEILING = 125.0 * 2**20
BUSY_EVERY, MOVING_EVERY = 20, 10


def instance_of(number: int) -> Instance:
    """Return one that is documented, so that its ceilings are known."""
    return Instance(
        identifier=f"orders-{number:04}",
        region="eu-central-1",
        engine="postgres",
        db_class="db.m5.large",
        storage=Storage(kind="gp3", size_gib=300.0),
    )


class FleetClock:
    """A clock that is set."""

    def __init__(self) -> None:
        """Begin at the beginning of the simulated data."""
        self.now_s = float(watched.START_S)

    def as_clock(self) -> WatchClock:
        """Return what the watch takes."""
        return WatchClock(now_s=lambda: self.now_s, steady_s=lambda: self.now_s)


class FleetReader:
    """Reads a window of every instance that is chosen, and counts."""

    def __init__(self, count: int) -> None:
        """Read nothing yet."""
        self._count = count
        self.reads = 0

    def __call__(self, window_s: tuple[int, int], is_chosen: Callable[[str], bool]) -> Iterator[Snapshot]:
        """Yield simulated minutes."""
        self.reads += 1
        start_s, end_s = (t // 60 * 60 for t in window_s)
        for number in range(self._count):
            instance = instance_of(number)
            if is_chosen(instance.identifier):
                served = served_of(number, start_s, end_s)
                found = watched.snapshot(served=served, balance=1.0, start_s=start_s, minutes=served.size)
                yield replace(found, instance=instance)


def served_of(number: int, start_s: int, end_s: int) -> np.ndarray:
    """Return bytes/s by the minute: at the ceiling always, for two of six hours, or never."""
    minutes = np.arange(start_s // 60, end_s // 60)
    noise = np.random.default_rng(number).uniform(0.05, 0.2, minutes.size)
    if number % BUSY_EVERY == 0:
        return np.full(minutes.size, CEILING)
    if number % MOVING_EVERY == 1:
        return np.where(minutes // 60 % 6 < 2, 1.0, noise) * CEILING
    return noise * CEILING


class FleetWatch:
    """The real loop over simulated readings, with a ledger in a folder that is removed."""

    def __init__(self, count: int, folder: Path) -> None:
        """Open the ledger."""
        self.clock, self.read, self.transitions = FleetClock(), FleetReader(count), 0
        self.path = folder / "ledger.db"
        self._ledger = Ledger(self.path, owner="bench")
        target = WatchTarget(name="rds:*", account="", is_live=True, metric_count=14, read=self.read, spent=lambda: 0)
        self.watch = Watch(
            WatchSettings(targets=(TargetSettings(target="rds:*"),)),
            [target],
            self._ledger,
            computations(),
            clock=self.clock.as_clock(),
            log=self._log,
            usd_per_metric=0.01 / 1000,
        )

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.__exit__()

    def _log(self, event: str, **_fields: object) -> None:
        self.transitions += event == "transition"

    def scrape(self) -> float:
        """Return the seconds of one scrape of `/metrics`."""
        began_s = time.perf_counter()
        process = ProcessStatus(version="bench", is_owner=True, round_s=self.clock.now_s, counts={})
        now_s = self.clock.now_s
        samples = samples_of(process, self.watch.shown, now_s=now_s, steady_s=now_s)
        exposition(samples, accept="", accept_encoding="")
        return time.perf_counter() - began_s

    @property
    def ledger_mb(self) -> float:
        """Size of the ledger, in MB."""
        return sum(one.stat().st_size for one in self.path.parent.iterdir()) / MB


def resident_mb() -> float:
    """Return the memory of this process now, in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / MB


def descriptors() -> int:
    """Return the number of open files of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


def rounds_of(count: int, rounds: int) -> bool:
    """Print the time and the memory of some rounds of a fleet; return whether both are within their bounds."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = FleetWatch(count, Path(folder))
        took = []
        for _ in range(rounds):
            began_s = time.perf_counter()
            fleet.watch.round()
            took.append(time.perf_counter() - began_s)
            fleet.clock.now_s += 3600.0
        reads = fleet.read.reads
        scrape_s = [fleet.scrape() for _ in range(2)]
        is_asking = fleet.read.reads != reads
        size_mb = fleet.ledger_mb
        fleet.close()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB
    print(f"{count:,} simulated instances, {len(took)} rounds that read all of them")
    print(f"  a round          {min(took):.1f} – {max(took):.1f} s")
    print(f"  memory at most   {peak_mb:.0f} MB")
    print(f"  a scrape         {max(scrape_s):.2f} s, {'' if is_asking else 'no '}reading of targets")
    print(f"  ledger           {size_mb:.1f} MB after {fleet.transitions:,} transitions", flush=True)
    return max(took) <= SECONDS_MAX and peak_mb <= MEGABYTES_MAX and not is_asking


def day_of(count: int, hours: float) -> bool:
    """Print what grows over a day; return whether memory and descriptors do not."""
    quarters: list[tuple[float, int, float, int]] = []
    with tempfile.TemporaryDirectory() as folder:
        fleet = FleetWatch(count, Path(folder))
        began_s = fleet.clock.now_s
        for quarter in range(1, 5):
            until_s = began_s + quarter / 4 * hours * 3600
            while fleet.clock.now_s < until_s:
                fleet.clock.now_s += fleet.watch.round()
            fleet.scrape()
            quarters.append((resident_mb(), descriptors(), fleet.ledger_mb, fleet.transitions))
        fleet.close()
    print(f"{count:,} simulated instances for {hours:g} hours, {fleet.read.reads:,} readings")
    for quarter, (memory_mb, files, size_mb, transitions) in enumerate(quarters, 1):
        print(
            f"  after {quarter * hours / 4:4.0f} h   memory {memory_mb:.1f} MB   files {files}   "
            f"ledger {size_mb:.2f} MB   {transitions:,} transitions"
        )
    first, last = quarters[0], quarters[-1]
    return last[0] <= GROWTH_MOST * first[0] and last[1] <= first[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--instances", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--day-instances", type=int, default=50)
    options = parser.parse_args()
    is_day_kept = day_of(options.day_instances, options.hours)
    is_kept = rounds_of(options.instances, options.rounds) and is_day_kept
    return 1 if options.require and not is_kept else 0


if __name__ == "__main__":
    sys.exit(main())
