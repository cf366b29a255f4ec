"""
Read the two sides of a comparison, and compare them: two targets, one target split at a moment, or two windows of it.

A single target is read once. Only a live target with two windows is read twice, because a year of
samples may lie between them.
"""

import re

from msgspec.structs import replace

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.instance import with_flags
from plimsoll.app.moments import epoch_of, seconds_of
from plimsoll.app.options import InstanceOptions, ReadOptions, Split
from plimsoll.app.progress import SILENT, Progress
from plimsoll.app.read import DEFAULT_LAST, read_target
from plimsoll.app.targets import LIVE, Target, target_of
from plimsoll.errors import DataError, UsageError
from plimsoll.model.comparison import Comparison
from plimsoll.model.instance import Storage
from plimsoll.model.snapshot import Annotation, EventKind, Snapshot, cut
from plimsoll.units import format_time

_DURATION = re.compile(r"P(?:([0-9]{1,4})W|(?:([0-9]{1,4})D)?(?:T(?:([0-9]{1,5})H)?(?:([0-9]{1,6})M)?)?)")
_LENGTHS_S = (7 * 86_400, 86_400, 3600, 60)
_CHANGES = {EventKind.CLASS_CHANGE: "class", EventKind.STORAGE_CHANGE: "storage"}


def read_sides(
    targets: tuple[str | Target, str | Target | None],
    split: Split,
    flags: tuple[InstanceOptions, InstanceOptions],
    read_options: ReadOptions,
    progress: Progress = SILENT,
) -> tuple[Snapshot, Snapshot]:
    """
    Return the snapshots before and after.

    Args:
        targets: one or two, of any kind.
        split: for one target, where it is cut.
        flags: the instance options of each side.
        read_options: window and access, the same for both.
        progress: shown while a source is read.

    Raises:
        UsageError: options are missing, contradict each other, or are not valid.
        SourceError: a source refuses, or does not answer.
        DataError: a side has no sample.
    """
    before, after = targets
    is_split = any(getattr(split, name) is not None for name in split.__struct_fields__)
    if after is not None:
        if is_split:
            raise UsageError(
                "two targets are already two windows", "Leave out --at, --window-a and --window-b, or name one target."
            )
        return (
            read_target(before, flags[0], read_options, progress),
            read_target(after, flags[1], read_options, progress),
        )
    parts = _parts(target_of(before), split, flags[0], read_options, progress)
    events = tuple(dict.fromkeys((*parts[0].annotations, *parts[1].annotations)))
    a, b = (_as_it_was(part, one, events) for part, one in zip(parts, flags, strict=True))
    return a, b


def compare_snapshots(before: Snapshot, after: Snapshot) -> Comparison:
    """Diagnose two snapshots against this version's catalog, and return their comparison."""
    from plimsoll.diagnosis.comparison.compare import compare

    return compare(diagnose_snapshot(before), before, diagnose_snapshot(after), after)


def interval_of(text: str, option: str) -> tuple[int, int]:
    """
    Return epoch seconds [start, end) of an ISO 8601 interval: start/end, start/duration or duration/end.

    Durations are weeks, or days, hours and minutes: `P7D`, `PT36H`, `P1W`.

    Raises:
        UsageError: not an interval, or it ends before it starts.
    """
    first, slash, last = text.strip().partition("/")
    if not (slash and first and last):
        raise UsageError(
            f"{option} '{text}' is not an ISO 8601 interval",
            "Write it as 2026-11-01/2026-11-08 or 2026-11-01T08:00Z/PT12H.",
        )
    if first.startswith("P"):
        end = epoch_of(last)
        start = end - _duration_s(first, option)
    else:
        start = epoch_of(first)
        end = start + _duration_s(last, option) if last.startswith("P") else epoch_of(last)
    if start >= end:
        raise UsageError(
            f"{option} '{text}' ends before it starts", "Write the earlier time first; the end is exclusive."
        )
    return start, end


def _duration_s(text: str, option: str) -> int:
    match = _DURATION.fullmatch(text)
    counts = [int(part or 0) for part in match.groups()] if match else []
    seconds = sum(count * length for count, length in zip(counts, _LENGTHS_S, strict=False))
    if not seconds:
        raise UsageError(f"{option}: '{text}' is not an ISO 8601 duration", "Write it as P7D, P1W, PT12H or P1DT6H.")
    return seconds


def _parts(
    target: Target, split: Split, flags: InstanceOptions, read_options: ReadOptions, progress: Progress
) -> tuple[Snapshot, Snapshot]:
    """Read one target, and cut it into two parts; the options of a single side are not applied."""
    common = InstanceOptions(identifier=flags.identifier, instance_file=flags.instance_file, engine=flags.engine)
    if split.window_a is not None or split.window_b is not None:
        return _two_windows(target, split, common, read_options, progress)
    if split.at is None:
        raise _no_moment(read_target(target, common, read_options, progress))
    at = epoch_of(split.at)
    is_open = read_options.last is None and read_options.since is None and read_options.until is None
    if isinstance(target, LIVE) and is_open:
        around = seconds_of(DEFAULT_LAST, "--last")
        read_options = replace(read_options, since=format_time(at - around), until=format_time(at + around))
    whole = read_target(target, common, read_options, progress)
    start, end = whole.window_s or (at, at)
    return _cut(target, whole, (start, at)), _cut(target, whole, (at, end))


def _two_windows(
    target: Target, split: Split, flags: InstanceOptions, read_options: ReadOptions, progress: Progress
) -> tuple[Snapshot, Snapshot]:
    if split.window_a is None or split.window_b is None:
        raise UsageError(
            "compare needs two windows, but only one was given", "Give both --window-a and --window-b, or --at."
        )
    if any((split.at, read_options.last, read_options.since, read_options.until)):
        raise UsageError(
            "--window-a and --window-b already give both windows",
            "With --window-a and --window-b, leave out --at, --last, --from and --to.",
        )
    windows = (interval_of(split.window_a, "--window-a"), interval_of(split.window_b, "--window-b"))
    if isinstance(target, LIVE):
        a, b = (
            read_target(
                target, flags, replace(read_options, since=format_time(start), until=format_time(end)), progress
            )
            for start, end in windows
        )
        return _cut(target, a, windows[0]), _cut(target, b, windows[1])
    whole = read_target(target, flags, read_options, progress)
    return _cut(target, whole, windows[0]), _cut(target, whole, windows[1])


def _cut(target: Target, whole: Snapshot, window_s: tuple[int, int]) -> Snapshot:
    """
    Return the part within a window, with all events: a later change shows what the instance was before.

    Raises:
        DataError: no sample lies in the window.
    """
    part = cut(whole, window_s)
    if part.series:
        return replace(part, annotations=whole.annotations)
    message = f"'{target}' has no sample from {format_time(window_s[0])} to {format_time(window_s[1])}"
    reached = whole.window_s
    if reached is None:
        raise DataError(message, "Give a window in which the instance existed and was measured.")
    raise DataError(message, f"It covers {format_time(reached[0])} to {format_time(reached[1])}.")


def _as_it_was(part: Snapshot, flags: InstanceOptions, events: tuple[Annotation, ...]) -> Snapshot:
    """
    Return a part with the instance as it was then.

    A source describes the instance as it is now. If class or storage were changed after this part,
    only the command line can say what they were; otherwise they are not known.
    """
    _, end = part.window_s or (0, 0)
    changed = {event.kind for event in events if event.time_s >= end}
    instance = part.instance
    if EventKind.CLASS_CHANGE in changed:
        instance = replace(instance, db_class=None, ebs_limits=None)
    if EventKind.STORAGE_CHANGE in changed:
        instance = replace(instance, storage=Storage())
    return replace(
        part,
        instance=with_flags(instance, flags),
        annotations=tuple(event for event in part.annotations if event.time_s < end),
    )


def _no_moment(whole: Snapshot) -> UsageError:
    start, end = whole.window_s or (0, 0)
    changes = [e for e in whole.annotations if e.kind in _CHANGES and start < e.time_s < end]
    hint = "Give a second target, --at with the time of the change, or --window-a and --window-b."
    if changes:
        last = max(changes, key=lambda event: event.time_s)
        when = format_time(last.time_s)
        hint = f"The {_CHANGES[last.kind]} was changed at {when}: add --at {when}."
    return UsageError("compare needs two windows, but only one was given", hint)
