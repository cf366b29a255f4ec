"""
The twin of the storm: the same services, with few connections, on a disk that is too slow for them.

Rule 1: nothing here judges. The gate's own record is the truth.
Rule 2: the database is filled before the gate is mounted: no limit applies then.
"""

import secrets
import time
from contextlib import ExitStack

from msgspec import Struct

from plimsoll.catalog.load import Catalog
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import GIB, MIB
from plimsoll_lab.experiments.ground import ExperimentFolder, common_settings, setup_of
from plimsoll_lab.experiments.phases import CLOCK, published
from plimsoll_lab.experiments.pooled_cluster.database import DATABASE, ROLE, SessionProbe, create_database
from plimsoll_lab.experiments.pooled_cluster.ground import BuiltPgpool, PooledPlan, pooler_address, prepare_system
from plimsoll_lab.experiments.pooled_cluster.play import PhasePlace, PooledEdges, PooledRun, watched
from plimsoll_lab.experiments.pooled_cluster.story import Build, Expected, PooledPhase, pooler_settings
from plimsoll_lab.experiments.pooled_cluster.system import Fleet
from plimsoll_lab.experiments.room import data_folder
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.place import check_machine
from plimsoll_lab.gate.record import RecordLine, Truth, snapshot_of, truth_of
from plimsoll_lab.gate.scale import whole_lines
from plimsoll_lab.sessions.session import lines_within, new_folder

SCALE = 1.0
"""Connections are as many as there are."""
LIMIT_SCALE = 20.0
"""The limits of the instance are divided by it, so that two processors reach them."""
INSTANCE = Instance(
    identifier="pooled-cluster",
    # The smallest of its family without credits: its IOPS are the same all the time.
    db_class="db.r5.4xlarge",
    engine="postgres",
    region="us-east-1",
    multi_az=False,
    storage=Storage(kind="io1", size_gib=1_000, provisioned_ops_per_s=40_000),
)
# Less than the tables, so that most orders are read from the disk.
_MEMORY_BYTES = 48 * MIB
_DATA_BYTES, _SERVER_BYTES = 2 * GIB, GIB
_CUSTOMERS, _PRODUCTS, _ORDERS = 50_000, 20_000, 400_000
_WARM_S, _LIGHT_S, _LIGHT_PER_S = 5.0, 15.0, 4.0
FLEET = Fleet(
    services=4,
    instances=1,
    pool=5,
    # As many idle connections as a pool may have: none is opened while the disk is slow.
    settings={"min_idle": 5, "queue": 20, "answer_s": 10, "retry": "none"},
)


class TwinRun(Struct, frozen=True, kw_only=True):
    """What the twin left, besides what every phase leaves."""

    run: PooledRun
    setup: GateSetup
    snapshot: Snapshot
    """What CloudWatch would show."""
    lines: tuple[RecordLine, ...]
    truth: Truth


def twin_phase(*, is_quick: bool) -> PooledPhase:
    """Return the only phase of the twin."""
    return PooledPhase(
        name="disk-binds",
        title="The disk binds",
        action="Few connections, and a disk that is too slow for the arrivals.",
        seconds=30 if is_quick else 90,
        rate=60.0,
        build=Build.FIXED,
        expected=Expected.DISK,
        published=published(),
    )


def play_twin(plan: PooledPlan, facts: Catalog, edges: PooledEdges) -> tuple[TwinRun, str]:
    """
    Play the twin, and return what it left, and the servers in words.

    Args:
        plan: how; its first phase is that of `twin_phase`.
        facts: the documented limits.
        edges: what is handed in; `end_phase` is not called.

    Raises:
        UsageError: FUSE, Java, make or the system is missing, or there is too little memory or space.
        SourceError: a server or the services did not start, or ended.
    """
    check_machine()
    phase = plan.phases[0]
    with ExitStack() as stack:
        root = data_folder(_DATA_BYTES, _SERVER_BYTES)
        folder = ExperimentFolder(new_folder(stack, keeps=False, place=root))
        system = prepare_system(plan.system, edges.print_line, stack)
        password = secrets.token_urlsafe(18)
        edges.print_line(f"filling the database with {_ORDERS:,} simulated orders; no limit yet")
        with folder.loader:
            create_database(folder.loader.dsn, password)
            sizes = {"customers": _CUSTOMERS, "products": _PRODUCTS, "orders": _ORDERS}
            system.fill(folder.loader.port, password, **sizes)
        setup = setup_of(INSTANCE, clock=CLOCK, scale=LIMIT_SCALE, memory_bytes=_MEMORY_BYTES)
        gate, server = folder.behind_gate(setup, common_settings(_MEMORY_BYTES), facts, stack)
        pooler = BuiltPgpool(
            [server.port],
            user=ROLE,
            password=password,
            database=DATABASE,
            settings={**pooler_settings(phase.life_s, 1.0), "num_init_children": "40"},
        )
        stack.enter_context(pooler)
        services = system.start(plan.fleet, pooler.port, password)
        dsn = server.dsn.replace("dbname=postgres", f"dbname={DATABASE}")
        probe = stack.enter_context(SessionProbe(dsn, ROLE))
        edges.print_line(f"phase 1 of 1, {phase.title}: {phase.action}")
        # Code and caches warm up while nothing is recorded.
        services.order(rate=_LIGHT_PER_S)
        time.sleep(_WARM_S)
        began_s = time.time()
        # Without a time of light load, a diagnosis cannot tell what waiting costs.
        time.sleep(_LIGHT_S)
        place = PhasePlace(
            services=services,
            fleet=plan.fleet,
            probe=probe,
            dsn=dsn,
            pooler_url=pooler_address(pooler.port, password),
            began_s=time.monotonic(),
            scale=plan.scale,
        )
        run = watched(phase, place, edges)
        lines = whole_lines(lines_within(gate.lines(), began_s, time.time()), setup.scale)
        twin = TwinRun(
            run=run, setup=setup, snapshot=snapshot_of(lines, setup), lines=tuple(lines), truth=truth_of(lines)
        )
        versions = f"PostgreSQL {server.version} behind a gate, Pgpool-II {pooler.version}"
        return twin, versions
