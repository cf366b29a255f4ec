"""Run `plimsoll explain record`: choose statements and parameters, explain them, collect the plans."""

from collections.abc import Callable

from msgspec.structs import replace

from plimsoll import __version__
from plimsoll.app.moments import seconds_of
from plimsoll.app.options import StatementChoice
from plimsoll.causes.statements.statements import capture_of, work_between
from plimsoll.errors import UsageError
from plimsoll.model.database import Statement
from plimsoll.model.explain import Capture, CaptureFile, UnrecordedStatement
from plimsoll.sources.explain.record import Recorder, check, parameters_for
from plimsoll.sources.explain.statements import StatementToRun, parameters_in, statements_in


def record_server(dsn: str, choice: StatementChoice, *, sleep: Callable[[float], None], now_s: float) -> CaptureFile:
    """
    Explain the chosen statements on a server.

    Args:
        dsn: libpq connection string or URI.
        choice: which statements, and how.
        sleep: waits for a number of seconds.
        now_s: the current time, epoch seconds.

    Raises:
        PlimsollError: the server cannot be reached, or there is nothing to explain.
    """
    given = {} if choice.parameter_file is None else parameters_in(choice.parameter_file)
    named = [*choice.statements, *(statements_in(choice.file) if choice.file else ())]
    if not named and choice.top is None:
        raise UsageError("no statement was given", "Give --statement, --statements FILE or --top N.")
    timeout_s = seconds_of(choice.timeout, "--timeout")
    recorder = Recorder(dsn)
    try:
        wanted = [StatementToRun(statement=statement) for statement in named]
        counted: list[Capture] = []
        unrecorded: list[UnrecordedStatement] = []
        if choice.top is not None:
            statements, counted = _counted(recorder, choice, sleep)
            chosen, unrecorded = recorder.wanted_of(statements, choice.top)
            wanted += chosen
            counted = _of(chosen, counted)
        wanted = [parameters_for(item, given, choice.parameters or None) for item in wanted]
        if not counted and not unrecorded:
            check(wanted)
        captures = list(counted)
        for item in wanted:
            for _ in range(choice.runs):
                found = recorder.explain(
                    item, timeout_s=timeout_s, allows_writes=choice.allows_writes, is_generic=choice.is_generic
                )
                if isinstance(found, UnrecordedStatement):
                    unrecorded.append(found)
                    break
                captures.append(replace(found, time_s=now_s))
                if not found.was_run:
                    break
    finally:
        recorder.close()
    return CaptureFile(
        made_by=f"plimsoll {__version__}",
        place=recorder.place,
        server_version=recorder.version,
        time_s=now_s,
        block_bytes=recorder.block_bytes,
        captures=tuple(captures),
        unrecorded=tuple(unrecorded),
        note=recorder.note,
    )


def _counted(
    recorder: Recorder, choice: StatementChoice, sleep: Callable[[float], None]
) -> tuple[list[Statement], list[Capture]]:
    """Return statements by time spent, since the reset or while watched, with the means of those watched."""
    first = recorder.statements()
    if choice.watched is None:
        return list(first), []
    sleep(seconds_of(choice.watched, "--for"))
    works = [work.statement for work in work_between(first, recorder.statements())]
    works.sort(key=lambda work: -work.exec_s)
    return works, [capture_of(work) for work in works]


def _of(chosen: list[StatementToRun], counted: list[Capture]) -> list[Capture]:
    identifiers = {item.query_id for item in chosen}
    return [capture for capture in counted if capture.query_id in identifiers]
