"""Compute what CloudWatch keeps: averages, rounded balances, gaps, and exports that lack metrics."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot
from rival import second
from rival.machines import MIB, Machine
from rival.rhythm import FloatArray, wander
from rival.scene import SAMPLE_S, Scene

RATES = {
    Metric.READ_BYTES_PER_S: second.R_BYTES,
    Metric.WRITE_BYTES_PER_S: second.W_BYTES,
    Metric.READ_OPS_PER_S: second.R_OPS,
    Metric.WRITE_OPS_PER_S: second.W_OPS,
}
BALANCES = {Metric.BYTE_BALANCE_RATIO: 0, Metric.IO_BALANCE_RATIO: 1, Metric.VOLUME_BALANCE_RATIO: 3}
LATENCIES = (Metric.READ_LATENCY_S, Metric.WRITE_LATENCY_S)

# CPU credits earned per hour; at most a day of them is kept (EC2 User Guide, burstable instances).
CPU_CREDITS_PER_H = {"medium": 24.0, "large": 36.0, "xlarge": 96.0, "2xlarge": 192.0}

# Which metrics people leave out of an export, and how often.
LACKS: tuple[tuple[float, tuple[Metric, ...]], ...] = (
    (0.64, ()),
    (0.08, tuple(BALANCES)),
    (0.08, LATENCIES),
    (0.08, (Metric.QUEUE_DEPTH,)),
    (0.06, (Metric.CPU_RATIO, Metric.CONNECTION_COUNT, Metric.FREEABLE_MEMORY_BYTES)),
    (0.03, (*LATENCIES, Metric.QUEUE_DEPTH)),
    (0.03, (Metric.WRITE_LATENCY_S,)),
)


@dataclass(frozen=True, slots=True)
class Film:
    """Hold the samples of the machine, on the exported grid."""

    step_s: int
    time_s: NDArray[np.int64]
    sums: FloatArray
    """Sums over the seconds of each sample, shape (n, second.SAMPLE_WIDTH)."""
    missing: NDArray[np.bool_]


def expose(scene: Scene, minutes: FloatArray, step_s: int) -> Film:
    """Average minutes over the exported period, and draw which samples are lost."""
    rng = scene.rng
    per = step_s // SAMPLE_S
    n = minutes.shape[0] // per
    sums = minutes[: n * per].reshape(n, per, -1).sum(axis=1)
    time_s = int(scene.first.timestamp()) + step_s * np.arange(n, dtype=np.int64)
    missing = sums[:, second.UP] < 0.5 * step_s
    choice = rng.random()
    if choice < 0.3:
        missing |= rng.random(n) < float(rng.uniform(0.001, 0.02))
    if choice > 0.85:
        length = max(1, int(rng.uniform(600, 5400) / step_s))
        at = int(rng.integers(0, max(1, n - length)))
        missing[at : at + length] = True
    return Film(step_s, time_s, sums, missing)


def develop(scene: Scene, film: Film) -> Snapshot:
    """Return the snapshot a source would have read."""
    rng, sums = scene.rng, film.sums
    n = film.time_s.size
    seen = np.maximum(sums[:, second.UP], 1.0)
    # The agent's minute is not exactly a minute: the four rates share this error.
    window = 1.0 + float(rng.choice([0.0005, 0.001, 0.003])) * rng.standard_normal(n)
    noise = float(rng.choice([0.0, 0.0005, 0.002, 0.008], p=[0.3, 0.3, 0.3, 0.1]))
    values: dict[Metric, FloatArray] = {
        metric: sums[:, column] / seen * window * (1.0 + noise * rng.standard_normal(n))
        for metric, column in RATES.items()
    }
    for metric, wait, ops in (
        (Metric.READ_LATENCY_S, second.R_WAIT, second.R_OPS),
        (Metric.WRITE_LATENCY_S, second.W_WAIT, second.W_OPS),
    ):
        mean = np.divide(sums[:, wait], sums[:, ops], out=np.zeros(n), where=sums[:, ops] > 1)
        values[metric] = mean * (1.0 + 0.01 * rng.standard_normal(n))
    # The queue is sampled now and then instead of integrated, and not always in the same way.
    glance = float(rng.choice([0.01, 0.1, 0.3]))
    values[Metric.QUEUE_DEPTH] = (
        sums[:, second.QUEUE] / seen * scene.air.queue_gain * np.exp(glance * rng.standard_normal(n))
    )
    values |= _balances(scene, film, seen) | _rest(scene, film, seen)
    return _snapshot(scene, film, values)


def _balances(scene: Scene, film: Film, seen: FloatArray) -> dict[Metric, FloatArray]:
    found = {}
    decimals = 0 if scene.rng.random() < 0.8 else 1
    for metric, bound in BALANCES.items():
        limit = scene.machine.bounds[bound]
        if bound < 2 and not scene.machine.row.bursts:
            continue
        if bound == 3 and (scene.machine.disk.kind != "gp2" or not limit.bursts):
            continue
        left = np.ones(film.time_s.size)
        if limit.bursts:
            left = film.sums[:, second.LEFT + bound] / seen / limit.credits_max
        found[metric] = np.round(100.0 * np.clip(left, 0, 1), decimals) * 0.01
    return found


def _rest(scene: Scene, film: Film, seen: FloatArray) -> dict[Metric, FloatArray]:
    rng, row = scene.rng, scene.machine.row
    n = film.time_s.size
    busy = film.sums[:, second.CPU_USED] / seen / row.vcpus + scene.air.cpu_idle
    busy = np.clip(busy * (1.0 + 0.01 * rng.standard_normal(n)), 0.001, 1.0)
    memory = row.memory_gib * 1024**3 * float(rng.uniform(0.05, 0.6))
    written = np.cumsum(film.sums[:, second.W_BYTES])
    space = scene.machine.disk.size_gib * 1024**3 * float(rng.uniform(0.2, 0.8))
    grown = 0.3 * space * written / max(float(written[-1]), 1.0) * float(rng.random())
    idle = float(rng.integers(2, 40))
    slots = n * film.step_s // second.BIN_S + 12
    breath = wander(rng, slots, 0.03, 7200)[:: film.step_s // second.BIN_S][:n]
    rest = _cpu_credits(scene, film, busy)
    sessions = np.minimum(film.sums[:, second.SESSIONS] / seen, 5000.0)
    return rest | {
        Metric.CPU_RATIO: busy,
        Metric.FREEABLE_MEMORY_BYTES: np.round(memory * breath / 4096) * 4096,
        Metric.FREE_STORAGE_BYTES: np.round((space - grown) / 4096) * 4096,
        Metric.CONNECTION_COUNT: np.round(idle + sessions, 1),
        Metric.NETWORK_TRANSMIT_BYTES_PER_S: film.sums[:, second.NET_SENT] / seen + 2e4 * breath,
        Metric.NETWORK_RECEIVE_BYTES_PER_S: film.sums[:, second.NET_GOT] / seen + 1e4 * breath,
        Metric.SWAP_BYTES: np.zeros(n),
    }


def _cpu_credits(scene: Scene, film: Film, busy: FloatArray) -> dict[Metric, FloatArray]:
    """Return the CPU credits of T classes; at zero they cost money, and nothing slows down."""
    row = scene.machine.row
    if not row.db_class.startswith("db.t"):
        return {}
    earned = CPU_CREDITS_PER_H[row.db_class.rsplit(".", 1)[1]] / 3600.0 * film.step_s
    most = 24 * 3600 / film.step_s * earned
    left = most * float(scene.rng.uniform(0.1, 1.0))
    balance = np.empty(busy.size)
    for index, share in enumerate(busy.tolist()):
        # One credit is one vCPU for one minute (EC2 User Guide, burstable instances).
        left = min(most, max(0.0, left + earned - share * row.vcpus * film.step_s / 60.0))
        balance[index] = left
    return {Metric.CPU_CREDITS: np.round(balance, 2)}


def _snapshot(scene: Scene, film: Film, values: dict[Metric, FloatArray]) -> Snapshot:
    rng = scene.rng
    shares = [share for share, _ in LACKS]
    lack = LACKS[int(rng.choice(len(LACKS), p=shares))][1]
    if "balance" in scene.must_export:
        lack = tuple(metric for metric in lack if metric not in BALANCES)
    slow_balances = film.step_s == SAMPLE_S and rng.random() < 0.4
    cut = rng.random() < 0.04
    series = {}
    for metric in Metric:
        if metric not in values or metric in lack:
            continue
        step, time_s, value, gone = film.step_s, film.time_s, values[metric], film.missing
        if slow_balances and (metric in BALANCES or metric is Metric.CPU_CREDITS):
            # Basic monitoring: one reading every five minutes, of the last minute of the five.
            step, time_s, value, gone = 300, time_s[4::5] - 240, value[4::5], gone[4::5]
        keep = ~gone
        if cut and metric in LATENCIES:
            keep &= np.arange(time_s.size) > time_s.size * 0.3
        series[metric] = Series(
            metric=metric, step_s=step, time_s=time_s[keep], value=np.ascontiguousarray(value[keep])
        )
    return Snapshot(
        instance=_instance(scene.machine, rng),
        series=series,
        source=f"rival generator, kind {scene.kind}",
        is_simulated=True,
        note="Simulated by bench/rival; no real database was measured.",
    )


def _instance(machine: Machine, rng: np.random.Generator) -> Instance:
    disk = machine.disk
    mibps = disk.throughput_mibps
    iops = disk.iops
    if disk.kind == "gp3" and disk.stripes == 4:
        iops, mibps = iops or 12000, mibps or 500
    versions = {"postgres": "14.7", "mysql": "8.0.35", "mariadb": "10.6.14"}
    return Instance(
        identifier=f"rival-{int(rng.integers(1e6)):06d}",
        db_class=machine.row.db_class,
        engine=disk.engine,
        engine_version=versions.get(disk.engine, "19.0" if "oracle" in disk.engine else "15.00"),
        region=str(rng.choice(["us-east-1", "eu-west-1", "ap-southeast-2"])),
        multi_az=machine.multi_az,
        storage=Storage(
            kind=disk.kind,
            size_gib=float(disk.size_gib),
            provisioned_ops_per_s=None if iops is None else float(iops),
            provisioned_bytes_per_s=None if mibps is None else mibps * MIB,
        ),
        launched_s=int(machine.launched.timestamp()),
    )
