"""
The servers of the experiment: Kafka, OpenSearch, a double of AWS, and a PostgreSQL that is filled and put behind a gate.

Rule 1: the database is filled before the gate is mounted: no limit applies then, and no credits are spent.
Rule 2: whatever was started ends when the stack closes, in the opposite order.
"""

import json
import time
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from plimsoll.catalog.load import Catalog
from plimsoll.errors import SourceError
from plimsoll.units import GIB, MIB
from plimsoll_lab.experiments.ground import ExperimentFolder, Ground, account_of, common_settings, setup_of, start_all
from plimsoll_lab.experiments.packages import set_up_packages
from plimsoll_lab.experiments.phases import CLOCK
from plimsoll_lab.experiments.room import data_folder
from plimsoll_lab.experiments.search_service import story
from plimsoll_lab.experiments.search_service.database import ServiceDatabase
from plimsoll_lab.experiments.search_service.story import StoryPhase
from plimsoll_lab.experiments.search_service.system import SearchService
from plimsoll_lab.servers.cloudwatch import AwsDouble
from plimsoll_lab.servers.kafka import Kafka
from plimsoll_lab.servers.postgres import Postgres
from plimsoll_lab.servers.search import Elasticsearch, OpenSearch, SearchServer
from plimsoll_lab.sessions.session import PrintLine, new_folder

# The tables, their WAL, the logs of Kafka and the index; measured, with a margin of two.
_DATA_BYTES = 3 * GIB
# Of which OpenSearch takes a half and Kafka a quarter.
_SERVER_BYTES = 2 * GIB
_INDEXED_S = 180.0
_POLL_S = 0.5
_VACUUM_DELAY_S = 0.02
"""The default of autovacuum_vacuum_cost_delay before PostgreSQL 12; the budget of a round follows from it."""
_PAGE_BYTES = 8192
_PAGE_MISS = 2
"""vacuum_cost_page_miss of PostgreSQL 14 and later."""
# PostgreSQL stores a value out of line in pieces of 1,996 bytes (TOAST_MAX_CHUNK_SIZE): five for each text, as in
# the example of the post.
_TEXT_KB = 9


ENGINES: dict[str, type[SearchServer]] = {one.kind: one for one in (OpenSearch, Elasticsearch)}


class SearchPlan(Struct, frozen=True, kw_only=True):
    """How the experiment is played."""

    phases: tuple[StoryPhase, ...]
    system: Path
    """Folder of the search service."""
    engine: str = OpenSearch.kind
    """The search engine: `opensearch` or `elasticsearch`."""
    scale: float = story.SCALE
    clock: float = CLOCK
    events_per_s: float = 1000.0
    """Of the whole load: the post speaks of millions an hour."""
    products: int = 1000
    archive: int = 20_000
    """Assets of products that are sold no more; of the part of the load that runs, like `products`."""
    memory_bytes: int = 80 * MIB
    """For the database's buffers and the page cache together: less than the documents need."""

    @property
    def assets(self) -> int:
        """Return the number of documents."""
        return self.products + self.archive

    @property
    def catalog(self) -> tuple[str, ...]:
        """Return the options that describe the data to the service's writer of events."""
        sizes = {"products": self.products, "archive": self.archive, "text-kb": _TEXT_KB}
        return tuple(word for name, size in sizes.items() for word in (f"--{name}", str(size)))


class SearchGround(Ground, frozen=True, kw_only=True):
    """What the phases are played on."""

    service: SearchService


def prepare(plan: SearchPlan, facts: Catalog, print_line: PrintLine, stack: ExitStack) -> SearchGround:
    """
    Start the servers, fill the database without limits, and put it behind the gate.

    Args:
        plan: how the experiment is played.
        facts: the documented limits.
        print_line: called with a sentence before each step.
        stack: ends everything when it closes.

    Raises:
        UsageError: FUSE, Java, Maven, make or the service is missing, or there is too little memory or space.
        SourceError: a server or a program of the service did not start, or ended.
    """
    place = data_folder(_DATA_BYTES, _SERVER_BYTES)
    folder = ExperimentFolder(new_folder(stack, keeps=False, place=place))
    loader = folder.loader
    service = stack.enter_context(SearchService(plan.system, folder.path / "service.log"))
    set_up_packages(plan.system, "the search service", print_line)
    kafka = Kafka(data_directory=folder.path / "kafka")
    engine = ENGINES[plan.engine](data_directory=folder.path / "engine")
    double = AwsDouble()
    versions = (
        f"PostgreSQL {loader.version}, Kafka {kafka.version}, {engine.title} {engine.version} and a double of AWS "
        f"(moto {double.version})"
    )
    print_line(f"starting {versions}")
    start_all([kafka, engine, double, loader], stack)
    service.environment |= {
        "SEARCH_KAFKA": kafka.address,
        "SEARCH_ENGINE_URL": engine.address,
        "SEARCH_DATABASE_URL": loader.address,
    }
    print_line(f"filling the database with {plan.assets:,} documents; no limit yet")
    _fill(plan, service, loader)
    loader.stop()
    instance = plan.phases[0].instance
    setup = setup_of(instance, clock=plan.clock, scale=plan.scale, memory_bytes=plan.memory_bytes)
    gate, server = folder.behind_gate(setup, _settings(plan), facts, stack)
    service.environment["SEARCH_DATABASE_URL"] = server.address
    return SearchGround(
        gate=gate,
        setup=setup,
        server=server,
        account=account_of(double, instance, loader.version),
        service=service,
        versions=versions,
    )


def _fill(plan: SearchPlan, service: SearchService, loader: Postgres) -> None:
    service.run("setup")
    service.run("load", "--restore-archive", *plan.catalog)
    service.run("load", "--seed-only", *plan.catalog)
    service.start_indexer(is_dirty_tracking=True)
    end = time.monotonic() + _INDEXED_S
    while not _is_quiet(service):
        time.sleep(_POLL_S)
        service.check()
        if time.monotonic() > end:
            raise SourceError(
                f"the search service did not index its first documents within {_INDEXED_S:.0f} s",
                "This machine is too slow or too busy for the experiment.",
            )
    service.end_indexer()
    with ServiceDatabase(loader.dsn) as database:
        database.tidy()
        database.count_statements()


def _is_quiet(service: SearchService) -> bool:
    counters = service.counters()
    # The indexer's own counters cost nothing; the command that knows the rest is a program to start.
    if counters is None or not counters.read or counters.lag:
        return False
    found = json.loads(service.run("status", "--json"))
    return not (found["lag_events"] or found["fan_outs"] or found["index_work"])


def _settings(plan: SearchPlan) -> dict[str, str]:
    pages_per_s = story.VACUUM_BYTES_PER_S / plan.scale / _PAGE_BYTES
    budget = max(1, round(pages_per_s * _PAGE_MISS * _VACUUM_DELAY_S))
    return {
        **common_settings(plan.memory_bytes),
        "autovacuum_naptime": "1s",
        "autovacuum_vacuum_cost_delay": f"{_VACUUM_DELAY_S * 1e3:.0f}ms",
        "autovacuum_vacuum_cost_limit": str(budget),
        "max_wal_size": "1GB",
    }
