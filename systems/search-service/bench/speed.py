"""
Measure the search service on real servers: how much it applies and indexes, how fresh and how fast searches are.

1. At saturation: a backlog of events is in Kafka before the indexer starts. The same backlog then goes through plain
   code that works one row at a time (`plain.py`), in the same run, with a database and an index of its own.
2. At half of the slower of these two rates, with changes as they come: freshness (from an event to the search that finds
   it), and the latency of two searches a second beside it.
3. Where the time goes: CPU time by process, and inside the indexer by phase.

    make -C systems/search-service bench
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import msgspec
import psutil
from msgspec.structs import replace
from sqlalchemy import text

from search_service.consume import producer_of
from search_service.database import connect
from search_service.load import Load, now
from search_service.phases import ALL
from search_service.settings import PREFIX, Settings
from search_service.setup_command import set_up
from search_service.status_command import status_of

SERVERS = ("postgres", "kafka", "opensearch")
PRODUCTS, TEXT_KB = 2000, 10
WORDS = ("boots", "warm leather", "steel kettle", "light", "folding chair", "repair the zip", "rope")
SEARCHES_PER_S = 2
"""A search with facets and highlights takes 30 to 60 ms of a processor here."""
WARM_UP = 20
"""Searches that are not counted: the engine compiles its code first."""
START_S, QUIET_S = 400.0, 120.0
_BUCKET = re.compile(r'search_freshness_seconds_bucket\{changed="([^"]+)",le="([^"]+)"\}')


def main() -> int:
    """Run, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--events", type=int, default=30_000, help="events of the backlog (30000)")
    parser.add_argument("--seconds", type=float, default=30.0, help="time at saturation (30)")
    arguments = parser.parse_args()
    say(f"{cpu_model()}, {os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB")
    say(f"{PRODUCTS} products, texts of {TEXT_KB} kB; load average before: {os.getloadavg()[0]:.1f}")
    with servers() as addresses, tempfile.TemporaryDirectory() as folder:
        service, other = Bench(addresses, Path(folder)), Bench(addresses, Path(folder))
        service.fill(arguments.events)
        fast = saturation(service, arguments.seconds)
        plain = one_row_at_a_time(service, other, arguments.seconds)
        report_rates(fast, plain)
        report_time(fast)
        # A service without a backlog: its index has the catalog and nothing to catch up with.
        fresh = Bench(addresses, Path(folder))
        load = fresh.fill(0)
        settle(fresh)
        # What changes has to be applied and indexed, so the slower of the two is the rate at saturation.
        half = min(float(fast["events_per_s"]), float(fast["documents_per_s"])) / 2
        report_half(half, *half_rate(fresh, load, half, 2 * arguments.seconds))
    return 0


class Bench:
    """A service with a database, topics and indexes of its own."""

    def __init__(self, addresses: Mapping[str, str], folder: Path) -> None:
        """Create the database."""
        self.addresses = addresses
        self.folder = folder
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            other.bind(("127.0.0.1", 0))
            ports = one.getsockname()[1], other.getsockname()[1]
        name = f"b{uuid.uuid4().hex[:8]}"
        self.settings = Settings(
            database_url=self._database(name),
            kafka=addresses["kafka"],
            engine_url=addresses["opensearch"],
            prefix=name,
            group=name,
            metrics_port=ports[0],
            api_port=ports[1],
            api_tokens="secret",
        )
        self.index = set_up(self.settings)

    def fill(self, events: int) -> Load:
        """Write the catalog and a backlog of changes to Kafka."""
        load, producer = (Load(products=PRODUCTS, seed=1, text_kb=TEXT_KB), producer_of(self.settings))
        messages = [*load.catalog(now()), *(load.next(now()) for _ in range(events))]
        for message in messages:
            while True:
                try:
                    producer.produce(self.settings.topic(message.type), message.value, message.key)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(60) == 0
        self.backlog = len(messages)
        return load

    @contextmanager
    def program(self, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command of the service."""
        with (self.folder / f"{words[0]}.log").open("ab") as log:
            program = subprocess.Popen(
                [sys.executable, "-m", "search_service", *words], env=environment(self.settings), stdout=log, stderr=log
            )
            try:
                yield program
            finally:
                program.send_signal(signal.SIGTERM)
                program.wait(60)

    def metrics(self) -> dict[str, float]:
        """Return what the indexer counts; empty while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.settings.metrics_port}/metrics") as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {}
        return {n: float(v) for n, _, v in (line.rpartition(" ") for line in lines) if n[:1] != "#"}

    def _database(self, name: str) -> str:
        admin = connect(self.addresses["postgres"], size=1)
        with admin.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        admin.dispose()
        return f"{self.addresses['postgres'].rpartition('/')[0]}/{name}"


@contextmanager
def servers() -> Iterator[dict[str, str]]:
    """Start the servers, and end them."""
    program = os.environ.get("PLIMSOLL") or shutil.which("plimsoll")
    assert program, "set PLIMSOLL to the command that starts servers"
    options = [word for name in SERVERS for word in ("--start", name)]
    command = subprocess.Popen([*program.split(), "lab", "servers", *options], stdout=subprocess.PIPE, text=True)
    try:
        found: dict[str, str] = {}
        for line in command.stdout:
            name, _, rest = line.partition(" ")
            found[name] = rest.rpartition(" ")[2].strip()
            if len(found) == len(SERVERS):
                break
        assert len(found) == len(SERVERS), "the servers did not start"
        yield found
    finally:
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=60)


def saturation(bench: Bench, seconds: float) -> dict[str, object]:
    """Let the indexer take the backlog for so long, and return rates and where the time went."""
    with bench.program("indexer") as program:
        # Starting Python and joining the group are not counted.
        wait_for(lambda: bench.metrics().get("search_events_read_total", 0.0) > 0)
        before, first, began = cpu_of(bench, program.pid), bench.metrics(), time.monotonic()
        last, is_over = first, False
        while not is_over:
            time.sleep(0.5)
            last = bench.metrics() or last
            is_over = time.monotonic() - began > seconds or last["search_events_read_total"] >= bench.backlog
        took = time.monotonic() - began
        after = cpu_of(bench, program.pid)

    def rate(name: str) -> float:
        return (last[name] - first[name]) / took

    def phase(kind: str, name: str) -> float:
        return rate(f'search_phase_{kind}_total{{phase="{name}"}}')

    return {
        "events_per_s": rate("search_events_read_total"),
        "documents_per_s": rate("search_documents_indexed_total"),
        "events": last["search_events_read_total"],
        "cpu": {name: (after[name] - before[name]) / took for name in before},
        "phases": {name: (phase("seconds", name), phase("cpu_seconds", name)) for name in ALL},
    }


def waiting(bench: Bench) -> bool:
    """Return whether something is not indexed yet."""
    status = status_of(bench.settings)
    return bool(status.index_work or status.fan_outs or status.lag_events)


def one_row_at_a_time(bench: Bench, other: Bench, seconds: float) -> dict[str, float]:
    """Let the plain code work on the same topics for so long, with a database and an index of its own."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("plain.py")), other.index, str(seconds)],
        env=environment(replace(other.settings, prefix=bench.settings.prefix)),
        check=True,
        capture_output=True,
        text=True,
    )
    found = msgspec.json.decode(done.stdout, type=dict[str, float])
    return {
        "events_per_s": found["events"] / found["seconds"],
        "documents_per_s": found["documents"] / found["seconds"],
    }


def settle(bench: Bench) -> None:
    """Let the indexer work until everything is indexed."""
    with bench.program("indexer"):
        wait_for(lambda: not waiting(bench))


def half_rate(
    bench: Bench, load: Load, rate: float, seconds: float
) -> tuple[dict[str, dict[float, float]], list[float]]:
    """
    Send events at a rate, each at its moment.

    Returns:
        freshness by what changed and by bucket, and latencies of searches.
    """
    producer = producer_of(bench.settings)
    stop = threading.Event()
    latencies: list[float] = []
    with ExitStack() as stack:
        stack.enter_context(bench.program("indexer"))
        stack.enter_context(bench.program("api"))
        wait_for(lambda: bool(bench.metrics()) and is_ready(bench.settings))
        before = bench.metrics()
        thread = threading.Thread(target=search, args=(bench.settings, latencies, stop))
        thread.start()
        began = time.monotonic()
        for number in range(round(rate * seconds)):
            while (due := began + number / rate) > time.monotonic():
                time.sleep(min(0.01, max(0.0, due - time.monotonic())))
            message = load.next(now())
            producer.produce(bench.settings.topic(message.type), message.value, message.key)
            producer.poll(0)
        took = time.monotonic() - began
        producer.flush(30)
        stop.set()
        thread.join()
        wait_for(lambda: not waiting(bench))
        time.sleep(2)
        after = bench.metrics()
    if took > 1.05 * seconds:
        say(f"void: the events took {took:.0f} s instead of {seconds:.0f} s to send")
    buckets: dict[str, dict[float, float]] = {}
    for key, value in after.items():
        if found := _BUCKET.fullmatch(key):
            buckets.setdefault(found[1], {})[float(found[2])] = value - before.get(key, 0.0)
    return buckets, latencies


def search(settings: Settings, latencies: list[float], stop: threading.Event) -> None:
    """Search at a rate, each search at its moment, and note how long each took from then on."""
    url = f"http://127.0.0.1:{settings.api_port}"
    with httpx.Client(base_url=url, headers={"authorization": "Bearer secret"}) as client:

        def ask(number: int) -> None:
            words = {"q": WORDS[number % len(WORDS)], "facet": ["brand", "country"]}
            answer = client.get("/v1/search", params=words)
            assert answer.status_code == 200, answer.text

        for number in range(WARM_UP):
            ask(number)
        began, number = time.monotonic(), 0
        while not stop.is_set():
            due = began + number / SEARCHES_PER_S
            stop.wait(max(0.0, due - time.monotonic()))
            ask(number)
            latencies.append(time.monotonic() - due)
            number += 1


def cpu_of(bench: Bench, indexer: int) -> dict[str, float]:
    """Return the CPU seconds of the indexer and of each server: of the process behind its port and of all below."""
    titles = {"postgres": "PostgreSQL", "kafka": "Kafka", "opensearch": "OpenSearch"}
    ports = {int(re.search(r":(\d+)(?:/|$)", a)[1]): titles[n] for n, a in bench.addresses.items()}
    found = {"indexer": tree_s(psutil.Process(indexer))}
    for one in psutil.net_connections("tcp"):
        if one.status == psutil.CONN_LISTEN and one.laddr.port in ports and one.pid:
            found[ports[one.laddr.port]] = tree_s(psutil.Process(one.pid))
    assert len(found) == 1 + len(ports), found
    return found


def tree_s(process: psutil.Process) -> float:
    """Return the CPU seconds of a process, of its children and of those that have ended."""
    total = 0.0
    for one in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = one.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def quantile_of(buckets: Mapping[float, float], q: float) -> float:
    """Return a quantile from the counts at or below bounds, by a line between two bounds."""
    bounds = sorted(buckets)
    wanted, low, below = q * buckets[bounds[-1]], 0.0, 0.0
    for bound in bounds:
        if buckets[bound] >= wanted:
            inside = buckets[bound] - below
            return low if bound == float("inf") else low + (bound - low) * (wanted - below) / inside
        low, below = bound, buckets[bound]
    raise AssertionError


def report_rates(fast: Mapping[str, object], plain: Mapping[str, float]) -> None:
    """Print the rates at saturation."""
    say("\nAt saturation, per second      service   one row at a time   ratio")
    for title, name in (("events applied", "events_per_s"), ("documents indexed", "documents_per_s")):
        ours, theirs = float(fast[name]), plain[name]
        say(f"{title:<30} {ours:7,.0f}   {theirs:17,.0f}   {ours / theirs:5.1f}")


def report_time(fast: Mapping[str, object]) -> None:
    """Print where the time went."""
    cpu: dict[str, float] = fast["cpu"]
    total = sum(cpu.values())
    say(f"\nCPU at saturation: {total:.2f} cores, of which")
    for name, used in sorted(cpu.items(), key=lambda one: -one[1]):
        say(f"  {name:<28} {used / total:6.0%}")
    phases: dict[str, tuple[float, float]] = fast["phases"]
    say("\nInside the indexer             time    CPU, both as a share of a second")
    for name, (wall, used) in phases.items():
        say(f"  {name:<28} {wall:6.0%} {used:6.0%}")
    rest = cpu["indexer"] - sum(used for _, used in phases.values())
    say(f"  {'Kafka client and the rest':<28}        {rest:6.0%}")


def report_half(rate: float, buckets: Mapping[str, Mapping[float, float]], latencies: list[float]) -> None:
    """Print freshness and latencies."""
    ranks = statistics.quantiles(latencies, n=100)
    say(f"\n{f'At {rate:,.0f} events a second (half)':<34}     p50       p99")
    for changed, counts in sorted(buckets.items()):
        documents = f"{counts[float('inf')]:,.0f} documents"
        p50, p99 = quantile_of(counts, 0.5), quantile_of(counts, 0.99)
        say(f"{f'searchable after a {changed}':<34} {p50:5.2f} s   {p99:5.2f} s   {documents}")
    half, worst, count = (1e3 * ranks[49], 1e3 * ranks[98], f"{len(latencies)} searches, {SEARCHES_PER_S} a second")
    say(f"{'search, facets and highlights':<34} {half:4.0f} ms   {worst:4.0f} ms   {count}")


def is_ready(settings: Settings) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{settings.api_port}/readyz").status_code == 200
    except httpx.TransportError:
        return False


def wait_for(is_so, timeout_s: float = QUIET_S) -> None:
    end = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit(f"void: this machine is too slow, or busy: no end within {timeout_s:.0f} s")
        time.sleep(0.1)


def environment(settings: Settings) -> dict[str, str]:
    given = {PREFIX + n.upper(): str(v) for n, v in msgspec.structs.asdict(settings).items()}
    return {**{n: v for n, v in os.environ.items() if not n.startswith(PREFIX)}, **given}


def cpu_model() -> str:
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return found[1] if found else "unknown CPU"


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
