"""Documents of forms of JSON reports, made by the code that writes them, where golden files are too few or too usual."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from typer.testing import CliRunner

import builders
import failover_reports
import inspections
import plans as way_past
import pooled_reports
from contract.tree import ROOT, files
from experiments import NOTHING, experiment, phase
from paced import COUNTED, T3, slow_truth
from plimsoll.catalog.load import catalog
from plimsoll.causes.session_load import statement_load
from plimsoll.cli.commands import app
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.diagnosis.own_events import own_events_io
from plimsoll.explain import plans
from plimsoll.kernel import Stage
from plimsoll.limits.sheet import sheet_of
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.model.diagnosis import Lookalike
from plimsoll.model.explain import Node, UnrecordedStatement
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.overview import WaitingTime
from plimsoll.model.own_event import OwnEvent, OwnEventFile
from plimsoll.model.pace import PaceReport
from plimsoll.model.rehearsal import Span
from plimsoll.model.snapshot import Gap
from plimsoll.model.toast import ToastCase, ToastProof, ToastSample
from plimsoll.reports.diagnosis.json import render_json
from plimsoll.reports.experiment.json import render_experiment_json
from plimsoll.reports.explain.json import render_captures, render_explain_json
from plimsoll.reports.failover.json import render_failover_json
from plimsoll.reports.gate.json import render_gate_status
from plimsoll.reports.limits.json import render_limits_json
from plimsoll.reports.overview.json import render_overview_json
from plimsoll.reports.pace.json import render_pace_json
from plimsoll.reports.plan.json import render_plan_json
from plimsoll.reports.pooled.json import render_pooled_json
from plimsoll.reports.rehearse.json import render_rehearsal_json
from plimsoll.reports.sweep.json import render_sweep_json
from plimsoll.reports.toast.json import render_toast_proof_json
from plimsoll.sources.explain.file import read_captures
from rehearsals import rehearsal
from session_loads import session_load
from unit.cli.gate.test_run import STATUS
from unit.diagnosis.waiting.test_waiting import M5, slow_for_three_hours
from unit.reports.fixture_diagnosis import CASES
from unit.reports.fixture_fleet import fleet
from unit.reports.fixture_parts import INSTANCE
from unit.reports.fixture_sweep import report

POINTS = [f"--point={n}:{rate}" for n, rate in ((1, 100), (2, 190), (4, 340), (8, 520), (16, 600))]
SIZES = {
    "nothing known": (),
    "a rule of thumb": ("--max-connections", "500", "--vcpus", "8", "--others", "5"),
    "measured": ("--max-connections", "500", *POINTS),
    "fits": ("--max-connections", "5000"),
}
INI = """
[databases]
orders = host=db1 user=app pool_size=30 min_pool_size=2 pool_mode=transaction
* = host=db2 reserve_pool_size=3 max_db_connections=50
[users]
app = pool_size=40 reserve_pool_size=1 pool_mode=session max_user_connections=60
[pgbouncer]
pool_mode = transaction
server_lifetime = 0
"""
POOLERS = {
    "pgbouncer.ini": INI,
    "pgpool.conf": "num_init_children = 400\nmax_pool = 4\nchild_max_connections = 10\n",
    "sound.ini": "[pgbouncer]\nlisten_port = 6432\n",
}

BOUGHT = {
    "legacy limits and credits": (
        "db.r5.2xlarge",
        *("--storage", "gp2", "--size-gib", "1000", "--launched", "2019-06-01"),
    ),
    "more than the instance takes": (
        *("db.m7g.large", "--multi-az", "--volumes", "4", "--storage", "gp3"),
        *("--size-gib", "500", "--iops", "40000", "--throughput-mibps", "2000"),
    ),
    "CPU credits": ("db.t3.xlarge", "--storage", "gp2", "--size-gib", "100"),
    "magnetic": ("db.m3.medium", "--storage", "standard", "--size-gib", "100"),
}

Document = dict


def pool_sizes(_folder: Path) -> Iterator[Document]:
    """With nothing known, by a rule of thumb, measured, and where all fits."""
    for arguments in SIZES.values():
        yield _printed("pool-size", "--service", "orders=4x20", "--service", "jobs=1x5", *arguments)


def limits(_folder: Path) -> Iterator[Document]:
    """Of every kind of storage and of none; where no limit is documented; of several storages."""
    for arguments in BOUGHT.values():
        yield _printed("limits", *arguments, "--engine", "postgres")
    io1 = Storage(kind="io1", size_gib=500, provisioned_ops_per_s=20_000)
    oracle = replace(
        INSTANCE,
        engine="oracle-ee",
        cluster="orders",
        storage=Storage(kind="gp3", size_gib=500, additional=(io1, io1)),
    )
    for instance in (
        Instance(db_class="db.r5.2xlarge"),
        Instance(db_class="db.r5.2xlarge", storage=io1),
        Instance(db_class="db.r5.2xlarge", engine="aurora-mysql", storage=Storage(kind="aurora")),
        Instance(engine="aurora-postgresql", db_class="db.serverless", capacity_acu_max=16),
        Instance(db_class="db.m1.small"),
        oracle,
    ):
        yield json.loads(render_limits_json(sheet_of(instance, catalog())))


def findings(folder: Path) -> Iterator[Document]:
    """Of either pooler, and of settings in which nothing was found."""
    for name, text in POOLERS.items():
        (folder / name).write_text(text)
        yield _printed("lint", "pooler", str(folder / name), "--max-connections", "100")


def declared(_folder: Path) -> Iterator[Document]:
    """Of a plan with every finding, and of a template."""
    fixtures = ROOT / "tests/fixtures/infrastructure"
    yield _printed("lint", "terraform", str(fixtures / "mixed.json"))
    yield _printed("lint", "terraform", str(fixtures / "sound.json"))
    template = ROOT / "examples/infrastructure/template.yaml"
    yield _printed("lint", "cloudformation", str(template), "--region", "us-east-1")


def proofs(_folder: Path) -> Iterator[Document]:
    """With a copy, and a sample whose mean is not known."""
    case = ToastCase(
        name="send the same value again",
        storage="external",
        value_bytes=9980,
        stored_bytes=9980,
        statement="update t set body = $1 where id = 1",
        rows_updated=1,
        chunks_written=5,
        chunks_dead=5,
        wal_bytes=11_030,
        buffers=25,
    )
    sample = ToastSample(
        table="public.docs",
        column="body",
        seconds=10.0,
        untouched=1,
        resent_same=2,
        resent_changed=3,
        resent_unknown=4,
    )
    proof = ToastProof(
        place="127.0.0.1:5432/orders",
        version="18.6",
        chunk_bytes=1996,
        cases=(case,),
        copies=(case, case),
        sample=(sample,),
        notes=("this server was built without lz4",),
    )
    yield json.loads(render_toast_proof_json(proof))


def gates(_folder: Path) -> Iterator[Document]:
    """At a limit, and idle with a stage that limits nothing."""
    free = Stage(name="disk", baseline=float("inf"), burst=float("inf"), counts="ops")
    idle = replace(STATUS, binding=None, phase=None, chain=(free,), balance={"disk": None})
    for status in (STATUS, idle):
        text = render_gate_status(
            status, emulated="db.t3.xlarge", mount="/mnt/gate", clock=60.0, emulated_minute_s=1.0
        )
        yield json.loads(text)


def swept(_folder: Path) -> Iterator[Document]:
    """With every kind of limit, with nothing found, and without any configuration."""
    bare = replace(report().fit.phases[0], ops_limit=None, bytes_limit=None, knee=None, unit=None)
    nothing = replace(report(), fit=replace(report().fit, phases=(bare,)))
    yield json.loads(render_sweep_json([report(), nothing]))
    yield json.loads(render_sweep_json([]))


def executions(_folder: Path) -> Iterator[Document]:
    """Compared with another plan, a slower one and what one side lacks; recorded whole and in part."""
    first, slow = (
        read_captures(ROOT / f"examples/plans/{name}.json") for name in ("normal", "slow")
    )
    other = replace(slow.captures[0], plan=Node(label="Seq Scan", relation="documents"))
    alone = replace(slow.captures[0], statement="select 1")
    second = replace(slow, captures=(other, alone, slow.captures[1]))
    yield json.loads(render_explain_json(plans.compare(first, second, names=("a", "b"))))
    late = UnrecordedStatement(statement="select 1", reason="late")
    for recording in (first, replace(first, unrecorded=(late,))):
        yield json.loads(render_captures(recording))


def overviews(_folder: Path) -> Iterator[Document]:
    """With and without instances, without an API, and with a number that is not known."""
    rows = fleet().rows
    left = replace(rows[0].credits_left, ratio=float("nan"))
    waiting = WaitingTime(
        seconds=600.0,
        share_ratio=0.25,
        times=3.0,
        first_s=1_600_000_000,
        last_s=1_600_003_600,
        is_now=False,
        check="Watch the host.",
    )
    refused = Gap(metric="RDS events", reason="access denied", remedy="Allow it.")
    odd = replace(rows[0], credits_left=left, waiting=waiting, failed=(refused,))
    for found in (
        fleet(),
        fleet((), ()),
        fleet(usage=None, usd=None, window_s=None, stopped="the token expired"),
        fleet((odd,), ()),
    ):
        yield json.loads(render_overview_json(found))


def planned(_folder: Path) -> Iterator[Document]:
    """Full, quiet, and with as little as can be."""
    for made in way_past.PLANS.values():
        yield json.loads(render_plan_json(made()))
    limited = replace(way_past.claims().instance, ebs_limits=INSTANCE.ebs_limits)
    yield json.loads(render_plan_json(way_past.claims(instance=limited)))


def paced(_folder: Path) -> Iterator[Document]:
    """By metrics, by none, and with a server's counters."""
    yield _printed("pace", str(ROOT / "examples/claims-pipeline"))
    controller = PaceController(T3, PaceTerms())
    for observe in (
        lambda: None,
        lambda: controller.observe_slow(slow_truth()),
        lambda: controller.observe_fast(COUNTED),
    ):
        observe()
        found = PaceReport(
            identifier="orders",
            source="a test",
            is_simulated=True,
            allowance=controller.allowance(0),
        )
        yield json.loads(render_pace_json(found))


def rehearsed(_folder: Path) -> Iterator[Document]:
    """In time, late and not known; without credits, prices and an end."""
    endless = replace(
        rehearsal().present, seconds=Span(low=math.inf, likely=None, high=math.inf), end_per_s=0.0
    )
    for one in (
        rehearsal(),
        rehearsal(finish_within_s=60.0),
        rehearsal(finish_within_s=1e6),
        rehearsal(balance=None, classes=(), prices_as_of=None),
        rehearsal(present=replace(endless, binding=None)),
    ):
        yield json.loads(render_rehearsal_json(one))


def played(_folder: Path) -> Iterator[Document]:
    """Right, and with nothing measured."""
    for one in (experiment(), experiment(phase(figures=NOTHING), is_void=True)):
        yield json.loads(render_experiment_json(one))


def reported(_folder: Path) -> Iterator[Document]:
    """Pressed, quiet and unknown, with an inspection and without one; waiting, and a lookalike."""
    for made in CASES.values():
        yield json.loads(render_json(made()[0], inspections.inspection()))
        yield json.loads(render_json(made()[0]))
    lookalike = Lookalike(text="the baseline of another", flags="--class db.r5.2xlarge", value=1e6)
    shot = builders.snapshot(slow_for_three_hours(np.random.default_rng(1)), instance=M5)
    waited, pressed = diagnose(shot, catalog()), CASES["pressed"]()[0]
    at = replace(pressed.time_at[0], lookalikes=(lookalike,))
    yield json.loads(render_json(replace(waited, time_at=(at,))))
    made, seen = CASES["pressed"]()[:2]
    start_s, end_s = made.window_s
    load = session_load((start_s, start_s + 3600), (start_s + 3600, end_s))
    rules = catalog().wait_rules("postgres")
    one = OwnEvent(name="load", kind="job", start_s=start_s, end_s=start_s + 600)
    events = OwnEventFile(
        name="events.csv", events=(one, OwnEvent(name="release", start_s=start_s))
    )
    whole = replace(
        made,
        statements=statement_load(load, rules),
        own_events=own_events_io(events, seen, made),
    )
    yield json.loads(render_json(whole))


def kept() -> Iterator[tuple[Path, Document]]:
    """Every JSON document of a form that is kept in the repository, with its path."""
    for path in files(".json"):
        if path.relative_to(ROOT).parts[0] in ("tests", "examples", "docs"):
            document = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(document, dict) and "schema" in document:
                yield path.relative_to(ROOT), document


def _printed(*arguments: str) -> Document:
    """What a command prints for programs."""
    result = CliRunner().invoke(app, (*arguments, "--format", "json"), env={"PLIMSOLL_DSN": ""})
    return json.loads(result.stdout)


def pooled(_folder: Path) -> Iterator[Document]:
    """A pooled cluster, with a phase in which nothing was measured."""
    for figures in (pooled_reports.FIGURES, pooled_reports.NOTHING):
        phases = (pooled_reports.phase(figures=figures),)
        yield json.loads(render_pooled_json(pooled_reports.report(phases=phases)))


def failed_over(_folder: Path) -> Iterator[Document]:
    """Healed and not, with services and without them."""
    without = replace(failover_reports.ROUND, services=None)
    for found in (
        failover_reports.report(),
        failover_reports.report(rounds=(failover_reports.UNHEALED,)),
        failover_reports.report(rounds=(without,), services=None, fleet=""),
    ):
        yield json.loads(render_failover_json(found))


# By the name of the form's schema file.
DOCUMENTS: dict[str, Callable[[Path], Iterator[Document]]] = {
    "experiment": played,
    "explain": executions,
    "failover": failed_over,
    "gate-status": gates,
    "infrastructure": declared,
    "limits": limits,
    "lint": findings,
    "overview": overviews,
    "pace": paced,
    "plan": planned,
    "pool-size": pool_sizes,
    "pooled-cluster": pooled,
    "rehearsal": rehearsed,
    "report": reported,
    "sweep": swept,
    "toast-proof": proofs,
}
