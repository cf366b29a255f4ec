"""Build cases from the project's own generator: the same load of a seed, on multiplied limits."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from zlib import crc32

import numpy as np
from msgspec import structs
from numpy.random import default_rng

from incidents import build, pressed
from incidents.build import WITH_CEILING, Incident
from incidents.engine import UNIT_BYTES
from incidents.machine import FAMILY, STAGES, Machine, is_bytes
from incidents.observe import Served
from incidents.scenario import Load
from incidents.signals import STEP_S, log_uniform
from plan_arms.case import SCALES, Case, Subject
from plimsoll.kernel import Stage
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot

# Requests that are not served give up after a while: interactive ones soon, batches late.
PATIENCE_S = (0.5, 30.0)
OPS_PER_TRANSACTION = (3.0, 200.0)


def case_of(seed: int, *, is_signalled: bool = False, is_counted: bool = False) -> Case:
    """Return the case of a seed; families take turns so that all are equally frequent."""
    family, attempt, incident = _drawn(seed)
    ratios = {}
    for scale in SCALES:
        rng = _stream(seed, family, attempt)
        load = _load(rng, family, attempt)
        load.machine = scaled(load.machine, scale)
        served = build.serve(rng, load, 1.0)
        ratios[scale] = _ratio(served, incident)
    snapshot = incident.snapshot
    if is_signalled:
        rng = _stream(seed, family, attempt)
        load = _load(rng, family, attempt)
        served = build.serve(rng, load, 1.0)
        snapshot = with_signals(seed, incident, load, served, is_counted=is_counted)
    seconds = float(incident.truth.is_seen.sum()) * incident.truth.period_s
    machine = incident.machine
    return Case(seed, family, snapshot, lambda s: chain_of(machine, s), ratios, seconds, _loop(load))


def subject_of(seed: int) -> Subject:
    """Return the incident of a seed, and a function for its outcome on the limits of an arrangement."""
    family, attempt, incident = _drawn(seed)

    def ratio_on(chain: Sequence[Stage], keeps_class: bool, keeps_storage: bool) -> float:
        rng = _stream(seed, family, attempt)
        load = _load(rng, family, attempt)
        load.machine = moved(load.machine, chain, keeps_class=keeps_class, keeps_storage=keeps_storage)
        return _ratio(build.serve(rng, load, 1.0), incident)

    loop = _loop(_load(_stream(seed, family, attempt), family, attempt))
    return Subject(seed, family, incident.snapshot, loop, ratio_on)


def _drawn(seed: int) -> tuple[str, int, Incident]:
    """Return the family of a seed, and the try that matches the family."""
    family = WITH_CEILING[seed % len(WITH_CEILING)]
    for attempt in range(build.TRIES):
        incident = build.attempt_at(_stream(seed, family, attempt), seed, family, None, attempt)
        if incident is not None:
            return family, attempt, incident
    raise AssertionError(f"no {family} from seed {seed}")


def _stream(seed: int, family: str, attempt: int) -> np.random.Generator:
    return default_rng([seed, 1, crc32(family.encode()), attempt])


def _load(rng: np.random.Generator, family: str, attempt: int) -> Load:
    load: Load = getattr(pressed, family)(rng, build.setting_of(rng, family, attempt))
    return load


def _ratio(served: Served, incident: Incident) -> float:
    """Return the share 0–1 of the seen time in which a ceiling throttled requests, however lightly."""
    per = incident.truth.period_s // STEP_S
    return float((served.stage >= 0).reshape(-1, per).mean(axis=1)[incident.truth.is_seen].mean())


def _loop(load: Load) -> str:
    closed, opened = bool(load.clients.any()), bool(load.open_ops.any())
    return "mixed" if closed and opened else "closed" if closed else "open"


def scaled(machine: Machine, scale: float) -> Machine:
    """Return the same machine with every limit, burst and capacity multiplied."""
    row, disk = machine.row, machine.real_disk
    found = copy(machine)
    found.row = replace(
        row, tput=(row.tput[0] * scale, row.tput[1] * scale), iops=(row.iops[0] * scale, row.iops[1] * scale)
    )
    found.real_disk = replace(
        disk,
        tput=disk.tput * scale,
        iops=(disk.iops[0] * scale, disk.iops[1] * scale),
        credit_ops=disk.credit_ops * scale,
    )
    if machine.extra is not None:
        found.extra = (machine.extra[0], machine.extra[1] * scale)
    return found


def moved(machine: Machine, chain: Sequence[Stage], *, keeps_class: bool, keeps_storage: bool) -> Machine:
    """
    Return the same machine with the documented limits of another class or storage.

    An undocumented limit goes with whatever is changed. Instance buckets keep the reading of "30
    minutes at the maximum" that the machine was drawn with.
    """
    by_name = {stage.name: stage for stage in chain}
    found = copy(machine)
    found.extra, found.replaced = None, frozenset()
    if not keeps_class:
        found.row = replace(
            machine.row, tput=_rates(by_name, "instance_ebs_throughput"), iops=_rates(by_name, "instance_ebs_iops")
        )
        found.capacity_s = {
            "inst_tput": _bucket_s(machine, "inst_tput", machine.row.tput, found.row.tput),
            "inst_iops": _bucket_s(machine, "inst_iops", machine.row.iops, found.row.iops),
        }
    if not keeps_storage:
        ops = by_name.get("volume_iops")
        found.real_disk = replace(
            machine.real_disk,
            tput=_rates(by_name, "volume_throughput")[0],
            iops=_rates(by_name, "volume_iops"),
            credit_ops=0.0 if ops is None else ops.capacity * ops.stripes,
        )
    return found


def _rates(by_name: dict[str, Stage], name: str) -> tuple[float, float]:
    """Return baseline and burst of all stripes; no limit if none is documented."""
    stage = by_name.get(name)
    return (1e15, 1e15) if stage is None else (stage.baseline * stage.stripes, stage.burst * stage.stripes)


def _bucket_s(machine: Machine, stage: str, was: tuple[float, float], now: tuple[float, float]) -> float:
    """Return the capacity in seconds of (burst − baseline), by the reading drawn for the machine."""
    if now[1] <= now[0]:
        return 0.0
    drawn = machine.capacity_s.get(stage, 0.0)
    if was[1] <= was[0] or drawn <= 1800.0:
        return 1800.0
    # The other reading counts the whole burst: 1800 s of it, or up to twice as much.
    return drawn * (was[1] - was[0]) / was[1] * now[1] / (now[1] - now[0])


def chain_of(machine: Machine, scale: float) -> tuple[Stage, ...]:
    """Return what is enforced at nominal numbers; instance buckets at the smaller documented reading."""
    stages = []
    for stage in STAGES:
        low, high = (scale * v for v in machine.nominal(stage))
        if not np.isfinite(low):
            continue
        capacity = 0.0
        if stage == "vol_iops":
            capacity = machine.real_disk.credit_ops * scale
        elif stage.startswith("inst"):
            capacity = 1800.0 * (high - low)
        stages.append(
            Stage(
                name=FAMILY.get(stage, stage),
                baseline=low,
                burst=high,
                capacity=capacity,
                counts="bytes" if is_bytes(stage) else "ops",
                unit_bytes=UNIT_BYTES if stage == "vol_iops" else None,
            )
        )
    return tuple(stages)


def with_signals(seed: int, incident: Incident, load: Load, served: Served, *, is_counted: bool) -> Snapshot:
    """
    Return the snapshot with the database's own counters, computed from the engine's numbers.

    Clients have a connection and are active during a request; the time between requests belongs to them
    or, in half of the cases, to the server. Requests from outside that are not served wait where they can
    be counted, or give up. Half of the loads do so within the database, where each holds a session and
    ends as a rollback, half before it. The application, if it counts, counts arrivals from outside and
    how many are done; without arrivals from outside, its clients' own requests.
    """
    rng = default_rng([seed, 3])
    k = log_uniform(rng, *OPS_PER_TRANSACTION)
    opened, waiting = served.credits[3], served.credits[4]
    lost = np.maximum(load.open_ops - opened - np.diff(waiting, prepend=0.0) / STEP_S, 0.0)
    lost = np.where(served.stage >= 0, lost, 0.0)
    given_up = np.minimum(lost / k * log_uniform(rng, *PATIENCE_S), 2000.0)
    is_inside = bool(default_rng([seed, 4]).random() < 0.5)
    rolled = 0.002 * served.rate / k + (lost / k if is_inside else 0.0)
    given_up = given_up if is_inside else np.zeros(given_up.size)
    in_storage = served.rate * served.latency
    elsewhere = (served.rate - opened) * load.think_s
    computing = elsewhere if rng.random() < 0.5 else np.zeros(elsewhere.size)
    opened_in_storage = opened * served.latency
    idle = float(rng.integers(3, 40))
    values = {
        Metric.ACTIVE_SESSION_COUNT: in_storage + computing + given_up,
        Metric.CONNECTION_COUNT: idle + load.clients + opened_in_storage + given_up,
        Metric.TRANSACTIONS_PER_S: served.rate / k + rolled,
        Metric.ROLLBACKS_PER_S: rolled,
        Metric.WAITING_WORK_COUNT: waiting / k,
    }
    if is_counted:
        is_outside = bool(load.open_ops.any())
        values[Metric.ARRIVALS_PER_S] = (load.open_ops if is_outside else served.rate) / k
        values[Metric.COMPLETIONS_PER_S] = (opened if is_outside else served.rate) / k
    series = dict(incident.snapshot.series)
    period = incident.truth.period_s
    for metric, value in values.items():
        mean = value.reshape(-1, period // STEP_S).mean(axis=1)
        mean = mean * np.exp(rng.normal(0, 0.02, mean.size))
        keep = incident.truth.is_seen
        series[metric] = Series(metric=metric, step_s=period, time_s=incident.truth.time_s[keep], value=mean[keep])
    return structs.replace(incident.snapshot, series=series)
