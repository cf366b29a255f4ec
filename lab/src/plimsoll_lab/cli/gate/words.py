"""Describe a gate: its status, its progress, and the limits a run reached. Each text names the clock."""

from plimsoll.model.ceiling import Phase
from plimsoll.model.family import BALANCES
from plimsoll.reports.render.words import FAMILY_NAMES
from plimsoll.units import format_bytes_per_s, format_duration, format_latency, format_ops_per_s, format_ratio
from plimsoll_lab.gate.config import GateSetup, has_credits
from plimsoll_lab.gate.control import GateStatus
from plimsoll_lab.gate.record import Truth, minutes_of, storage_of

# Width of the longest fixed name, plus two spaces.
_COLUMN = 15


def emulated(setup: GateSetup) -> str:
    """Name the emulated instance: `db.t3.xlarge, gp2, 1,000 GiB`."""
    storage = "" if setup.stages is not None else storage_of(setup.instance)
    if storage and setup.instance.db_class is not None:
        return f"{setup.name}, {storage}"
    return storage or setup.name


def stage_name(name: str) -> str:
    """Return the display name of a stage: that of its family, or the name from a file."""
    known = {family.value: words for family, words in FAMILY_NAMES.items()}
    return known.get(name, name)


def rate_of(status: GateStatus, name: str, phase: Phase | None) -> str:
    """Return the rate of all stripes of a stage in a phase, as text; empty if there is no such stage."""
    stage = next((s for s in status.chain if s.name == name), None)
    if stage is None:
        return ""
    rate = (stage.burst if phase is Phase.BURST else stage.baseline) * stage.stripes
    return format_bytes_per_s(rate, 5) if stage.counts == "bytes" else format_ops_per_s(rate)


def binding_of(status: GateStatus) -> str:
    """Name what throttled requests in the last second: `instance EBS throughput, burst, 347.5 MB/s`."""
    if status.binding is None:
        return "nothing"
    phase = status.phase
    parts = (stage_name(status.binding), phase and phase.value, rate_of(status, status.binding, phase))
    return ", ".join(part for part in parts if part)


def progress(status: GateStatus, passed_s: float, width: int) -> str:
    """Return one line of progress for a terminal of this many columns; the rest is cut off."""
    passed = format_duration(passed_s)
    if status.clock != 1:
        passed += f" ({format_duration(passed_s * status.clock)} emulated)"
    served = f"{format_bytes_per_s(status.bytes_per_s)}, {format_ops_per_s(status.ops_per_s)}"
    parts = [f"{passed}: {served}, queue {status.queue_depth:.1f}"]
    if status.binding is not None:
        phase = f", {status.phase.value}" if status.phase is not None else ""
        parts.append(f"{stage_name(status.binding)}{phase}")
    short = {stage: name for name, stage in BALANCE_NAMES.items()}
    parts += [f"{short.get(name, name)} {text}" for name, text in _balances(status)]
    line = "; ".join(parts)
    return line if len(line) < width else f"{line[: width - 2]}…"


def status_text(status: GateStatus, setup: GateSetup, mount: str) -> str:
    """Return the state of a gate as a small table."""
    late = "no operation was late"
    if status.late_ratio:
        late = f"{format_ratio(status.late_ratio)} of operations late"
        late += f", the worst {format_latency(status.late_s_max)}"
    served = f"{format_bytes_per_s(status.bytes_per_s)}, {format_ops_per_s(status.ops_per_s)}"
    reads, writes = map(format_bytes_per_s, (status.read_bytes_per_s, status.write_bytes_per_s))
    rows = [
        ("served", f"{served} (reads {reads}, writes {writes})"),
        ("queue depth", f"{status.queue_depth:.1f}"),
        ("binds", binding_of(status)),
        *((f"{stage_name(name)} credits", text) for name, text in _balances(status)),
        ("this machine", late),
    ]
    head = f"{emulated(setup)} at {mount}\n{minutes_of(setup)}\n"
    width = max(_COLUMN, *(len(name) + 2 for name, _ in rows))
    return head + "".join(f"  {name:<{width}}{text}\n" for name, text in rows)


def run_text(truth: Truth, setup: GateSetup) -> str:
    """Describe the limits that a run reached, the longest first, and whether this machine kept up."""
    passed = truth.length_s
    emulated_s = f", {format_duration(passed * setup.clock)} emulated" if setup.clock != 1 else ""
    lines = [f"{emulated(setup)} for {_seconds(passed)}{emulated_s} ({minutes_of(setup)})"]
    bound = truth.bound_s()
    lines += [
        f"  {stage_name(name)}, {phase.value}, made requests wait for {_seconds(seconds)}"
        for (name, phase), seconds in bound.items()
    ]
    if not bound:
        lines.append("  no limit made requests wait")
    lines += [f"  {stage_name(name)} credits {text}" for name, text in _balance_changes(truth)]
    lines.append(truth.sentence)
    return "\n".join(lines) + "\n"


def _balances(status: GateStatus) -> list[tuple[str, str]]:
    """Describe the balance of each stage's bucket, and when it will be empty."""
    found = []
    for stage in status.chain:
        left = status.balance.get(stage.name)
        if left is None or not has_credits(stage):
            continue
        text = format_ratio(left)
        empty_s = status.empty_in_s(stage.name)
        if empty_s is not None and left > 0:
            text += f", empty in {format_duration(empty_s)}"
        found.append((stage.name, text))
    return found


def _balance_changes(truth: Truth) -> list[tuple[str, str]]:
    """Describe each balance at the start and the end, and when it was first empty."""
    found = []
    for name in truth.moments[0].balance if truth.moments else ():
        track = [m.balance[name] for m in truth.moments if name in m.balance]
        if max(track) <= 0:
            found.append((name, "none left after the first second"))
            continue
        text = f"{format_ratio(track[0])} after the first second, {format_ratio(track[-1])} at the end"
        passed = 0.0
        for moment in truth.moments:
            passed += moment.length_s
            if moment.balance.get(name, 1.0) <= 0:
                text += f", none left after {_seconds(passed)}"
                break
        found.append((name, text))
    return found


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else format_duration(seconds)


BALANCE_NAMES = {metric.value.removesuffix("_balance_ratio"): family.value for metric, family in BALANCES.items()}
"""Short names of the buckets, after CloudWatch's EBSByteBalance%, EBSIOBalance% and BurstBalance."""
