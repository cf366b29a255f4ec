"""
A sweep of a mounted disk with fio, the tool that people measure disks with.

Rule 1: requests are direct, past the page cache; a file system that refuses that is refused.
Rule 2: fio is told for how long and how much; one that goes on is ended, by its own process id.
"""

import json
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from plimsoll.errors import SourceError, UsageError
from plimsoll.gate.command import ChildCommand
from plimsoll.lab.sweep.file import OWN_BYTES, SweepFile, file_at
from plimsoll.lab.sweep.plan import ByteBudget, Step, SweepPlan, Told, check_plan, point_line
from plimsoll.lab.sweep.rates import PARTS_MIN, error_of_mean, steady_from
from plimsoll.model.ceiling import Phase
from plimsoll.model.sweep import Direction, Pattern, Sweep, SweepPoint
from plimsoll.units import KIB, format_bytes

_MODES = {
    (Pattern.SCATTERED, Direction.READ): "randread",
    (Pattern.SEQUENTIAL, Direction.READ): "read",
    (Pattern.SCATTERED, Direction.WRITE): "randwrite",
    (Pattern.SEQUENTIAL, Direction.WRITE): "write",
}

# Queues form, and what idle time had saved up is used up, before counting begins.
_RAMP_S = 1.0
# Of a short run no more than this is given away.
_RAMP_RATIO = 0.25
# fio itself starts in well under a second; the rest is requests that a slow disk still owes.
_GRACE_S = 30.0
_GLANCE_S = 0.5
# fio notes the mean rate of so many parts of a run, from whose scatter the error is told.
_PARTS = 16
# fio writes whole milliseconds, and its timers slip by one.
_SLIP_MS = 2.0
_LOG = "rates"


def sweep_path(
    place: Path,
    plan: SweepPlan,
    *,
    allow_writes: bool,
    tell: Told,
    own_bytes: int = OWN_BYTES,
    phase: Phase = Phase.FIXED,
) -> Sweep:
    """
    Measure a mounted disk.

    Args:
        place: a large file, or a folder that holds one; with `allow_writes` a folder in which a
            temporary file is made.
        plan: what to measure; writes only if it has them, and only to the temporary file.
        allow_writes: whether that file may be made.
        tell: takes lines of progress.
        own_bytes: how large that file shall be.
        phase: which phase of the storage's credits this is, where the caller knows.

    Raises:
        UsageError: no fio, no such place, or a plan that cannot be.
        SourceError: fio failed, or took far longer than it was told.
    """
    check_plan(plan)
    if Direction.WRITE in plan.directions and not allow_writes:
        raise UsageError("writes were asked for without leave", "Give --allow-writes.")
    fio = find_fio()
    with ExitStack() as stack:
        file = stack.enter_context(
            file_at(place, allow_writes=allow_writes, own_bytes=own_bytes, tell=tell)
        )
        _check_size(file, plan)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="plimsoll-fio-")))
        runner = _Runner(fio, file, folder, phase)
        points, alone = list[SweepPoint](), list[SweepPoint]()
        steps = plan.steps()
        budget = ByteBudget(plan, steps)
        for number, step in enumerate(steps, start=1):
            point = runner.measure(step, budget.share(step.size_bytes))
            budget.spend(point.bytes_per_s * point.length_s)
            (alone if step.is_alone else points).append(point)
            tell(f"{number}/{len(steps)}  {step.name}: {point_line(point)}")
    return Sweep(
        subject=str(place),
        method=f"{_version(fio)} with direct I/O on {file.told}, {plan.depth} requests in flight",
        points=tuple(points),
        alone=tuple(alone),
        notes=_notes(file),
    )


def find_fio() -> str:
    """
    Return the program's path.

    Raises:
        UsageError: it is not installed.
    """
    found = shutil.which("fio")
    if found is None:
        raise UsageError(
            "fio is not installed, and it does the measuring",
            "Install the package 'fio' (apt-get install fio, dnf install fio), or sweep a database with "
            "--dsn.",
        )
    return found


class _Runner:
    """Runs fio once for each point."""

    def __init__(self, fio: str, file: SweepFile, folder: Path, phase: Phase) -> None:
        self._fio, self._file, self._folder, self._phase = fio, file, folder, phase

    def measure(self, step: Step, bytes_max: int) -> SweepPoint:
        """
        Return one point.

        Raises:
            SourceError: fio failed, or did not come to an end.
        """
        said, complained = self._folder / "said", self._folder / "complained"
        log = self._folder / f"{_LOG}_bw.1.log"
        log.unlink(missing_ok=True)
        with said.open("w") as out, complained.open("w") as errors:
            command = ChildCommand(
                [
                    *_arguments(self._fio, self._file, step, bytes_max),
                    f"--write_bw_log={self._folder / _LOG}",
                ],
                output=out,
                errors=errors,
            )
            command.start()
            try:
                end = time.monotonic() + _ramp_s(step) + step.length_s + _GRACE_S
                while not command.is_over():
                    command.wait(_GLANCE_S)
                    if time.monotonic() > end:
                        raise SourceError(
                            f"the disk did not finish {step.name} within {_GRACE_S:.0f} s of its time",
                            "Try fewer in flight: --depth 4.",
                        )
                status = command.wait()
            finally:
                command.stop()
        if status:
            raise _failure(complained.read_text() + said.read_text(), step)
        return point_of(
            said.read_text(), step, log.read_text() if log.exists() else "", self._phase
        )


def _ramp_s(step: Step) -> float:
    """For how long requests run before they count."""
    return min(_RAMP_S, _RAMP_RATIO * step.length_s)


def _arguments(fio: str, file: SweepFile, step: Step, bytes_max: int) -> list[str]:
    reads = step.direction == Direction.READ
    # Below some milliseconds fio's timers decide where a part ends.
    part_ms = max(round(step.length_s * 1000 / _PARTS), 10)
    return [
        fio,
        "--name=plimsoll",
        # fio takes a colon for the end of a name, unless it is escaped (fio(1), filename).
        f"--filename={file.path.replace(':', chr(92) + ':')}",
        f"--rw={_MODES[step.pattern, step.direction]}",
        # fio itself then refuses to write, whatever else it is told.
        *(["--readonly"] if reads else ["--overwrite=1"]),
        "--direct=1",
        "--ioengine=libaio",
        f"--bs={step.size_bytes}",
        f"--iodepth={step.depth}",
        f"--size={file.size_bytes // step.size_bytes * step.size_bytes}",
        # More than the file: it is read again from the start, until the time or the bytes are up.
        f"--io_size={bytes_max}",
        f"--runtime={round((_ramp_s(step) + step.length_s) * 1000)}ms",
        # A map of the blocks already read would cost memory and time; some come twice, which direct
        # I/O does not make quicker.
        "--norandommap",
        "--randrepeat=0",
        f"--bwavgtime={part_ms}",
        f"--log_avg_msec={part_ms}",
        "--output-format=json",
    ]


def parts_of(log: str, step: Step) -> list[tuple[float, float]]:
    """
    Return the parts of a run that count: their lengths in seconds, and bytes per second in each.

    Left out are those that began in the ramp, and those that end after the time was up, when the
    requests that are still in flight only drain.

    Args:
        log: fio's, lines of milliseconds since the start, KiB/s and more.
        step: what was measured.
    """
    first_ms = _ramp_s(step) * 1000 - _SLIP_MS
    last_ms = (_ramp_s(step) + step.length_s) * 1000 + _SLIP_MS
    parts, began_ms = [], 0.0
    for line in log.splitlines():
        ended_ms, kib_per_s = (float(field) for field in line.split(",")[:2])
        if began_ms >= first_ms and began_ms < ended_ms <= last_ms:
            parts.append(((ended_ms - began_ms) / 1000, kib_per_s * KIB))
        began_ms = ended_ms
    return parts


def point_of(text: str, step: Step, log: str, phase: Phase = Phase.FIXED) -> SweepPoint:
    """
    Return one point out of fio's JSON and its log of rates.

    Args:
        text: what fio printed.
        step: what it was to measure.
        log: the rates of the parts of the run; where fewer than four count, the whole run does.
        phase: of the storage's credits.

    Raises:
        SourceError: not fio's JSON, or nothing was done.
    """
    try:
        # Remarks may stand before the document.
        job = json.loads(text[text.index("{") :])["jobs"][0]
        side = job[step.direction.value]
        length_s, moved = side["runtime"] / 1e3, side["io_bytes"]
        latency_s = side["lat_ns"]["mean"] / 1e9
        busy = (job["usr_cpu"] + job["sys_cpu"]) / 100
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise SourceError(
            "fio did not print what it prints from version 3 on", "Install a present fio."
        ) from error
    if length_s <= 0 or moved <= 0:
        raise SourceError(
            f"fio did nothing in {step.name}", "Measure for longer, or with more --max-bytes."
        )
    parts = parts_of(log, step)
    parts = parts[steady_from([rate for _, rate in parts]) :]
    bytes_per_s = moved / length_s
    if len(parts) >= PARTS_MIN:
        bytes_per_s = sum(part_s * rate for part_s, rate in parts) / sum(s for s, _ in parts)
    return SweepPoint(
        io_size_bytes=step.size_bytes,
        pattern=step.pattern,
        direction=step.direction,
        phase=phase,
        # fio's requests all have the size that was asked for.
        ops_per_s=bytes_per_s / step.size_bytes,
        bytes_per_s=bytes_per_s,
        length_s=length_s,
        # Little's law: what was really in flight, which may be less than was asked for.
        depth=moved / step.size_bytes / length_s * latency_s,
        busy_ratio=min(busy, 1.0),
        error_ratio=error_of_mean([rate for _, rate in parts]),
    )


def _failure(text: str, step: Step) -> SourceError:
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("fio:")]
    last = lines[-1].removeprefix("fio:").strip() if lines else "it gave no reason"
    if "Invalid argument" in text or "O_DIRECT" in text:
        return SourceError(
            f"the file system refuses direct I/O of {format_bytes(step.size_bytes)}: {last}",
            "Leave out sizes below the disk's sector (4 KiB on some), or choose another folder.",
        )
    if "libaio" in text and "not" in text:
        return SourceError(f"fio failed: {last}", "Install a fio with the engine 'libaio'.")
    return SourceError(f"fio failed: {last}", "Try the path with fio itself.")


def _check_size(file: SweepFile, plan: SweepPlan) -> None:
    least = plan.depth * max(plan.sizes_bytes)
    if file.size_bytes < least:
        raise UsageError(
            f"a file of {format_bytes(file.size_bytes)} is too small for {plan.depth} requests of "
            f"{format_bytes(max(plan.sizes_bytes))} in flight",
            "Name a larger file, or give less --depth.",
        )


def _notes(file: SweepFile) -> tuple[str, ...]:
    notes = [
        "Other use of the disk is not in these numbers.",
        "Credits of the storage were neither known nor set: what was measured is what it had left.",
    ]
    if not file.is_own:
        notes.append(
            "An existing file was read; parts of it may have come from caches below the file system."
        )
    return tuple(notes)


def _version(fio: str) -> str:
    import subprocess

    told = subprocess.run([fio, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    return told.strip() or "fio"
