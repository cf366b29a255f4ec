"""The measurements of a phase as short texts, by the names that published figures have too."""

from collections.abc import Iterator

from plimsoll.model.experiment import ExperimentReport, PhaseFigures, PhaseReport
from plimsoll.units import format_bytes_per_s, number

UNKNOWN = "–"


def figures_of(figures: PhaseFigures) -> Iterator[tuple[str, str]]:
    """Yield every measurement of a phase with its name."""
    yield "throughput", _throughput(figures)
    yield "IOPS", UNKNOWN if figures.ops_per_s is None else f"{figures.ops_per_s:,.0f}"
    yield "read latency", milliseconds(figures.read_latency_s)
    yield "write latency", milliseconds(figures.write_latency_s)
    yield "queue depth", _plain(figures.queue_depth)
    yield "minutes at a limit", f"{figures.throttled_minutes:.0f} of {figures.minutes:.0f}"
    yield (
        "response",
        f"{milliseconds(figures.response_s_p50)} (median), {milliseconds(figures.response_s_p95)} (95 %)",
    )
    yield (
        "freshness",
        f"{seconds(figures.freshness_s_p50)} (median), {seconds(figures.freshness_s_p99)} (99 %)",
    )
    yield (
        "events applied",
        UNKNOWN if figures.applied_per_s is None else f"{figures.applied_per_s:,.0f}/s",
    )
    yield "events that wait", f"{_count(figures.lag_start)} → {_count(figures.lag_end)}"
    yield "dead tuples per update", _plain(figures.dead_tuples_per_update)
    due = figures.vacuum_due_minutes
    yield "vacuum due every", UNKNOWN if due is None else f"{number(due, 2)} min"


def milliseconds(value_s: float | None) -> str:
    """Return a time in milliseconds."""
    return UNKNOWN if value_s is None else f"{number(value_s * 1e3, 2)} ms"


def seconds(value_s: float | None) -> str:
    """Return a time in seconds."""
    return UNKNOWN if value_s is None else f"{number(value_s, 2)} s"


def megabytes(figures: PhaseFigures) -> str:
    """Return the throughput in MB/s, without the unit."""
    total = _total(figures)
    return UNKNOWN if total is None else f"{total / 1e6:.0f}"


def scale_line(report: ExperimentReport) -> str:
    """Return the scale, for a headline."""
    return f"scale 1:{report.scale:g}"


def outcome_of(phase: PhaseReport) -> str:
    """Return how many of the things that Plimsoll said about a phase are true."""
    right = sum(check.is_right for check in phase.checks)
    return f"{right} of {len(phase.checks)} right"


def _throughput(figures: PhaseFigures) -> str:
    total = _total(figures)
    if total is None or figures.read_bytes_per_s is None or figures.write_bytes_per_s is None:
        return UNKNOWN
    reads, writes = (
        format_bytes_per_s(rate, 3)
        for rate in (figures.read_bytes_per_s, figures.write_bytes_per_s)
    )
    return f"{format_bytes_per_s(total, 3)} ({reads} read, {writes} written)"


def _total(figures: PhaseFigures) -> float | None:
    if figures.read_bytes_per_s is None or figures.write_bytes_per_s is None:
        return None
    return figures.read_bytes_per_s + figures.write_bytes_per_s


def _plain(value: float | None) -> str:
    return UNKNOWN if value is None else number(value, 2)


def _count(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"
