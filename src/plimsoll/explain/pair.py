"""One statement captured twice: what differs, and what that says of the time it took."""

from msgspec import Struct

from plimsoll.explain.shapes import (
    difference,
    is_same_shape,
    name_of,
    nodes_of,
    own_io_s,
    own_s,
    scanned_rows,
)
from plimsoll.model.explain import Blocks, Capture, PairOutcome, StatementPair
from plimsoll.units import format_latency, format_ratio, number

# Judgements. Executions of one statement on an undisturbed server differ by tens of percents, rarely
# by a factor of two; below a millisecond the clock and the scheduler decide.
TIME_RATIO = 2.0
_TIME_LEAST_S = 0.001
# Blocks vary by what else happens to a table meanwhile: hint bits, index pages split, a few more rows.
_ALIKE_RATIO = 0.10
_ALIKE_LEAST = 10.0

_WAITED = "Check the wait events and the CPU of that time, and run 'plimsoll inspect'."
_STORAGE = (
    "Check the storage at that time, not the statement: 'plimsoll diagnose' names the ceiling, "
    "'plimsoll inspect' shows who else used it."
)


class _Times(Struct, frozen=True, kw_only=True):
    """How the time of two executions compares; None where it cannot be said."""

    first_s: float | None
    second_s: float | None
    time_ratio: float | None
    io_ratio: float | None
    block_ratio: float | None

    @property
    def is_alike(self) -> bool:
        """Whether it took about as long."""
        first, second = self.first_s or 0.0, self.second_s or 0.0
        if abs(first - second) < _TIME_LEAST_S:
            return True
        return min(first, second) > 0 and max(first, second) / min(first, second) < TIME_RATIO


def compare_pair(
    first: Capture, second: Capture, *, counts: tuple[int, int] = (1, 1), also: tuple[str, ...] = ()
) -> StatementPair:
    """
    Return what differs between two captures of one statement.

    Args:
        first: what it is compared with.
        second: what is in question.
        counts: how many executions each stands for.
        also: sentences to add to the reasons.
    """
    times = _times(first, second)
    settings = _settings(first, second)
    outcome, title, reasons, advice, refuted_by = _judged(first, second, times)
    is_other_plan = (
        outcome is PairOutcome.PLAN and first.plan is not None and second.plan is not None
    )
    changed = [
        f"Setting {name} was {a or 'the default'} and is {b or 'the default'}."
        for name, a, b in settings
    ]
    return StatementPair(
        statement=second.statement or first.statement,
        outcome=outcome,
        title=title,
        reasons=(*reasons, *changed, *also),
        first=first,
        second=second,
        time_ratio=times.time_ratio,
        io_time_ratio=times.io_ratio,
        block_time_ratio=times.block_ratio,
        settings=settings,
        diff=difference(first.plan, second.plan)  # type: ignore[arg-type]
        if is_other_plan
        else (),
        advice=advice,
        refuted_by=refuted_by,
        counts=counts,
    )


_Judgement = tuple[PairOutcome, str, tuple[str, ...], str, str]


def _judged(first: Capture, second: Capture, times: _Times) -> _Judgement:
    if (first.plan is None) != (second.plan is None):
        return PairOutcome.UNKNOWN, "Only one side has a plan.", (), "Capture both alike.", ""
    has_plans = first.plan is not None and second.plan is not None
    same = "The plan is the same" if has_plans else "Calls and counters were compared, not plans"
    if first.plan and second.plan and not is_same_shape(first.plan, second.plan):
        return _other_plan(first, second, times)
    if not (first.was_run and second.was_run):
        title = f"{same}; it was not run on both sides, so time and blocks cannot be compared."
        return PairOutcome.UNKNOWN, title, (), "Give its parameters, so that it can be run.", ""
    if not _rows_alike(first, second):
        return _other_rows(first, second, times)
    if first.blocks is None or second.blocks is None:
        return _without_blocks(same, times)
    if not _alike(first.blocks.touched, second.blocks.touched) or not _alike(
        first.blocks.temp_written, second.blocks.temp_written
    ):
        return _other_blocks(first.blocks, second.blocks, times, has_plan=has_plans)
    if times.is_alike:
        title = f"The same: {_over(first.blocks, has_plan=has_plans)}, {_took(times)}."
        return PairOutcome.SAME, title, (), "", ""
    return _other_time(first, second, times)


def _other_plan(first: Capture, second: Capture, times: _Times) -> _Judgement:
    reasons = [
        sentence for sentence in (_took_sentence(times), _touched(first, second)) if sentence
    ]
    advice = (
        "Check why the planner chose it: statistics (ANALYZE), a new or dropped index, a setting, or "
        "other parameters."
    )
    return PairOutcome.PLAN, "Another plan.", tuple(reasons), advice, ""


def _other_rows(first: Capture, second: Capture, times: _Times) -> _Judgement:
    work = (_work(first), _work(second))
    title = f"The same plan over other rows: {number(work[1], 3)} instead of {number(work[0], 3)}."
    reasons = [
        sentence for sentence in (_took_sentence(times), _touched(first, second)) if sentence
    ]
    advice = "Compare executions with the same parameters; if they are, the table has changed."
    return PairOutcome.ROWS, title, tuple(reasons), advice, ""


def _without_blocks(same: str, times: _Times) -> _Judgement:
    if times.is_alike:
        title = f"The same plan and rows, {_took(times)}; blocks were not captured."
        return PairOutcome.SAME, title, (), "", ""
    title = f"{same} and {_took(times)}; without blocks the cause is unknown."
    return PairOutcome.UNKNOWN, title, (), "Capture with BUFFERS (auto_explain.log_buffers).", ""


def _other_blocks(first: Blocks, second: Blocks, times: _Times, *, has_plan: bool) -> _Judgement:
    spilled = not _alike(first.temp_written, second.temp_written)
    plan = "The same plan over" if has_plan else "A call touches"
    if _alike(first.touched, second.touched):
        title = (
            f"The same plan and blocks, but it wrote {number(second.temp_written)} blocks of "
            f"temporary files instead of {number(first.temp_written)}."
        )
        advice = "Compare work_mem on both sides."
    else:
        title = f"{plan} {number(second.touched)} blocks instead of {number(first.touched)}."
        advice = (
            "Look for bloat: dead rows that no vacuum has removed, an index or table that has grown."
            if has_plan
            else "Capture its plan on both sides: it is another one, or the table has grown."
        )
    reasons = [_took_sentence(times)]
    if spilled and not _alike(first.touched, second.touched):
        reasons.append(
            f"Temporary files: {number(second.temp_written)} blocks instead of "
            f"{number(first.temp_written)}."
        )
    return PairOutcome.BLOCKS, title, tuple(r for r in reasons if r), advice, ""


def _other_time(first: Capture, second: Capture, times: _Times) -> _Judgement:
    assert first.blocks is not None
    assert second.blocks is not None
    cached, stored = _parted(first.blocks, second.blocks)
    is_cache = not _alike(first.blocks.read, second.blocks.read) and (
        stored is None or cached is None or abs(cached) > abs(stored)
    )
    has_plan = first.plan is not None
    over = _over(first.blocks, has_plan=has_plan)
    reasons = [*_io_reasons(first.blocks, second.blocks, times), *_lost_in(first, second)]
    if is_cache:
        title = (
            f"The same plan over as many blocks, but {number(second.blocks.read)} of them were read "
            f"instead of {number(first.blocks.read)}; {_took(times)}."
        )
        if not has_plan:
            title = title.replace(
                "The same plan over as many blocks", "A call touches as many blocks"
            )
        advice = (
            "Check what else fills the memory: buffers and page cache held fewer of its blocks."
        )
        refuted_by = "Both sides read the same part from storage and the time still differs."
        return PairOutcome.CACHE, title, tuple(reasons), advice, refuted_by
    title = f"Not the query: {over}, {_took(times)}."
    is_io = _io_share(first.blocks, second.blocks, times)
    advice = _STORAGE if is_io is None or is_io >= 0.5 else _WAITED
    if is_io is None:
        reasons.append(
            "I/O was not timed (track_io_timing is off): the cause may be storage, locks or CPU."
        )
    refuted_by = (
        "A new capture of the slow execution has other rows or blocks, or is as slow while storage is "
        "idle."
    )
    return PairOutcome.NOT_THE_QUERY, title, tuple(reasons), advice, refuted_by


def _io_reasons(first: Blocks, second: Blocks, times: _Times) -> list[str]:
    found = []
    if first.io_s is not None and second.io_s is not None and (first.io_s or second.io_s):
        share = _io_share(first, second, times)
        part = f", {format_ratio(min(share, 1.0))} of the difference" if share is not None else ""
        text = f"I/O took {duration(second.io_s)} instead of {duration(first.io_s)}"
        found.append(f"{text}{_times_as(times.io_ratio)}{part}.")
    if times.block_ratio is not None:
        before, after = _block_s(first), _block_s(second)
        assert before is not None
        assert after is not None
        found.append(
            f"A block took {format_latency(after)} to read instead of {format_latency(before)}"
            f"{_times_as(times.block_ratio)}."
        )
    return found


def _lost_in(first: Capture, second: Capture) -> list[str]:
    """Return the node whose own time differs most."""
    if first.plan is None or second.plan is None:
        return []
    grown = [
        (after_s - before_s, before, after)
        for before, after in zip(nodes_of(first.plan), nodes_of(second.plan), strict=True)
        if (before_s := own_s(before)) is not None and (after_s := own_s(after)) is not None
    ]
    if not grown:
        return []
    _, before, after = max(grown, key=lambda item: abs(item[0]))
    text = (
        f"Most of the difference is in {name_of(after)}: {duration(own_s(after) or 0.0)} instead of "
        f"{duration(own_s(before) or 0.0)}"
    )
    io = own_io_s(after)
    return [f"{text}, {duration(io)} of it I/O." if io else f"{text}."]


def _parted(first: Blocks, second: Blocks) -> tuple[float | None, float | None]:
    """Return the parts of the additional I/O time that more blocks and slower blocks make; seconds."""
    before, after = _block_s(first), _block_s(second)
    if before is None or after is None:
        return None, None
    return (second.read - first.read) * before, second.read * (after - before)


def _io_share(first: Blocks, second: Blocks, times: _Times) -> float | None:
    if first.io_s is None or second.io_s is None or times.first_s is None or times.second_s is None:
        return None
    lost = times.second_s - times.first_s
    return max((second.io_s - first.io_s) / lost, 0.0) if lost else None


def _times(first: Capture, second: Capture) -> _Times:
    before, after = first.blocks, second.blocks
    return _Times(
        first_s=first.execution_s,
        second_s=second.execution_s,
        time_ratio=_ratio(first.execution_s, second.execution_s),
        io_ratio=_ratio(_io_s(before), _io_s(after)),
        block_ratio=_ratio(_block_s(before), _block_s(after)),
    )


def _io_s(blocks: Blocks | None) -> float | None:
    return None if blocks is None else blocks.io_s


def _block_s(blocks: Blocks | None) -> float | None:
    """Return seconds for each block read; None where none was, or where reads were not timed."""
    if blocks is None or blocks.read_s is None or not blocks.read:
        return None
    return blocks.read_s / blocks.read


def _ratio(first: float | None, second: float | None) -> float | None:
    return second / first if first and second is not None else None


def _settings(first: Capture, second: Capture) -> tuple[tuple[str, str, str], ...]:
    if not (first.settings_known and second.settings_known):
        return ()
    names = sorted(first.settings.keys() | second.settings.keys())
    found = ((name, first.settings.get(name, ""), second.settings.get(name, "")) for name in names)
    return tuple(item for item in found if item[1] != item[2])


def _rows_alike(first: Capture, second: Capture) -> bool:
    return _alike(_work(first), _work(second))


def _work(capture: Capture) -> float:
    return scanned_rows(capture.plan) if capture.plan is not None else (capture.rows or 0.0)


def _alike(first: float, second: float) -> bool:
    return abs(first - second) <= max(_ALIKE_LEAST, _ALIKE_RATIO * max(first, second))


def _over(blocks: Blocks, *, has_plan: bool) -> str:
    what = "the same plan over" if has_plan else "as many rows out of"
    return f"{what} the same {number(blocks.touched)} blocks"


def _took(times: _Times) -> str:
    if times.first_s is None or times.second_s is None:
        return "time unknown"
    if times.is_alike:
        return f"{duration(times.second_s)} and {duration(times.first_s)}"
    text = f"{duration(times.second_s)} instead of {duration(times.first_s)}"
    return f"{text}{_times_as(times.time_ratio)}"


def _took_sentence(times: _Times) -> str:
    if times.first_s is None or times.second_s is None:
        return ""
    return f"It took {_took(times)}."


def _times_as(ratio: float | None) -> str:
    """Return `: 100 times slower`, or `: 100 times faster`."""
    if ratio is None or ratio <= 0:
        return ""
    if ratio >= 1:
        return f": {number(ratio, 2)} times slower"
    return f": {number(1 / ratio, 2)} times faster"


def _touched(first: Capture, second: Capture) -> str:
    if first.blocks is None or second.blocks is None:
        return ""
    return (
        f"It touched {number(second.blocks.touched)} blocks instead of "
        f"{number(first.blocks.touched)}, {number(second.blocks.read)} of them read instead of "
        f"{number(first.blocks.read)}."
    )


def duration(seconds: float) -> str:
    """Return a time as people read it: `0.2 ms`, `4.1 s`."""
    return f"{number(seconds, 3)} s" if abs(seconds) >= 1 else format_latency(seconds)
