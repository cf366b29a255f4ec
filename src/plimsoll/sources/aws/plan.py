"""Compute how many requests a reading needs, before any is sent."""

from collections.abc import Sequence

from plimsoll.sources.aws import described, events, instance_types, metric_data, os_metrics, session_load


def planned_calls(
    instance_count: int,
    window_s: tuple[int, int],
    *,
    now_s: float,
    listed_count: int | None = None,
    serverless_cluster_count: int = 0,
    type_count: int = 0,
    monitoring_intervals_s: Sequence[int] = (),
    insights_count: int = 0,
    fine_s: int = 0,
    has_statements: bool = False,
) -> int:
    """
    Return the number of requests for reading instances over a window if none fails.

    The number is exact except for Enhanced Monitoring by the second, whose pages depend on the length of
    the documents, and for statements, which are asked for only where a limit was reached; for those it is
    the largest possible number.

    Args:
        instance_count: number of instances to read.
        window_s: epoch seconds, [start, end).
        now_s: the current time, epoch seconds.
        listed_count: instances of the region, all listed for a pattern; None for a single name.
        serverless_cluster_count: clusters of Aurora Serverless among them.
        type_count: EC2 types that their classes run on.
        monitoring_intervals_s: interval of Enhanced Monitoring of every instance, 0 if off.
        insights_count: instances with Performance Insights on that still keeps the window.
        fine_s: length of the part to read by the second.
        has_statements: whether statements are asked for, where Performance Insights is on.

    Raises:
        UsageError: the window is in the future, or older than CloudWatch keeps.
    """
    grid = metric_data.grid_of(window_s, now_s)
    total = _pages(max(listed_count or 1, 1), described.RECORDS_A_PAGE)
    total += metric_data.calls_for(instance_count, grid.points)
    total += _pages(serverless_cluster_count, described.RECORDS_A_PAGE)
    total += _pages(type_count, instance_types.TYPES_A_CALL)
    total += instance_count if events.is_kept(window_s, now_s) else 0
    total += sum(os_metrics.calls_for(i, fine_s) for i in monitoring_intervals_s)
    return total + insights_count * (1 + (session_load.CALLS if has_statements else 0))


def _pages(count: int, a_page: int) -> int:
    return -(-count // a_page)
