"""On the same samples, diagnose, watch, fleet, plan, alarm and limits say the same: what binds, since when, and how it ends."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import replace

import builders
import watched
from plimsoll.alarms.choose import choose_alarms
from plimsoll.app.alarm import alarms_in
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.fleet import exit_status
from plimsoll.app.lake.files import snapshot_points
from plimsoll.app.lake.ingest import _description
from plimsoll.app.lake.verdict import row_diagnosis
from plimsoll.app.plan import could_plan, plan_snapshot
from plimsoll.app.watch import first_steps
from plimsoll.catalog.load import catalog
from plimsoll.cli.diagnose.run import EXIT
from plimsoll.cli.plan.run import status_of
from plimsoll.diagnosis.overview import overview_of, overview_row
from plimsoll.fleet.parts import parts_of
from plimsoll.fleet.tables import DESCRIBED, POINTS
from plimsoll.fleet.verdict import VerdictLaw, instance_verdict
from plimsoll.limits import ceilings_of
from plimsoll.limits.sheet import sheet_of
from plimsoll.model.alarm import AlarmKind
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.family import CREDITS, FAMILIES, RATE_FAMILIES
from plimsoll.model.fleet import FleetRank, FleetVerdict
from plimsoll.model.fleet import exit_status as lake_status
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.now import open_at, reaches_end
from plimsoll.model.plan import FirstOptions, PlanConstraints
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import gib
from plimsoll.watch.judge import Judge
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rulebook import RuleTables
from plimsoll.watch.ledger import InstanceOutcome, RememberedInstance
from plimsoll.watch.targets import Computations

HOURS = 5
STORES = {
    "gp3": Storage(kind="gp3", size_gib=100.0),
    "gp2": Storage(kind="gp2", size_gib=100.0),
    "io1": Storage(kind="io1", size_gib=400.0, provisioned_ops_per_s=3000.0),
    "io2": Storage(kind="io2", size_gib=400.0, provisioned_ops_per_s=4000.0),
}
CLASSES = ("db.m5.large", "db.r6g.xlarge", "db.t3.medium", "db.r5.2xlarge")
RESOURCES = (
    Family.CPU,
    Family.MEMORY,
    Family.CONNECTIONS,
    Family.NETWORK,
    Family.STORAGE_SPACE,
    Family.LOCAL_STORAGE,
    Family.CAPACITY,
    Family.THROUGHPUT_CREDITS,
    Family.IOPS_CREDITS,
    Family.VOLUME_CREDITS,
    Family.CPU_CREDITS,
    Family.VOLUME_IOPS,
    Family.INSTANCE_EBS_THROUGHPUT,
)
PAIRS = (
    (Family.STORAGE_SPACE, Family.CPU),
    (Family.STORAGE_SPACE, Family.VOLUME_IOPS),
    (Family.CPU, Family.VOLUME_IOPS),
    (Family.CONNECTIONS, Family.MEMORY),
)
LEVELS = (1.0, 0.97, 0.9, 0.4)
# Of the window, in which the resource is used to its level: to the end, before, for minutes, all the time.
TIMES = ((0.5, 1.0), (0.2, 0.6), (0.9, 0.95), (0.0, 1.0))
LEFT_OUT = (
    (),
    (Metric.QUEUE_DEPTH, Metric.READ_LATENCY_S, Metric.WRITE_LATENCY_S),
    (),
    (Metric.READ_BYTES_PER_S,),
    (),
    (Metric.FREE_STORAGE_BYTES, Metric.CONNECTION_COUNT),
)
COUNT = 200


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is put into one window."""

    number: int
    families: tuple[Family, ...]
    level: float
    at: tuple[float, float]
    step_s: int
    instance: Instance
    left_out: tuple[Metric, ...]

    def __str__(self) -> str:
        """Return the name of the case in a failure."""
        names = "+".join(family.value for family in self.families)
        place = f"{self.instance.db_class} {self.instance.storage.kind}"
        return f"{self.number}: {names} {self.level:g} {self.at} {self.step_s} s, {place}, without {self.left_out}"


@cache
def cases() -> tuple[Case, ...]:
    """Return each resource at each level, then pairs at their maximum; the rest goes round by its number."""
    chosen = [((family,), level) for level, family in product(LEVELS, RESOURCES)]
    chosen += [((family,), 1.0) for family in RESOURCES * 5] + [(pair, 1.0) for pair in PAIRS * 6]
    chosen += [((family,), level) for level, family in product((1.0, 0.9, 0.995, 0.985), RESOURCES)]
    made = []
    for number, (families, level) in enumerate(chosen[:COUNT]):
        kind = tuple(STORES)[number % 4] if Family.VOLUME_CREDITS not in families else "gp2"
        db_class = CLASSES[number // 3 % 4] if Family.CPU_CREDITS not in families else "db.t2.medium"
        engine = "postgres"
        if families[0] in (Family.CAPACITY, Family.LOCAL_STORAGE):
            engine, db_class = "aurora-postgresql", "db.r6g.xlarge"
        if families[0] is Family.CAPACITY:
            db_class = "db.serverless"
        made.append(
            Case(
                number=number,
                families=families,
                level=level,
                at=TIMES[number // 2 % 4],
                step_s=(60, 300)[number % 2],
                instance=Instance(
                    identifier=f"i{number:03d}",
                    db_class=db_class,
                    engine=engine,
                    region="us-east-1",
                    connection_max=500,
                    capacity_acu_max=8.0,
                    launched_s=1_700_000_000,
                    storage=STORES[kind] if engine == "postgres" else Storage(),
                ),
                left_out=LEFT_OUT[number // 5 % 6],
            )
        )
    return tuple(made)


def samples(case: Case) -> Snapshot:
    """Return a calm window in which some resources are used to a level for a time."""
    rng = np.random.default_rng(case.number)
    count = HOURS * 3600 // case.step_s
    busy = np.zeros(count, dtype=bool)
    busy[int(case.at[0] * count) : int(case.at[1] * count)] = True
    ceilings = ceilings_of(case.instance, catalog())
    most = {c.family: c.value for c in sorted(ceilings, key=lambda c: c.value) if c.phase is not Phase.LEGACY}
    least = {c.family: c.value for c in sorted(ceilings, key=lambda c: -c.value) if c.phase is not Phase.LEGACY}
    level = np.where(busy, case.level, 0.3)
    calm = 4e6 * builders.wander(rng, count, 0.2)
    values = builders.storage(calm)
    for family in case.families:
        if family in (Family.VOLUME_IOPS, Family.INSTANCE_EBS_THROUGHPUT) and family in least:
            is_ops = family is Family.VOLUME_IOPS
            asked = least[family] * np.where(busy, 3 * case.level if case.level == 1 else case.level, 0.1)
            values |= builders.held_at(
                asked * builders.wander(rng, count, 0.1),
                least[family],
                rng=rng,
                dimension=Dimension.IOPS if is_ops else Dimension.THROUGHPUT,
                size_bytes=(8 if is_ops else 64) * 1024 * builders.wander(rng, count, 0.05),
            )
    empty = {
        Family.THROUGHPUT_CREDITS: Metric.BYTE_BALANCE_RATIO,
        Family.IOPS_CREDITS: Metric.IO_BALANCE_RATIO,
        Family.VOLUME_CREDITS: Metric.VOLUME_BALANCE_RATIO,
    }
    measured = {
        Family.CPU: {Metric.CPU_RATIO: level},
        Family.CONNECTIONS: {Metric.CONNECTION_COUNT: np.round(500 * level)},
        Family.STORAGE_SPACE: {Metric.FREE_STORAGE_BYTES: gib(case.instance.storage.total_gib or 0) * (1 - level)},
        Family.MEMORY: {Metric.FREEABLE_MEMORY_BYTES: most.get(Family.MEMORY, 0) * (1 - level)},
        Family.NETWORK: {
            Metric.NETWORK_TRANSMIT_BYTES_PER_S: most.get(Family.NETWORK, 0) * level,
            Metric.NETWORK_RECEIVE_BYTES_PER_S: np.full(count, 1e5),
        },
        Family.LOCAL_STORAGE: {Metric.FREE_LOCAL_STORAGE_BYTES: most.get(Family.LOCAL_STORAGE, 1e11) * (1 - level)},
        Family.CAPACITY: {Metric.CAPACITY_RATIO: level},
        Family.CPU_CREDITS: {
            Metric.CPU_CREDITS: np.where(busy, 300 * (1 - case.level), 300.0),
            Metric.CPU_RATIO: np.where(busy, least.get(Family.CPU_CREDITS, 0.2), 0.05)
            * builders.wander(rng, count, 0.01),
        },
        **{family: {metric: 1 - level} for family, metric in empty.items()},
    }
    # What is not the matter is calm, and measured.
    if case.instance.engine == "postgres":
        values |= {m: v * 0 + x for m, v, x in ((Metric.CPU_RATIO, level, 0.2), (Metric.CONNECTION_COUNT, level, 40.0))}
        values[Metric.FREE_STORAGE_BYTES] = np.full(count, gib(60))
    else:
        values = {}
    for family in case.families:
        values |= measured.get(family, {})
    if case.instance.engine != "postgres":
        values |= builders.storage(calm)
    kept = {metric: value for metric, value in values.items() if metric not in case.left_out}
    return builders.snapshot(kept, instance=case.instance, step_s=case.step_s)


def watched_as(snapshot: Snapshot) -> InstanceOutcome:
    """Return what a watch finds of a window that it reads for the first time."""
    judge = Judge(
        RuleTables(),
        Computations(diagnose=diagnose_snapshot, advise=lambda *_: (), draw=lambda *_: b"", weigh=None),
        runbook_base="",
        log=lambda *_, **__: None,
    )
    start_s, end_s = snapshot.window_s or (0, 0)
    at = replace(watched.INSTANCE, name=snapshot.instance.identifier)
    record = RememberedInstance(target="files", instance=at, data_end_s=start_s)
    return judge.of_data(snapshot, record, [], (), at_s=end_s, window_s=end_s - start_s)


def row_in_a_lake(snapshot: Snapshot, diagnosis: Diagnosis, first: FirstOptions | None) -> FleetVerdict:
    """Return the row of a lake; the options of its plan are given."""
    points = pa.concat_tables([part.cast(POINTS) for _, part in parts_of(snapshot_points(snapshot), 1)])
    described = pa.Table.from_pylist([_description(snapshot, (snapshot.window_s or (0, 0))[0])], schema=DESCRIBED)
    law = VerdictLaw(diagnose=row_diagnosis, plan=None if first is None else lambda *_: first)
    return msgspec.convert(instance_verdict(points.combine_chunks(), described, law).to_pylist()[0], FleetVerdict)


def contradictions(case: Case) -> Iterator[str]:
    """Yield each statement in which a command contradicts the diagnosis of the same window."""
    snapshot = samples(case)
    found = diagnose_snapshot(snapshot)
    status, bound, step_s = EXIT[found.verdict], found.binding, found.step_s or case.step_s
    now = open_at(found)
    yield from _of_watch(snapshot, found, step_s)
    yield from _of_alarm(snapshot, found)
    row = overview_row(found)
    if (row.verdict, row.binding and row.binding.family) != (found.verdict, bound and bound.family):
        yield "overview: another verdict or family"
    if (row.now and row.now.family) != (now and now.family) or (row.binding and row.binding.seconds != bound.seconds):
        yield "overview: another time"
    if exit_status(overview_of([row], (), window_s=None, source="")) != status:
        yield "overview: another status"
    first = None
    if could_plan(snapshot) and found.measured_s > 0:
        plan = plan_snapshot(found, snapshot, PlanConstraints(allow=("db.m5.*", "gp3")))
        first = FirstOptions(present=plan.present, options=plan.options, ladder=plan.ladder)
        yield from _of_plan(found, plan)
    lake = row_in_a_lake(snapshot, found, first)
    if (lake.verdict, lake.family) != (found.verdict.value, bound.family.value if bound else None):
        yield f"fleet: {lake.verdict} {lake.family} {lake.reason}"
    if abs((lake.at_ceiling_s or 0) - (bound.seconds if bound else 0)) > step_s or bool(lake.is_now) != bool(now):
        yield "fleet: another time"
    if lake_status((lake,)) != status:
        yield "fleet: another status"
    if bound and bound.dimension is Dimension.AMOUNT and (lake.option or lake.cheaper):
        yield f"fleet: buys {lake.option or lake.cheaper} where no size lifts"
    if found.verdict is Verdict.UNKNOWN and lake.cheaper:
        yield "fleet: saves although nothing is known"


def _of_watch(snapshot: Snapshot, found: Diagnosis, step_s: int) -> Iterator[str]:
    outcome = watched_as(snapshot)
    assert outcome.numbers is not None
    states = {one.ceiling: one.state for one in outcome.numbers.ceilings}
    standings = {s.subject.ceiling: s for s in outcome.standings if s.subject.rule == "bound"}
    spent = {s.subject.ceiling: s for s in outcome.standings if s.subject.rule == "balance-empty"}
    said = {m.ceiling: m for m in outcome.messages if m.rule == "bound"}
    end_s = found.window_s[1]
    # Credits pay for a burst, so at its rate an instance is near, and not bound.
    lasting = [
        i
        for i in found.intervals
        if reaches_end(found, i.end_s)
        and ((i.former_phase or i.phase) is not Phase.BURST or i.family not in RATE_FAMILIES)
    ]
    # Of spent credits a rule of its own tells, after an hour.
    owners = {credits_left: owner for owner, credits_left in CREDITS.items()}
    for i in (one for one in lasting if one.family in owners):
        bound = spent[owners[i.family].value].bound
        if not bound.since_s or abs(bound.since_s - i.start_s) > step_s:
            yield f"watch: {i.family.value} since another moment"
    lasting = [i for i in lasting if i.family not in owners]
    names = {i.family.value if i.family is not Family.UNKNOWN else f"unknown_{i.dimension.value}" for i in lasting}
    if names != {name for name, state in states.items() if state is WatchState.BOUND}:
        yield f"watch: bound {[n for n, s in states.items() if s is WatchState.BOUND]}, not {sorted(names)}"
    if found.verdict is not outcome.numbers.verdict:
        yield f"watch: {outcome.numbers.verdict.value}, not {found.verdict.value}"
    for i in lasting:
        standing = standings.get(i.family.value)
        if i.family is Family.UNKNOWN or standing is None:
            continue
        if not standing.bound.since_s or abs(standing.bound.since_s - i.start_s) > step_s:
            yield f"watch: {i.family.value} since another moment"
        is_told = end_s - i.start_s >= 600
        if is_told != (standing.state is WatchState.BOUND) or is_told != (FAMILIES[i.family].name in said):
            yield f"watch: state {standing.state.value} of {i.family.value}"
    now = open_at(found)
    steps = first_steps(found, snapshot) if now is not None and now.dimension is Dimension.AMOUNT else ()
    if steps and not any(steps[0] in f.moves for f in found.findings if f.code == FAMILIES[now.family].code):
        yield f"watch: advises {steps[0]} for {now.family.value}"


def _of_plan(found: Diagnosis, plan) -> Iterator[str]:
    bound, status = found.binding, EXIT[found.verdict]
    rate_s = plan.demand.held_back_s
    is_allowed = bound is not None and rate_s <= plan.allowed_ratio * plan.demand.measured_s
    has_maximum = any(at.dimension is Dimension.AMOUNT for at in found.time_at)
    # A plan may allow a share of the time at a storage rate, and nothing at a maximum.
    expected = 0 if is_allowed and not has_maximum else status
    if status_of(found, plan) != expected:
        yield f"plan: status {status_of(found, plan)}, not {expected}"
    is_content = "no change is needed" in plan.headline
    if is_content != (expected == 0):
        yield f"plan: {plan.headline}"
    is_maximum = bound is not None and bound.dimension is Dimension.AMOUNT
    if is_maximum and FAMILIES[bound.family].name not in plan.headline:
        yield f"plan: names another limit: {plan.headline}"
    if (is_maximum or found.verdict is Verdict.UNKNOWN) and (
        plan.options or plan.unpriced or plan.ladder or plan.curve
    ):
        yield f"plan: offers {len(plan.options)} options where no size helps"


def _of_alarm(snapshot: Snapshot, found: Diagnosis) -> Iterator[str]:
    alarms = alarms_in(snapshot, found)
    bound = found.binding
    lasting = bound is not None and (bound.ceiling is None or bound.ceiling.bucket_phase is not Phase.BURST)
    if lasting and alarms.held_family is not bound.family:
        yield f"alarm: {alarms.held_family} held it back, not {bound.family}"
    if not found.time_at and alarms.held_family is not None:
        yield "alarm: a limit where none was"
    at = {i.family for i in found.intervals}
    for alarm, history in zip(alarms.alarms, alarms.histories, strict=True):
        is_rate = alarm.kind is AlarmKind.RATE and not alarm.key.endswith("burst")
        if is_rate and history.is_measured and (alarm.family in at) != (history.reached_s is not None):
            yield f"alarm: {alarm.name} reached at {history.reached_s}"


def test_no_command_contradicts_the_diagnosis():
    """200 windows: each resource at, just below and near its maximum, on each storage, by one and five minutes."""
    found = [f"{text}  [{case}]" for case in cases() for text in contradictions(case)]

    assert [] == found, f"{len(found)} contradictions:\n" + "\n".join(found[:400])


def test_the_windows_are_of_every_kind():
    """Each resource binds in three windows or more, and no verdict is missing."""
    found = [diagnose_snapshot(samples(case)) for case in cases()]
    bound = [d.binding.family for d in found if d.binding]

    assert set(Verdict) == {d.verdict for d in found}
    assert [] == [f.value for f in RESOURCES if bound.count(f) < 3]


def test_a_full_disk_ranks_first():
    """Whatever binds for longer on other instances: a database without space stands."""
    chosen = [case for case in cases() if {Family.STORAGE_SPACE, Family.CPU} & set(case.families) and case.level == 1]
    found = [(snapshot, diagnose_snapshot(snapshot)) for snapshot in map(samples, chosen)]
    rows = overview_of([overview_row(diagnosis) for _, diagnosis in found], (), window_s=None, source="").rows
    lakes = sorted((row_in_a_lake(*one, None) for one in found), key=lambda row: row.sort_key)
    for is_full in (
        [row.now.family is Family.STORAGE_SPACE for row in rows if row.now],
        [row.family == Family.STORAGE_SPACE for row in lakes if row.rank is FleetRank.NOW],
    ):
        assert sorted(is_full, reverse=True) == is_full
        assert {True, False} == set(is_full)


STORED = {
    **STORES,
    "gp3, 500 GiB": Storage(kind="gp3", size_gib=500.0),
    "gp3, fast": Storage(kind="gp3", size_gib=500.0, provisioned_ops_per_s=16_000.0, provisioned_bytes_per_s=1e9),
    "gp2, 500 GiB": Storage(kind="gp2", size_gib=500.0),
    "gp2, 5,000 GiB": Storage(kind="gp2", size_gib=5000.0),
    "io1, fast": Storage(kind="io1", size_gib=400.0, provisioned_ops_per_s=20_000.0),
    "io2, fast": Storage(kind="io2", size_gib=400.0, provisioned_ops_per_s=40_000.0),
}


@pytest.mark.parametrize("storage", STORED)
def test_alarms_can_fire_as_limits_says(storage: str):
    """For all classes: an alarm on a balance is on one that can move, and on a rate on one that the sheet reaches."""
    wrong = []
    for db_class in catalog().classes():
        instance = Instance(db_class=db_class, engine="postgres", storage=STORED[storage])
        sheet = sheet_of(instance, catalog())
        moves = {note.metric: note.can_move for note in sheet.balances}
        most = {
            "bytes/s": max((row.burst.bytes_per_s for row in sheet.curve), default=0.0),
            "ops/s": max((row.burst.ops_per_s for row in sheet.curve), default=0.0),
        }
        alarms, left_out = choose_alarms(instance, catalog())
        for alarm in alarms:
            balance = alarm.balance or (alarm.metrics[0] if alarm.kind is AlarmKind.BALANCE else None)
            if balance is not None and moves[balance] is False:
                wrong.append(f"{db_class}: {alarm.name} cannot move")
            if alarm.unit in most and alarm.ceiling and alarm.ceiling > most[alarm.unit] * (1 + 1e-9):
                wrong.append(f"{db_class}: {alarm.name} cannot be reached")
        watched_balances = {a.metrics[0] for a in alarms if a.kind is AlarmKind.BALANCE}
        wrong += [f"{db_class}: no alarm on {m.value}" for m, can in moves.items() if can and m not in watched_balances]
        known = {alarm.name for alarm in alarms}
        wrong += [f"{db_class}: {one.name} is both" for one in left_out if one.name in known]

    assert [] == wrong[:10]
