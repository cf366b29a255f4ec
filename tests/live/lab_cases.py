"""
Ten instances to borrow, one for each kind of ceiling that storage has, and a rig to try them on.

One server, one mount: between two cases the gate gets another chain and other credits. The classes
are such that a laptop reaches their ceilings. The load is real, the limits are those of the catalog.
"""

import time
from calendar import timegm
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.catalog.load import catalog
from plimsoll.kernel import Stage
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.instance import Instance, Storage
from plimsoll.units import MIB, mib_per_s
from plimsoll_lab.gate.config import MEMORY_MIN_BYTES, GateSetup, chain_document, has_credits, stages_of
from plimsoll_lab.gate.control import GateControl
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.gate.record import snapshot_of, truth_of
from plimsoll_lab.load.dataset import LOADING, SCAN_TABLE, dataset_of, fill
from plimsoll_lab.load.workload import Clients, Workload, workload_of
from plimsoll_lab.model.lab import GroundTruth
from plimsoll_lab.servers.postgres import Postgres
from plimsoll_lab.sessions.ground import compare_with_truth
from plimsoll_lab.sessions.postgres import sized_setup

MEMORY_BYTES = 192 * MIB
CLIENTS = 16

# Four reads of 8 KiB for each transaction, one in each stretch of 64 KiB, which is how files are spread
# over volumes: clients go round and no volume is idle. No read is beside another one: neighbours in the
# page cache would make Linux read ahead, and reads in order are merged into one operation.
_POINT = "select 1 from plimsoll_scan_:client_id where ctid = '(:block,1)';\n"
_POINTS = "\\set block 32 * random(0, {last}) + 2 * random(0, 3)\n" + _POINT + 3 * ("\\set block :block + 8\n" + _POINT)
# Some 250 transactions a second from all clients together: far below every ceiling of a large class.
_IDLE = _POINTS + "\\sleep 60 ms\n"
_PAUSES = _POINTS + "\\sleep 10 ms\n"
_SCAN = f"select count(*) from {SCAN_TABLE}:client_id\n"

THROUGHPUT, IOPS = Family.INSTANCE_EBS_THROUGHPUT, Family.INSTANCE_EBS_IOPS
VOLUME_THROUGHPUT, VOLUME_IOPS = Family.VOLUME_THROUGHPUT, Family.VOLUME_IOPS


@dataclass(frozen=True, kw_only=True)
class Case:
    """One instance, what is done to it, and what binds."""

    name: str
    db_class: str
    storage: str
    size_gib: float
    iops: float | None = None
    credits: float = 1.0
    launched: tuple[int, int, int] | None = None
    workload: str = "scan"
    """`scan`, `points`, or `idle`."""
    binds: tuple[Family, Phase, float] | None
    """Family, phase and level, reads and writes together; None where nothing does."""

    @property
    def instance(self) -> Instance:
        """What is emulated."""
        return Instance(
            identifier="lab",
            db_class=self.db_class,
            engine="postgres",
            storage=Storage(kind=self.storage, size_gib=self.size_gib, provisioned_ops_per_s=self.iops),
            launched_s=timegm((*self.launched, 0, 0, 0)) if self.launched else None,
        )


# Scans come last: what they leave in the page cache would make Linux read ahead for a while.
CASES = (
    Case(
        name="instance IOPS, baseline",
        db_class="db.t3.medium",
        storage="gp3",
        size_gib=400,
        credits=0.0,
        workload="points",
        binds=(IOPS, Phase.BASELINE, 2000),
    ),
    Case(
        name="gp2 credits of a small volume",
        db_class="db.m4.large",
        storage="gp2",
        size_gib=300,
        credits=0.0,
        workload="points",
        binds=(VOLUME_IOPS, Phase.BASELINE, 900),
    ),
    Case(
        name="gp2 credits of four volumes",
        db_class="db.m4.4xlarge",
        storage="gp2",
        size_gib=400,
        credits=0.0,
        workload="points",
        binds=(VOLUME_IOPS, Phase.BASELINE, 1200),
    ),
    Case(
        name="gp3 IOPS",
        db_class="db.m4.xlarge",
        storage="gp3",
        size_gib=100,
        workload="points",
        binds=(VOLUME_IOPS, Phase.FIXED, 3000),
    ),
    Case(
        name="io1 IOPS",
        db_class="db.m4.xlarge",
        storage="io1",
        size_gib=100,
        iops=2000,
        workload="points",
        binds=(VOLUME_IOPS, Phase.FIXED, 2000),
    ),
    Case(
        name="nothing", db_class="db.r5.12xlarge", storage="io1", size_gib=400, iops=20_000, workload="idle", binds=None
    ),
    Case(
        name="instance throughput without credits",
        db_class="db.m4.2xlarge",
        storage="gp3",
        size_gib=400,
        binds=(THROUGHPUT, Phase.FIXED, 125e6),
    ),
    Case(
        name="instance throughput of an instance from before the limits were raised",
        db_class="db.r5.xlarge",
        storage="gp3",
        size_gib=400,
        credits=0.0,
        launched=(2019, 6, 1),
        binds=(THROUGHPUT, Phase.BASELINE, 106.25e6),
    ),
    Case(
        name="gp2 throughput",
        db_class="db.m4.4xlarge",
        storage="gp2",
        size_gib=100,
        binds=(VOLUME_THROUGHPUT, Phase.FIXED, mib_per_s(128)),
    ),
    Case(
        name="gp3 throughput",
        db_class="db.m5.4xlarge",
        storage="gp3",
        size_gib=100,
        binds=(VOLUME_THROUGHPUT, Phase.FIXED, mib_per_s(125)),
    ),
)

SLOW_CASES = (
    Case(
        name="instance throughput, baseline",
        db_class="db.t3.xlarge",
        storage="gp2",
        size_gib=1000,
        credits=0.0,
        binds=(THROUGHPUT, Phase.BASELINE, 86.875e6),
    ),
    Case(
        name="instance throughput without credits, small",
        db_class="db.m4.large",
        storage="gp3",
        size_gib=400,
        binds=(THROUGHPUT, Phase.FIXED, 56.25e6),
    ),
    Case(
        name="throughput of four volumes",
        db_class="db.m5.4xlarge",
        storage="gp3",
        size_gib=400,
        binds=(VOLUME_THROUGHPUT, Phase.FIXED, mib_per_s(500)),
    ),
)
"""
For longer emulated minutes: what wavers by a part of a percent in a part of a second, and what a busy
machine reaches only on average.
"""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came of a case."""

    case: Case
    diagnosis: Diagnosis
    ground: GroundTruth

    @property
    def is_right(self) -> bool:
        """The gate held where it should, and the diagnosis says so, and nothing else."""
        ground, binding = self.ground, self.diagnosis.binding
        if ground.is_void or not ground.is_right:
            return False
        long = [held for held in ground.held if held.is_long_enough]
        if self.case.binds is None:
            return binding is None and not long
        family, phase, level = self.case.binds
        return (
            binding is not None
            and binding.ceiling is not None
            and [(family.value, phase)] == [(held.name, held.phase) for held in long]
            and (family, phase) == (binding.family, binding.ceiling.bucket_phase)
            and abs(binding.level / level - 1) < 0.01
        )

    def __str__(self) -> str:
        """The case, what held, and what was said."""
        held = ", ".join(
            f"{h.name} {h.phase.value} {h.held_s:.1f} s" + (f" at {h.delivered:,.0f}" if h.delivered else "")
            for h in self.ground.held
        )
        text = ", ".join(
            f"{t.family.value} {t.phase.value} {t.seconds:.0f} s at {t.level:,.0f}" for t in self.diagnosis.time_at
        )
        verdict = self.diagnosis.verdict.value
        return (
            f"{self.case.name} ({self.case.db_class}): held [{held}], found [{text}] {verdict}; {self.ground.kept_up}"
        )


class Rig:
    """A server with tables to scan behind a gate, for as long as the `with` block lasts."""

    def __init__(self, folder: Path, *, clock: float) -> None:
        self.folder, self.clock = folder, clock
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            disk = self.folder / "disk"
            disk.mkdir(mode=0o711)
            loader = Postgres(LOADING, data_directory=disk / "data")
            loader.account.own(disk)
            dataset = dataset_of("scan", memory_bytes=MEMORY_BYTES, clients=CLIENTS)
            with loader:
                fill(loader, dataset)
            buffers = MEMORY_BYTES // 4
            setup = sized_setup(
                GateSetup(instance=CASES[0].instance, clock=self.clock),
                workload_of("scan", clients=CLIENTS),
                cache_bytes=MEMORY_MIN_BYTES,
            )
            self.gate = stack.enter_context(Gate(setup, disk, self.folder / "mount"))
            settings = {
                "shared_buffers": f"{buffers // MIB}MB",
                "max_connections": str(CLIENTS + 20),
                "max_parallel_workers_per_gather": "0",
            }
            server = loader.relocated(self.folder / "mount" / "data", settings)
            self.server = stack.enter_context(server)
            blocks = dataset.size_bytes // 8192 // dataset.table_count
            scripts = {"points": _POINTS, "idle": _IDLE, "pauses": _PAUSES}
            for name, script in scripts.items():
                self.script(name).write_text(script.format(last=blocks // 32 - 1))
            self.script("scan").write_text(_SCAN)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def answer(self, case: Case, *, seconds: float, seconds_max: float | None = None) -> Answer:
        """
        Give the gate the case's limits, let the clients work, and diagnose it.

        A machine that stalls under other work spoils a second here and there. As long as the
        diagnosis names nothing where something is held, it is given more to look at, up to
        `seconds_max`; one that names something is taken at its word.
        """
        setup, chain = self.emulate(case.instance, credit_ratio=case.credits)
        clients = Clients(self._workload(case), self.server, duration_s=600, folder=self.folder)
        clients.start()
        try:
            # A part of a second for the connections; the mean of a step hides nothing after it.
            time.sleep(0.3)
            began_s = time.time()
            while True:
                time.sleep(seconds)
                answer = self._judged(case, setup, chain, began_s)
                is_open = case.binds is not None and answer.diagnosis.binding is None
                if not is_open or time.time() - began_s >= (seconds_max or seconds):
                    return answer
        finally:
            clients.end(0.0)
            self.end_statements()

    def script(self, name: str) -> Path:
        """The file of a load's statements, as pgbench takes it."""
        return self.folder / f"{name}.sql"

    def emulate(self, instance: Instance, *, credit_ratio: float) -> tuple[GateSetup, tuple[Stage, ...]]:
        """Give the gate the limits of an instance, with a share of its credits."""
        setup = GateSetup(instance=instance, clock=self.clock, credits=credit_ratio)
        chain = stages_of(setup, catalog())
        GateControl(self.gate.folder).ask(
            {
                "ask": "set",
                "chain": chain_document(chain),
                "balance_ratio": [credit_ratio if has_credits(s) else 1.0 for s in chain],
            }
        )
        return setup, chain

    def _judged(self, case: Case, setup: GateSetup, chain: tuple[Stage, ...], began_s: float) -> Answer:
        lines = [line for line in self.gate.lines() if line.t - line.dt >= began_s]
        diagnosis = diagnose_snapshot(snapshot_of(lines, setup))
        ground = compare_with_truth(diagnosis, truth_of(lines), chain, clock=self.clock)
        return Answer(case=case, diagnosis=diagnosis, ground=ground)

    def end_statements(self) -> None:
        """A scan whose client has gone would read on to the end of its table."""
        ended = "select pg_terminate_backend(pid, 10000) from pg_stat_activity where {}"
        ours = "backend_type = 'client backend' and pid <> pg_backend_pid()"
        self.server.run("psql", "-XAtc", ended.format(ours))

    def _workload(self, case: Case) -> Workload:
        script = str(self.script(case.workload))
        return workload_of("scan" if case.workload == "scan" else script, clients=CLIENTS)
