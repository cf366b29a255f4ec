"""
Convert a gate's record to a snapshot, and to the truth about which limits bound.

Rule 1: this file is pure: lines in, values out. Reading files and asking daemons happens elsewhere.
Rule 2: the server is real and only its limits are emulated; every snapshot says so and gives the
        credit clock.

The daemon writes a line for each second, or for each emulated minute if that is shorter. On the credit
clock time runs `clock` times as fast, while rates stay as they are. So an emulated minute of 1 s at clock
60 has the mean rates of that second, and a balance falls in it by what one minute at that rate costs.
"""

from collections.abc import Callable, Sequence
from math import floor, nan

import msgspec
import numpy as np
from msgspec import Struct

from plimsoll.errors import DataError
from plimsoll.model.ceiling import Phase
from plimsoll.model.family import BALANCES
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray, Series
from plimsoll.model.snapshot import Annotation, CreditClock, EventKind, Gap, Snapshot
from plimsoll.units import MIB, format_duration, format_latency, format_ratio, number
from plimsoll_lab.gate.config import GateSetup, scale_of

MINUTE_S = 60
TRUTH_SCHEMA = "plimsoll.gate-truth/1"

# A minute with less coverage is no sample: the gate began or ended in it, or the machine slept.
_COVERED_MIN = 0.9

# Shorter steps that divide a minute, for data finer than CloudWatch's.
_FINE_STEPS_S = (1, 2, 5, 10, 15, 20, 30)

# Below this, a step has only a share of one operation, cut off a line at its edge: it has no latency.
_OPS_MIN = 0.5

# The daemon counts an operation as late only beyond the usual delay of timers and schedulers. If more than
# 1 in 20 are late, the run no longer has the requested latencies, and a closed loop of clients gets less
# than the limits allow.
LATE_RATIO_MAX = 0.05

# A few operations that were very late are a large part of all waiting. Clients that wait for each answer
# get less by exactly this share (Little's law: throughput is their number divided by the mean wait), so
# the same share is allowed.
LATE_WAIT_RATIO_MAX = 0.05

# Clients without a processor send fewer requests, and no operation is late. A step counts as starved if
# a limit delayed requests for at least a quarter of the time (so demand was about as high as the limit),
# and some program waited for a processor for at least half of it. This is a judgement, since the kernel does
# not say whose waiting it was (Linux, accounting/psi.rst). The unused part of the limit then counts as lost.
_LIMITED_MIN = 0.25
_CPU_WAIT_MIN = 0.5
STARVED_RATIO_MAX = 0.05


class Bound(Struct, frozen=True):
    """Measure how long a stage made requests wait within one line."""

    seconds: float
    phase: Phase
    idle_s: float = 0.0
    """How long it had nothing to serve, beyond the slack that it makes up for."""


class RecordLine(Struct, frozen=True, kw_only=True):
    """Hold what the daemon counted in one step; rates are those of completed requests."""

    t: float
    """Real time at the end of the step, epoch seconds."""
    dt: float
    """Real length of the step in seconds."""
    read_ops: float
    write_ops: float
    read_bytes: float
    write_bytes: float
    read_wait_s_sum: float
    write_wait_s_sum: float
    """Time from arrival to reply, summed over the requests."""
    queue_depth: float
    """Mean number of requests in the gate during the step."""
    balance: dict[str, float | None]
    """Credits left at the end of the step, 0–1, by stage."""
    binding: dict[str, Bound]
    """Stages that made requests wait."""
    late_ops: float
    late_s_max: float
    late_s_sum: float
    """Sum of the delays of all late operations."""
    stall_s_max: float
    """Longest delay of an answer after it was due, because this machine was busy."""
    fsyncs: float
    cpu_wait_s: float | None = None
    """Time in which some program of this machine waited for a processor; None if the kernel does not say."""


class GateChange(Struct, frozen=True, kw_only=True):
    """Describe a change made while the gate ran."""

    t: float
    """Real time, epoch seconds."""
    text: str
    kind: EventKind = EventKind.OTHER
    instance: Instance | None = None
    """The instance from here on; None if it stays the same."""


class GateMoment(Struct, frozen=True, kw_only=True):
    """Hold the truth of one step."""

    time_s: float
    """Real time at its start, epoch seconds."""
    length_s: float
    binding: str | None
    """Stage that made requests wait for the longest part of it; None for none."""
    phase: Phase | None
    bound_s: float
    """How long it made requests wait."""
    waited_s: float
    """Time from arrival to reply, summed over all requests of the step."""
    bytes_per_s: float
    ops_per_s: float
    queue_depth: float
    balance: dict[str, float]
    late_ops: float


class Truth(Struct, frozen=True, kw_only=True):
    """State which limits bound, second by second, and whether this machine kept up."""

    moments: tuple[GateMoment, ...]
    late_ratio: float
    """Share 0–1 of operations that completed late."""
    late_s_max: float
    late_wait_ratio: float
    """
    Share 0–1 of all time from arrival to reply that was delay: small for many operations that were a moment
    late, large for one that delayed all others.
    """
    starved_ratio: float
    """Share 0–1 of the time under a limit in which clients without a processor sent fewer requests."""
    is_void: bool
    """Whether this machine was too slow for what it emulated, so that the run proves nothing."""
    sentence: str
    """Sentence for people: whether this machine kept up."""

    @property
    def length_s(self) -> float:
        """Return the recorded real seconds."""
        return sum(moment.length_s for moment in self.moments)

    @property
    def is_late(self) -> bool:
        """Return whether operations were late, whatever the clients did."""
        return self.late_ratio > LATE_RATIO_MAX or self.late_wait_ratio > LATE_WAIT_RATIO_MAX

    def bound_s(self) -> dict[tuple[str, Phase], float]:
        """Return for how many real seconds each stage made requests wait, the longest first."""
        found: dict[tuple[str, Phase], float] = {}
        for moment in self.moments:
            if moment.binding is not None and moment.phase is not None:
                key = moment.binding, moment.phase
                found[key] = found.get(key, 0.0) + moment.bound_s
        return dict(sorted(found.items(), key=lambda item: -item[1]))


_LINES = msgspec.json.Decoder(RecordLine)


def read_line(line: bytes | str) -> RecordLine:
    """
    Parse one line of a record.

    Raises:
        DataError: it is not such a line.
    """
    try:
        return _LINES.decode(line)
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(
            f"not a line of a gate's record: {error}",
            "The gate and this program have different versions: build both again.",
        ) from error


def read_lines(text: bytes) -> list[RecordLine]:
    """
    Parse all complete lines of a record; ignore a last line that is only half written.

    Raises:
        DataError: a line is not one of a record.
    """
    # The daemon may be writing the last line now.
    whole, _, _ = text.rpartition(b"\n")
    return [read_line(line) for line in whole.split(b"\n") if line.strip()]


def snapshot_of(
    lines: Sequence[RecordLine], setup: GateSetup, *, changes: Sequence[GateChange] = (), began_s: float | None = None
) -> Snapshot:
    """
    Return what CloudWatch would show: one sample for each emulated minute, on the credit clock.

    Emulated time starts at the minute in which the record began, and runs `setup.clock` times as fast.

    Args:
        lines: lines of the record, in order of time; of all parts (`whole_lines`) if the setup has a scale.
        setup: what was emulated at first.
        changes: changes made while it ran.
        began_s: real start time of the record, if `lines` are only its last part.

    Raises:
        DataError: less than one whole emulated minute was recorded.
    """
    truth = truth_of(lines)
    clock = _Timeline(lines, setup.clock, began_s)
    series = _series(clock, MINUTE_S)
    if not series:
        raise DataError(
            f"the gate ran for {format_duration(truth.length_s)}, which is not one whole emulated "
            f"minute at credit clock {setup.clock:g}",
            "Run for longer, or with a larger --clock.",
        )
    # The daemon writes at most one line a real second, which is `clock` emulated ones: finer steps have
    # no data.
    step_s = next((step for step in _FINE_STEPS_S if step >= setup.clock), MINUTE_S)
    bought = [change.instance for change in changes if change.instance is not None]
    return Snapshot(
        # A snapshot describes the instance at the end of its window.
        instance=bought[-1] if bought else setup.instance,
        series=series,
        source=f"gate, {setup.name} on this machine",
        note=_note(setup, truth),
        gaps=_gaps(),
        annotations=tuple(_annotation(clock, change) for change in changes),
        fine=_series(clock, step_s) if step_s < MINUTE_S else {},
        credit_clock=clock.credit_clock,
    )


def truth_of(lines: Sequence[RecordLine]) -> Truth:
    """Return which limits bound in each step of the record, and whether this machine kept up."""
    operations = sum(line.read_ops + line.write_ops for line in lines)
    late = sum(line.late_ops for line in lines)
    worst_s = max((line.late_s_max for line in lines), default=0.0)
    ratio = late / operations if operations else 0.0
    waited_s = sum(line.read_wait_s_sum + line.write_wait_s_sum for line in lines)
    late_s = sum(line.late_s_sum for line in lines)
    wait_ratio = min(late_s / waited_s, 1.0) if waited_s else 0.0
    starved = _starved_ratio(lines)
    # Each of the three alone changes what clients get, so each one alone voids the run.
    is_void = ratio > LATE_RATIO_MAX or wait_ratio > LATE_WAIT_RATIO_MAX or starved > STARVED_RATIO_MAX
    share = f"{format_ratio(ratio)} of {operations:,.0f} operations completed late"
    summary = "no operation was late"
    if late:
        summary = f"{share}, at most {format_latency(worst_s)} late"
        summary += f", which is {format_ratio(wait_ratio)} of all waiting"
    if starved > STARVED_RATIO_MAX:
        summary += (
            f"; for {format_ratio(starved)} of the time under a limit, clients waited for a processor "
            "of this machine and sent fewer requests"
        )
    if is_void:
        sentence = f"This run is void, because this machine is too slow for it: {summary}."
    else:
        sentence = f"This machine kept up: {summary}."
    return Truth(
        moments=tuple(moment_of(line) for line in lines),
        late_ratio=ratio,
        late_s_max=worst_s,
        late_wait_ratio=wait_ratio,
        starved_ratio=starved,
        is_void=is_void,
        sentence=sentence,
    )


def _starved_ratio(lines: Sequence[RecordLine]) -> float:
    """Return the share of the time under a limit that was lost because clients waited for a processor."""
    under_s = lost_s = 0.0
    for line in lines:
        longest = max(line.binding.values(), key=lambda bound: bound.seconds, default=None)
        if longest is None or longest.seconds < _LIMITED_MIN * line.dt:
            continue
        under_s += line.dt
        # At most the step itself: unused capacity of the limit is lost only once.
        if (line.cpu_wait_s or 0.0) >= _CPU_WAIT_MIN * line.dt:
            lost_s += min(longest.idle_s, line.dt)
    return lost_s / under_s if under_s else 0.0


def moment_of(line: RecordLine) -> GateMoment:
    """Return which limit bound in one step."""
    longest = max(line.binding.items(), key=lambda item: item[1].seconds, default=None)
    return GateMoment(
        time_s=line.t - line.dt,
        length_s=line.dt,
        binding=longest[0] if longest else None,
        phase=longest[1].phase if longest else None,
        bound_s=longest[1].seconds if longest else 0.0,
        waited_s=line.read_wait_s_sum + line.write_wait_s_sum,
        bytes_per_s=(line.read_bytes + line.write_bytes) / line.dt if line.dt > 0 else 0.0,
        ops_per_s=(line.read_ops + line.write_ops) / line.dt if line.dt > 0 else 0.0,
        queue_depth=line.queue_depth,
        balance={name: left for name, left in line.balance.items() if left is not None},
        late_ops=line.late_ops,
    )


def encode_truth(truth: Truth, setup: GateSetup, changes: Sequence[GateChange] = ()) -> bytes:
    """Return the truth as UTF-8 JSON, with the setup and the credit clock."""
    document = {
        "schema": TRUTH_SCHEMA,
        "emulated": setup.name,
        "credit_clock": setup.clock,
        "emulated_minute_s": MINUTE_S / setup.clock,
        "is_void": truth.is_void,
        "sentence": truth.sentence,
        "late_ratio": truth.late_ratio,
        "late_s_max": truth.late_s_max,
        "late_wait_ratio": truth.late_wait_ratio,
        "starved_ratio": truth.starved_ratio,
        "bound": [
            {"stage": stage, "phase": phase.value, "seconds": seconds}
            for (stage, phase), seconds in truth.bound_s().items()
        ],
        "changes": [{"t": c.t, "kind": c.kind.value, "text": c.text} for c in changes],
        "moments": truth.moments,
    }
    return msgspec.json.encode(document) + b"\n"


def minutes_of(setup: GateSetup) -> str:
    """Format the credit clock: `credit clock 60: one emulated minute is 1 s`."""
    if setup.clock == 1:
        return "credit clock 1: in real time"
    return f"credit clock {setup.clock:g}: one emulated minute is {number(MINUTE_S / setup.clock)} s"


def storage_of(instance: Instance) -> str:
    """Format the storage that was bought: `gp2, 1,000 GiB`; empty if none."""
    storage = instance.storage
    if storage.kind is None:
        return ""
    size = f", {number(storage.size_gib)} GiB" if storage.size_gib is not None else ""
    ops, rate = storage.provisioned_ops_per_s, storage.provisioned_bytes_per_s
    bought = f", {number(ops)} IOPS" if ops is not None else ""
    moved = f", {number(rate / MIB)} MiB/s" if rate is not None else ""
    return f"{storage.kind}{size}{bought}{moved}"


def _note(setup: GateSetup, truth: Truth) -> str:
    storage = "" if setup.stages is not None else storage_of(setup.instance)
    emulated = f"{setup.name}{f' with {storage}' if storage else ''}"
    void = f" {truth.sentence}" if truth.is_void else ""
    scale = f" {scale_of(setup)}" if setup.scale != 1 else ""
    return f"A real load under emulated limits: {emulated}, at {minutes_of(setup)}.{scale}{void}"


def _gaps() -> tuple[Gap, ...]:
    return tuple(
        Gap(
            metric=metric.value,
            reason="a gate emulates storage only",
            remedy="Record the host at the same time with 'plimsoll record host'.",
        )
        for metric in (Metric.CPU_RATIO, Metric.FREEABLE_MEMORY_BYTES, Metric.CONNECTION_COUNT)
    )


def _annotation(clock: "_Timeline", change: GateChange) -> Annotation:
    return Annotation(time_s=int(clock.emulated_s(change.t)), text=change.text, kind=change.kind)


def _balance_of(stage: str) -> Callable[[RecordLine], float]:
    def level(line: RecordLine) -> float:
        left = line.balance.get(stage)
        return nan if left is None else left

    return level


class _Timeline:
    """Map the lines of a record to emulated time, and add them up over any step."""

    def __init__(self, lines: Sequence[RecordLine], clock: float, began_s: float | None) -> None:
        self.lines = [line for line in lines if line.dt > 0]
        self._clock = clock
        first_s = self.lines[0].t - self.lines[0].dt if self.lines else 0.0
        self._began_s = first_s if began_s is None else began_s
        # Start on a full minute, as CloudWatch's samples do.
        self._origin_s = floor(self._began_s / MINUTE_S) * MINUTE_S
        ends = np.array([line.t for line in self.lines], dtype=np.float64)
        starts = ends - np.array([line.dt for line in self.lines], dtype=np.float64)
        # Time of day and length come from two clocks, so lines may overlap by microseconds.
        starts[1:] = np.maximum(starts[1:], ends[:-1])
        self._edges_s = np.column_stack((starts, ends)).reshape(-1)

    def emulated_s(self, real_s: float) -> float:
        """Return the emulated time of a real moment, epoch seconds."""
        return self._origin_s + (real_s - self._began_s) * self._clock

    @property
    def credit_clock(self) -> CreditClock:
        """Return how emulated time relates to real time."""
        return CreditClock(ratio=self._clock, emulated_s=float(self._origin_s), real_s=self._began_s)

    def steps(self, step_s: int) -> FloatArray:
        """Return the emulated starts of all steps that the record touches, and the end of the last."""
        if not self.lines:
            return np.empty(0)
        first = floor(self.emulated_s(self._edges_s[0]) / step_s)
        last = -floor(-self.emulated_s(self._edges_s[-1]) / step_s)
        return np.arange(first, last + 1, dtype=np.float64) * step_s

    def sums(self, steps: FloatArray, amount: Callable[[RecordLine], float]) -> FloatArray:
        """Return the amount in each step, shape (steps − 1,); a line counts evenly over its time."""
        amounts = np.array([amount(line) for line in self.lines], dtype=np.float64)
        before = np.concatenate(([0.0], np.cumsum(amounts)))
        # Cumulated amounts at both edges of each line; interpolation between them is even.
        known = np.column_stack((before[:-1], before[1:])).reshape(-1)
        # Rounding in the interpolation can leave an empty step slightly below zero.
        found: FloatArray = np.diff(np.interp(self.real_s(steps), self._edges_s, known))
        return np.maximum(found, 0.0)

    def levels(self, steps: FloatArray, level: Callable[[RecordLine], float]) -> FloatArray:
        """Return the level at the end of each step, shape (steps − 1,)."""
        values = np.array([level(line) for line in self.lines], dtype=np.float64)
        found: FloatArray = np.interp(self.real_s(steps[1:]), self._edges_s[1::2], values)
        return found

    def real_s(self, emulated_s: FloatArray) -> FloatArray:
        """Return the real time of emulated moments, epoch seconds."""
        real: FloatArray = (emulated_s - self._origin_s) / self._clock + self._began_s
        return real


def _series(clock: _Timeline, step_s: int) -> dict[Metric, Series]:
    steps = clock.steps(step_s)
    if steps.size < 2:
        return {}
    length_s = clock.sums(steps, lambda line: line.dt)
    whole_s = float(np.median(np.diff(clock.real_s(steps))))
    is_covered = length_s >= _COVERED_MIN * whole_s
    read_ops = clock.sums(steps, lambda line: line.read_ops)
    write_ops = clock.sums(steps, lambda line: line.write_ops)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {
            Metric.READ_BYTES_PER_S: clock.sums(steps, lambda x: x.read_bytes) / length_s,
            Metric.WRITE_BYTES_PER_S: clock.sums(steps, lambda x: x.write_bytes) / length_s,
            Metric.READ_OPS_PER_S: read_ops / length_s,
            Metric.WRITE_OPS_PER_S: write_ops / length_s,
            Metric.READ_LATENCY_S: clock.sums(steps, lambda x: x.read_wait_s_sum)
            / np.where(read_ops < _OPS_MIN, np.nan, read_ops),
            Metric.WRITE_LATENCY_S: clock.sums(steps, lambda x: x.write_wait_s_sum)
            / np.where(write_ops < _OPS_MIN, np.nan, write_ops),
            Metric.QUEUE_DEPTH: clock.sums(steps, lambda x: x.queue_depth * x.dt) / length_s,
        }
    for metric, family in BALANCES.items():
        if any(line.balance.get(family.value) is not None for line in clock.lines):
            found[metric] = clock.levels(steps, _balance_of(family.value))
    times = steps[:-1].astype(np.int64)
    kept = {}
    for metric, values in found.items():
        is_known = is_covered & np.isfinite(values)
        if is_known.any():
            kept[metric] = Series(metric=metric, step_s=step_s, time_s=times[is_known], value=values[is_known])
    return kept
