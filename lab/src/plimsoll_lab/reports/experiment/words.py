"""The measurements of a phase as short texts, by the names that published figures have too."""

from collections.abc import Iterator

from plimsoll.units import format_bytes_per_s, format_ratio, number
from plimsoll_lab.model.experiment import ExperimentFigures, ExperimentReport, PhaseReport

UNKNOWN = "–"


def measured_of(report: ExperimentReport) -> frozenset[str]:
    """Return the names of what the experiment measures: a load has no events, and a service no files."""
    found = set(_COMMON)
    for phase in report.phases:
        texts = dict(figures_of(phase.figures))
        # The share of a percentile, in parentheses, is no measurement.
        found |= {n for n, t in texts.items() if any(c.isdigit() for c in t.partition("(")[0])}
    return frozenset(found)


_COMMON = ("throughput", "IOPS", "read latency", "write latency", "queue depth", "minutes at a limit", "response")
"""What the gate and the probe of the database measure in every experiment."""


def figures_of(figures: ExperimentFigures) -> Iterator[tuple[str, str]]:
    """Yield every measurement of a phase with its name."""
    yield "throughput", _throughput(figures)
    yield "IOPS", UNKNOWN if figures.ops_per_s is None else f"{figures.ops_per_s:,.0f}"
    yield "read latency", milliseconds(figures.read_latency_s)
    yield "write latency", milliseconds(figures.write_latency_s)
    yield "queue depth", plain(figures.queue_depth)
    yield "minutes at a limit", f"{figures.throttled_minutes:.0f} of {figures.minutes:.0f}"
    yield (
        "response",
        f"{milliseconds(figures.response_s_p50)} (median), {milliseconds(figures.response_s_p95)} (95 %)",
    )
    yield ("freshness", f"{seconds(figures.freshness_s_p50)} (median), {seconds(figures.freshness_s_p99)} (99 %)")
    yield ("events applied", UNKNOWN if figures.applied_per_s is None else f"{figures.applied_per_s:,.0f}/s")
    yield "events that wait", f"{_count(figures.lag_start)} → {_count(figures.lag_end)}"
    yield "dead tuples per update", plain(figures.dead_tuples_per_update)
    yield "vacuum due every", minutes(figures.vacuum_due_minutes)
    yield "loading", minutes(figures.loading_minutes)
    yield "refresh", minutes(figures.refresh_minutes)
    yield "all jobs", minutes(figures.jobs_minutes)
    yield "byte balance at first", _percent(figures.byte_balance_start)
    yield "lowest byte balance", _percent(figures.byte_balance_min)


def minutes(value: float | None) -> str:
    """Return emulated minutes."""
    return UNKNOWN if value is None else f"{number(value, 2)} min"


def milliseconds(value_s: float | None) -> str:
    """Return a time in milliseconds."""
    return UNKNOWN if value_s is None else f"{number(value_s * 1e3, 2)} ms"


def seconds(value_s: float | None) -> str:
    """Return a time in seconds."""
    return UNKNOWN if value_s is None else f"{number(value_s, 2)} s"


def megabytes(figures: ExperimentFigures) -> str:
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


def _throughput(figures: ExperimentFigures) -> str:
    total = _total(figures)
    if total is None or figures.read_bytes_per_s is None or figures.write_bytes_per_s is None:
        return UNKNOWN
    reads, writes = (format_bytes_per_s(rate, 3) for rate in (figures.read_bytes_per_s, figures.write_bytes_per_s))
    return f"{format_bytes_per_s(total, 3)} ({reads} read, {writes} written)"


def _total(figures: ExperimentFigures) -> float | None:
    if figures.read_bytes_per_s is None or figures.write_bytes_per_s is None:
        return None
    return figures.read_bytes_per_s + figures.write_bytes_per_s


def plain(value: float | None) -> str:
    """Return a number without a unit."""
    return UNKNOWN if value is None else number(value, 2)


def _count(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def _percent(value: float | None) -> str:
    return UNKNOWN if value is None else format_ratio(value)
