"""How many requests a reading takes, before any is sent: arithmetic only."""

from collections.abc import Sequence

from plimsoll.sources.aws import described, events, instance_types, metric_data, os_metrics


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
) -> int:
    """
    Return requests that reading instances over a window takes, when none fails.

    Exact for everything but Enhanced Monitoring by the second, whose pages depend on the length of
    the documents; there it is the most.

    Args:
        instance_count: how many are read.
        window_s: epoch seconds, [start, end).
        now_s: the present.
        listed_count: instances of the region, which a pattern makes us list; None for one by name.
        serverless_cluster_count: clusters of Aurora Serverless among them.
        type_count: EC2 types that their classes run on.
        monitoring_intervals_s: interval of Enhanced Monitoring of every instance, 0 where off.
        insights_count: instances with Performance Insights on, for a window that it still keeps.
        fine_s: length of the stretch read by the second.

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
    return total + insights_count


def _pages(count: int, a_page: int) -> int:
    return -(-count // a_page)
