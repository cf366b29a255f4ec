"""Compare two captures of one statement: what differs, and what that says about its time."""

from msgspec import Struct

from plimsoll.explain.shapes import difference, is_same_shape, name_of, nodes_of, own_io_s, own_s, scanned_rows
from plimsoll.model.explain import Blocks, Capture, PairOutcome, StatementPair
from plimsoll.units import format_latency, format_ratio, number

# Judgements. On an undisturbed server executions of one statement differ by tens of percent, rarely by a
# factor of two. Differences below a millisecond come from the clock and the scheduler.
TIME_RATIO = 2.0
_TIME_LEAST_S = 0.001
# Judgements. Block counts also vary with other work on the table: splits of index pages, a few more rows.
_ALIKE_RATIO = 0.10
_ALIKE_LEAST = 10.0

_WAITED = "Check the wait events and the CPU of that time, and run 'plimsoll inspect'."
_STORAGE = (
    "Check the storage at that time, not the statement: 'plimsoll diagnose' names the ceiling, "
    "'plimsoll inspect' shows who else used it."
)


class _Times(Struct, frozen=True, kw_only=True):
    """Times of two executions and their ratios; None where unknown."""

    first_s: float | None
    second_s: float | None
    time_ratio: float | None
    io_ratio: float | None
    block_ratio: float | None

    @property
    def is_alike(self) -> bool:
        """Whether both took about as long."""
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
        first: the reference.
        second: the capture in question.
        counts: how many executions each of them represents.
        also: sentences to add to the reasons.
    """
    times = _times(first, second)
    settings = _settings(first, second)
    outcome, title, reasons, advice, refuted_by = _judge(first, second, times)
    is_other_plan = outcome is PairOutcome.PLAN and first.plan is not None and second.plan is not None
    changed = [f"Setting {name} was {a or 'the default'} and is {b or 'the default'}." for name, a, b in settings]
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


def _judge(first: Capture, second: Capture, times: _Times) -> _Judgement:
    """Return the first difference that explains the time: plan, rows, blocks, then cache or storage."""
    if (first.plan is None) != (second.plan is None):
        return (PairOutcome.UNKNOWN, "Only one side has a plan.", (), "Capture both in the same way.", "")
    has_plans = first.plan is not None and second.plan is not None
    same = "The plan is the same" if has_plans else "Calls and counters were compared, not plans"
    if first.plan and second.plan and not is_same_shape(first.plan, second.plan):
        return _other_plan(first, second, times)
    if not (first.was_run and second.was_run):
        title = f"{same}; it was not executed on both sides, so time and blocks cannot be compared."
        return (PairOutcome.UNKNOWN, title, (), "Give its parameters, so that it can be executed.", "")
    if not _rows_alike(first, second):
        return _other_rows(first, second, times)
    if first.blocks is None or second.blocks is None:
        return _without_blocks(same, times)
    if not _alike(first.blocks.touched, second.blocks.touched) or not _alike(
        first.blocks.temp_written, second.blocks.temp_written
    ):
        return _other_blocks(first.blocks, second.blocks, times, has_plan=has_plans)
    if times.is_alike:
        title = f"The same: {_scope_text(first.blocks, has_plan=has_plans)}, {_time_text(times)}."
        return PairOutcome.SAME, title, (), "", ""
    return _other_time(first, second, times)


def _other_plan(first: Capture, second: Capture, times: _Times) -> _Judgement:
    reasons = [sentence for sentence in (_time_sentence(times), _blocks_sentence(first, second)) if sentence]
    advice = (
        "Check why the planner chose it: statistics (ANALYZE), a new or dropped index, a setting, or "
        "different parameters."
    )
    return PairOutcome.PLAN, "The plan is different.", tuple(reasons), advice, ""


def _other_rows(first: Capture, second: Capture, times: _Times) -> _Judgement:
    work = (_work(first), _work(second))
    title = f"The same plan processed {number(work[1], 3)} rows instead of {number(work[0], 3)}."
    reasons = [sentence for sentence in (_time_sentence(times), _blocks_sentence(first, second)) if sentence]
    advice = "Compare executions with the same parameters. If they were the same, the table has changed."
    return PairOutcome.ROWS, title, tuple(reasons), advice, ""


def _without_blocks(same: str, times: _Times) -> _Judgement:
    if times.is_alike:
        title = f"The same plan and rows, {_time_text(times)}; blocks were not captured."
        return PairOutcome.SAME, title, (), "", ""
    title = f"{same} and {_time_text(times)}; without blocks the cause is unknown."
    return PairOutcome.UNKNOWN, title, (), "Capture with BUFFERS (auto_explain.log_buffers).", ""


def _other_blocks(first: Blocks, second: Blocks, times: _Times, *, has_plan: bool) -> _Judgement:
    spilled = not _alike(first.temp_written, second.temp_written)
    plan = "The same plan touched" if has_plan else "A call touched"
    if _alike(first.touched, second.touched):
        title = (
            f"The same plan and blocks, but it wrote {number(second.temp_written)} blocks to "
            f"temporary files instead of {number(first.temp_written)}."
        )
        advice = "Compare work_mem on both sides."
    else:
        title = f"{plan} {number(second.touched)} blocks instead of {number(first.touched)}."
        advice = (
            "Check for bloat: dead rows that vacuum has not removed, or an index or table that has grown."
            if has_plan
            else "Capture its plan on both sides: the plan has changed, or the table has grown."
        )
    reasons = [_time_sentence(times)]
    if spilled and not _alike(first.touched, second.touched):
        reasons.append(
            f"Temporary files: {number(second.temp_written)} blocks instead of {number(first.temp_written)}."
        )
    return PairOutcome.BLOCKS, title, tuple(r for r in reasons if r), advice, ""


def _other_time(first: Capture, second: Capture, times: _Times) -> _Judgement:
    assert first.blocks is not None
    assert second.blocks is not None
    cached, stored = _split_io_difference(first.blocks, second.blocks)
    is_cache = not _alike(first.blocks.read, second.blocks.read) and (
        stored is None or cached is None or abs(cached) > abs(stored)
    )
    has_plan = first.plan is not None
    over = _scope_text(first.blocks, has_plan=has_plan)
    reasons = [*_io_reasons(first.blocks, second.blocks, times), *_largest_difference(first, second)]
    if is_cache:
        title = (
            f"The same plan touched as many blocks, but {number(second.blocks.read)} of them were read "
            f"instead of {number(first.blocks.read)}; {_time_text(times)}."
        )
        if not has_plan:
            title = title.replace("The same plan touched as many blocks", "A call touched as many blocks")
        advice = "Check what else fills the memory: fewer of its blocks were in shared buffers or page cache."
        refuted_by = "Both sides read the same part from storage and the time still differs."
        return PairOutcome.CACHE, title, tuple(reasons), advice, refuted_by
    title = f"Not the query: {over}, {_time_text(times)}."
    is_io = _io_share(first.blocks, second.blocks, times)
    # Where I/O makes half of the difference or more, storage is the place to look.
    advice = _STORAGE if is_io is None or is_io >= 0.5 else _WAITED
    if is_io is None:
        reasons.append("I/O was not timed (track_io_timing is off), so the cause may be storage, locks or CPU.")
    refuted_by = (
        "A new capture of the slow execution has different rows or blocks, or is as slow while storage is idle."
    )
    return PairOutcome.NOT_THE_QUERY, title, tuple(reasons), advice, refuted_by


def _io_reasons(first: Blocks, second: Blocks, times: _Times) -> list[str]:
    found = []
    if first.io_s is not None and second.io_s is not None and (first.io_s or second.io_s):
        share = _io_share(first, second, times)
        part = f", {format_ratio(min(share, 1.0))} of the difference" if share is not None else ""
        text = f"I/O took {duration(second.io_s)} instead of {duration(first.io_s)}"
        found.append(f"{text}{_ratio_text(times.io_ratio)}{part}.")
    if times.block_ratio is not None:
        before, after = _block_s(first), _block_s(second)
        assert before is not None
        assert after is not None
        found.append(
            f"A block took {format_latency(after)} to read instead of {format_latency(before)}"
            f"{_ratio_text(times.block_ratio)}."
        )
    return found


def _largest_difference(first: Capture, second: Capture) -> list[str]:
    """Return a sentence about the node whose own time differs most."""
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


def _split_io_difference(first: Blocks, second: Blocks) -> tuple[float | None, float | None]:
    """Return the additional I/O time due to more blocks and due to slower blocks, in seconds."""
    before, after = _block_s(first), _block_s(second)
    if before is None or after is None:
        return None, None
    return (second.read - first.read) * before, second.read * (after - before)


def _io_share(first: Blocks, second: Blocks, times: _Times) -> float | None:
    """Return the share of the time difference that I/O makes; None where times are unknown."""
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
    """Return seconds per block read; None if no block was read or reads were not timed."""
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


def _scope_text(blocks: Blocks, *, has_plan: bool) -> str:
    what = "the same plan over" if has_plan else "as many rows came from"
    return f"{what} the same {number(blocks.touched)} blocks"


def _time_text(times: _Times) -> str:
    if times.first_s is None or times.second_s is None:
        return "time unknown"
    if times.is_alike:
        return f"{duration(times.second_s)} and {duration(times.first_s)}"
    text = f"{duration(times.second_s)} instead of {duration(times.first_s)}"
    return f"{text}{_ratio_text(times.time_ratio)}"


def _time_sentence(times: _Times) -> str:
    if times.first_s is None or times.second_s is None:
        return ""
    return f"It took {_time_text(times)}."


def _ratio_text(ratio: float | None) -> str:
    """Return the ratio as text: `: 100 times slower` or `: 100 times faster`."""
    if ratio is None or ratio <= 0:
        return ""
    if ratio >= 1:
        return f": {number(ratio, 2)} times slower"
    return f": {number(1 / ratio, 2)} times faster"


def _blocks_sentence(first: Capture, second: Capture) -> str:
    if first.blocks is None or second.blocks is None:
        return ""
    return (
        f"It touched {number(second.blocks.touched)} blocks instead of "
        f"{number(first.blocks.touched)}, {number(second.blocks.read)} of them read instead of "
        f"{number(first.blocks.read)}."
    )


def duration(seconds: float) -> str:
    """Return a time as text: `0.2 ms`, `4.1 s`."""
    return f"{number(seconds, 3)} s" if abs(seconds) >= 1 else format_latency(seconds)
