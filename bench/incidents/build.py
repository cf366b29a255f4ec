"""Build an incident from a seed: draw a family, build it, serve it, observe it, check the truth."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from zlib import crc32

import numpy as np
from numpy.random import Generator, default_rng

from incidents import clear, engine, observe, pressed, signals
from incidents.machine import STAGES, Machine
from incidents.observe import Lens, Served
from incidents.scenario import Load, Setting
from incidents.truth import Truth, truth_of
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot

WITH_CEILING = (
    "burst_exhausted_throughput", "burst_exhausted_iops", "burst_throughput", "burst_iops",
    "fixed_throughput", "fixed_iops", "gp2_credits_single", "gp2_credits_striped", "gp2_burst",
    "gp3_iops", "volume_throughput", "provisioned_iops", "legacy_limits", "unknown_limit",
    "unknown_class", "stale_catalog", "alternating_ceilings", "nightly_batch",
    "closed_loop_pegged", "daily_grant", "long_vacuum", "micro_bursts",
)  # fmt: skip
WITHOUT_CEILING = (
    "quiet_diurnal", "flat_demand", "coincident_level", "rate_limiter", "worker_pool", "cpu_bound",
    "batch_plateaus", "spikes", "near_limit", "latency_fault_open", "latency_fault_closed",
    "network_bound", "lock_contention", "checkpoint_sawtooth", "backup_latency",
    "connection_storm", "memory_pressure", "lazy_loading", "burst_with_credits_left",
)  # fmt: skip
FAMILIES = WITH_CEILING + WITHOUT_CEILING
TRIES = 14


@dataclass(frozen=True, slots=True)
class Incident:
    """Hold a simulated reading with its truth."""

    seed: int
    family: str
    snapshot: Snapshot
    truth: Truth
    machine: Machine
    lens: Lens


def family_of(seed: int) -> str:
    """Return the family of a seed if none is requested."""
    return FAMILIES[int(default_rng([seed, 0]).integers(len(FAMILIES)))]


def generate(seed: int, *, family: str | None = None, shift: str | None = None) -> Incident:
    """
    Generate the incident of a seed; equal arguments give equal bytes.

    Args:
        family: one of FAMILIES; the seed's own if None.
        shift: one of observe.SHIFTS: the same incident observed under other conditions.

    Raises:
        AssertionError: the family could not be built in TRIES tries (a mistake of ours).
    """
    name = family or family_of(seed)
    assert name in FAMILIES, name
    assert shift is None or shift in observe.SHIFTS, shift
    for attempt in range(TRIES):
        rng = default_rng([seed, 1, crc32(name.encode()), attempt])
        incident = attempt_at(rng, seed, name, shift, attempt)
        if incident is not None:
            return incident
    raise AssertionError(f"no {name} from seed {seed}")


def attempt_at(rng: Generator, seed: int, family: str, shift: str | None, attempt: int) -> Incident | None:
    """Return the incident of one try; None if it does not match its family."""
    setting = setting_of(rng, family, attempt)
    builder = getattr(pressed if family in WITH_CEILING else clear, family)
    load: Load = builder(rng, setting)
    jitter = 3.0 if shift == "noise3" else 1.0
    served = serve(rng, load, jitter)
    lens = observe.shifted(observe.draw_lens(default_rng([seed, 2, crc32(family.encode())])), shift)
    if not _is_as_meant(family, load, served):
        return None
    series = observe.observe(rng, load, served, lens, setting.start_s)
    count = setting.length_s // lens.period_s
    seen = np.ones(count, dtype=bool)
    for metric in (
        Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S,
        Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S,
    ):  # fmt: skip
        here = np.zeros(count, dtype=bool)
        here[(series[metric].time_s - setting.start_s) // lens.period_s] = True
        seen &= here
    truth = truth_of(load.machine, served, lens.period_s, setting.start_s, seen)
    if family in WITH_CEILING and family != "micro_bursts" and not truth.intervals:
        return None
    instance = describe(load.machine, seed)
    if shift == "no_catalog":
        instance = replace_storage(instance)
        blind = tuple(replace(i, family="unknown", is_unknown=True, former_phase=None) for i in truth.intervals)
        truth = replace(truth, intervals=blind)
    snapshot = Snapshot(
        instance=instance,
        series=series,
        source=f"simulated incident {seed}",
        is_simulated=True,
        note="Simulated by the incident generator of the benchmark.",
    )
    return Incident(seed, family, snapshot, truth, load.machine, lens)


def setting_of(rng: Generator, family: str, attempt: int) -> Setting:
    """Return length and start of the window of one try."""
    days = int(rng.choice([1, 1, 1, 2, 2, 3, 3, 5, 7]))
    if family in ("closed_loop_pegged", "daily_grant"):
        # At a ceiling nearly all the time: a week of one of them would outweigh a dozen others.
        days = min(days, 2)
    # Legacy limits were current until 2020. Nothing else in the classes' rows has changed since January
    # 2023, so later windows have today's numbers.
    first = (2020, 4) if family == "legacy_limits" else (2024, 6)
    begin = datetime(first[0], first[1], 1, tzinfo=UTC).timestamp()
    start = int(begin) + int(rng.integers(0, 600 * 86400 // 300)) * 300
    return Setting(days * 86400 // signals.STEP_S, start, attempt)


def serve(rng: Generator, load: Load, jitter: float) -> Served:
    """Run the engine with enforced levels that deviate from the nominal ones."""
    machine, flow, n = load.machine, load.flow, load.open_ops.size
    base, burst, capacity = np.empty(6), np.empty(6), np.zeros(6)
    for k, stage in enumerate(STAGES):
        # Enforced levels are between 1.5 % below and 0.3 % above the documented ones.
        low, high = machine.nominal(stage)
        base[k] = low * rng.uniform(0.985, 1.003)
        burst[k] = high * rng.uniform(0.985, 1.003) if high > low else base[k]
        if stage == "vol_iops":
            capacity[k] = machine.real_disk.credit_ops
        elif stage in machine.capacity_s and stage not in machine.replaced:
            capacity[k] = machine.capacity_s[stage] * (high - low)
    start = np.array([capacity[k] * load.credit_share.get(s, 1.0) for k, s in enumerate(STAGES)])
    shared = signals.slow(rng, n, jitter * rng.uniform(0, 0.001), 1800)
    deviation = np.empty((n, 6))
    for k in range(6):
        deviation[:, k] = 1 + shared + signals.white(rng, n, jitter * signals.log_uniform(rng, 0.0003, 0.005))
    grant = load.grant if load.grant is not None else _grant(rng, n)
    # System and log traffic of the root volume counts for the instance but is in no metric.
    root = min(signals.log_uniform(rng, 5e3, 2e5), 0.001 * float(base[0]))
    most = float(np.median(load.open_ops)) + 1.0
    out = engine.run(
        float(signals.STEP_S), load.open_ops, load.clients, load.think_s, flow.read_share,
        flow.read_size, flow.write_size, flow.r0, flow.law, flow.strength, load.outstanding,
        load.carry, load.carry_max_s * most, base, burst, capacity, start, deviation, root, grant,
    )  # fmt: skip
    rate, latency, service, stage_at, phase, soft, level, left = out
    sizes = (float(capacity[0]), float(capacity[1]), float(capacity[3]))
    return Served(rate, latency, service, stage_at, phase, soft, level, left, sizes)


def _grant(rng: Generator, n: int) -> np.ndarray:
    """Draw credits granted once a day: none, all of them, or a part, at one time of day."""
    grant = np.zeros(n)
    kind = rng.random()
    if kind < 0.5:
        return grant
    per_day = 86400 // signals.STEP_S
    first = int(rng.integers(per_day))
    grant[first::per_day] = 1.0 if kind < 0.8 else rng.uniform(0.1, 0.6)
    return grant


def _is_as_meant(family: str, load: Load, served: Served) -> bool:
    held = bool((served.stage >= 0).any() or served.soft.any())
    if family in WITHOUT_CEILING:
        return not held
    seconds = [float((served.stage == STAGES.index(target.stage)).sum()) * signals.STEP_S for target in load.targets]
    return held and min(seconds, default=600.0) >= 600


def describe(machine: Machine, seed: int) -> Instance:
    """Return the instance as its owner would describe it."""
    launched = machine.launched
    return Instance(
        identifier=f"simulated-{seed}",
        db_class=machine.db_class,
        engine={"oracle": "oracle-ee", "sqlserver": "sqlserver-se"}.get(machine.engine, machine.engine),
        region="us-east-1",
        multi_az=False,
        storage=Storage(
            kind=machine.disk.kind,
            size_gib=float(machine.disk.size_gib),
            provisioned_ops_per_s=machine.disk.provisioned_ops,
            provisioned_bytes_per_s=machine.disk.provisioned_bytes,
        ),
        launched_s=(int(datetime.fromisoformat(launched).replace(tzinfo=UTC).timestamp()) if launched else None),
    )


def replace_storage(instance: Instance) -> Instance:
    """Return the same instance with neither class nor storage described."""
    return Instance(identifier=instance.identifier, engine=instance.engine, region=instance.region)
