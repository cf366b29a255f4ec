"""
Sweep a mounted disk with fio, the usual tool for measuring disks.

Rule 1: requests are direct, past the page cache; a file system without direct I/O is refused.
Rule 2: fio has a limit of time and of bytes; if it exceeds them it is ended, by its own process id.
"""

import json
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from plimsoll.errors import SourceError, UsageError
from plimsoll.model.ceiling import Phase
from plimsoll.sources.host.child_command import ChildCommand
from plimsoll.units import KIB, format_bytes
from plimsoll_lab.model.sweep import Direction, Pattern, Sweep, SweepPoint
from plimsoll_lab.sweep.file import OWN_BYTES, SweepFile, file_at
from plimsoll_lab.sweep.plan import ByteBudget, ShowProgress, Step, SweepPlan, check_plan, point_line
from plimsoll_lab.sweep.rates import PARTS_MIN, error_of_mean, steady_from

_MODES = {
    (Pattern.SCATTERED, Direction.READ): "randread",
    (Pattern.SEQUENTIAL, Direction.READ): "read",
    (Pattern.SCATTERED, Direction.WRITE): "randwrite",
    (Pattern.SEQUENTIAL, Direction.WRITE): "write",
}

# Before counting starts, queues form and credits from idle time are spent.
_RAMP_S = 1.0
# Do not use more of a short run than this for the ramp.
_RAMP_RATIO = 0.25
# fio itself starts within a second; the rest is for requests that a slow disk still has to finish.
_GRACE_S = 30.0
_POLL_S = 0.5
# fio logs the mean rate of this many parts of a run; their scatter gives the error.
_PARTS = 16
# fio logs whole milliseconds, and its timers deviate by one.
_SLIP_MS = 2.0
_LOG = "rates"


def sweep_path(
    place: Path,
    plan: SweepPlan,
    *,
    allow_writes: bool,
    show_progress: ShowProgress,
    temporary_bytes: int = OWN_BYTES,
    phase: Phase = Phase.FIXED,
) -> Sweep:
    """
    Measure a mounted disk.

    Args:
        place: a large file, or a folder that contains one; with `allow_writes` a folder in which a
            temporary file is made.
        plan: what to measure; it writes only if it says so, and only to the temporary file.
        allow_writes: whether that file may be made.
        show_progress: called with lines of progress.
        temporary_bytes: size of that file.
        phase: phase of the storage's credits, if the caller knows it.

    Raises:
        UsageError: there is no fio or no such place, or the plan is not possible.
        SourceError: fio failed, or took far longer than its limit.
    """
    check_plan(plan)
    if Direction.WRITE in plan.directions and not allow_writes:
        raise UsageError("the plan writes, but --allow-writes is missing", "Give --allow-writes.")
    fio = find_fio()
    with ExitStack() as stack:
        file = stack.enter_context(
            file_at(place, allow_writes=allow_writes, temporary_bytes=temporary_bytes, show_progress=show_progress)
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
            show_progress(f"{number}/{len(steps)}  {step.name}: {point_line(point)}")
    return Sweep(
        subject=str(place),
        method=f"{_version(fio)} with direct I/O on {file.description}, {plan.depth} requests in flight",
        points=tuple(points),
        alone=tuple(alone),
        notes=_notes(file),
    )


def find_fio() -> str:
    """
    Return the path of fio.

    Raises:
        UsageError: it is not installed.
    """
    found = shutil.which("fio")
    if found is None:
        raise UsageError(
            "fio is not installed, but a sweep of a path needs it",
            "Install the package 'fio' (apt-get install fio, dnf install fio), or sweep a database with --dsn.",
        )
    return found


class _Runner:
    """Run fio once for each point."""

    def __init__(self, fio: str, file: SweepFile, folder: Path, phase: Phase) -> None:
        self._fio, self._file, self._folder, self._phase = fio, file, folder, phase

    def measure(self, step: Step, bytes_max: int) -> SweepPoint:
        """
        Measure one point.

        Raises:
            SourceError: fio failed, or did not end in time.
        """
        output, errors = self._folder / "output", self._folder / "errors"
        log = self._folder / f"{_LOG}_bw.1.log"
        log.unlink(missing_ok=True)
        with output.open("w") as out, errors.open("w") as err:
            command = ChildCommand(
                [*_arguments(self._fio, self._file, step, bytes_max), f"--write_bw_log={self._folder / _LOG}"],
                output=out,
                errors=err,
            )
            command.start()
            try:
                end = time.monotonic() + _ramp_s(step) + step.length_s + _GRACE_S
                while not command.is_over():
                    command.wait(_POLL_S)
                    if time.monotonic() > end:
                        raise SourceError(
                            f"the disk did not finish {step.name} within {_GRACE_S:.0f} s after its time",
                            "Try fewer requests in flight: --depth 4.",
                        )
                status = command.wait()
            finally:
                command.stop()
        if status:
            raise _failure(errors.read_text() + output.read_text(), step)
        return point_of(output.read_text(), step, log.read_text() if log.exists() else "", self._phase)


def _ramp_s(step: Step) -> float:
    """Return how long requests run before they count."""
    return min(_RAMP_S, _RAMP_RATIO * step.length_s)


def _arguments(fio: str, file: SweepFile, step: Step, bytes_max: int) -> list[str]:
    reads = step.direction == Direction.READ
    # For shorter parts fio's timers would decide where a part ends.
    part_ms = max(round(step.length_s * 1000 / _PARTS), 10)
    return [
        fio,
        "--name=plimsoll",
        # fio separates file names by colons, so a colon must be escaped (fio(1), filename).
        f"--filename={file.path.replace(':', chr(92) + ':')}",
        f"--rw={_MODES[step.pattern, step.direction]}",
        # With --readonly fio itself refuses to write.
        *(["--readonly"] if reads else ["--overwrite=1"]),
        "--direct=1",
        "--ioengine=libaio",
        f"--bs={step.size_bytes}",
        f"--iodepth={step.depth}",
        f"--size={file.size_bytes // step.size_bytes * step.size_bytes}",
        # May exceed the file: fio starts again at its beginning, until the time or the bytes are used up.
        f"--io_size={bytes_max}",
        f"--runtime={round((_ramp_s(step) + step.length_s) * 1000)}ms",
        # A map of the blocks already read would cost memory and time. Without it some blocks repeat,
        # which direct I/O does not make faster.
        "--norandommap",
        "--randrepeat=0",
        f"--bwavgtime={part_ms}",
        f"--log_avg_msec={part_ms}",
        "--output-format=json",
    ]


def parts_of(log: str, step: Step) -> list[tuple[float, float]]:
    """
    Return the parts of a run that count: their lengths in seconds, and the bytes per second in each.

    Parts that began in the ramp are left out. So are parts that end after the time was up, when the
    remaining requests only drain.

    Args:
        log: fio's log: lines of milliseconds since the start, KiB/s and more.
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
    Return one point from fio's JSON and its log of rates.

    Args:
        text: fio's output.
        step: what was measured.
        log: rates of the parts of the run; if fewer than four count, the whole run is used.
        phase: phase of the storage's credits.

    Raises:
        SourceError: the output is not fio's JSON, or no request was completed.
    """
    try:
        # Messages may stand before the document.
        job = json.loads(text[text.index("{") :])["jobs"][0]
        side = job[step.direction.value]
        length_s, moved = side["runtime"] / 1e3, side["io_bytes"]
        latency_s = side["lat_ns"]["mean"] / 1e9
        busy = (job["usr_cpu"] + job["sys_cpu"]) / 100
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise SourceError("fio's output is not that of version 3 or newer", "Install a current fio.") from error
    if length_s <= 0 or moved <= 0:
        raise SourceError(f"fio completed no request in {step.name}", "Measure for longer, or with more --max-bytes.")
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
        # All of fio's requests have the requested size.
        ops_per_s=bytes_per_s / step.size_bytes,
        bytes_per_s=bytes_per_s,
        length_s=length_s,
        # Little's law (L = λW): the real number in flight, which may be below the requested depth.
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
        "These numbers do not include other use of the disk.",
        "The storage's credits were neither known nor set: the results depend on how many were left.",
    ]
    if not file.is_own:
        notes.append("An existing file was read; parts of it may have come from caches below the file system.")
    return tuple(notes)


def _version(fio: str) -> str:
    import subprocess

    output = subprocess.run([fio, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    return output.strip() or "fio"
