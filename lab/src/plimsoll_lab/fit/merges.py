"""
The merging of sequential requests into larger operations, and limits that count each request.

Theory. Scattered requests show the number of operations charged per second. Sequential ones of the same
size move more bytes if several are charged as one. Bytes over operations charged is the merged size. It
is a lower bound where another limit bound before the operations did.
"""

from collections.abc import Sequence

from plimsoll_lab.fit.levels import levels_of
from plimsoll_lab.model.sweep import Estimate, Merge, SweepPoint, Unit

# Below this gain, requests were not merged: clocks, warm caches and rounding explain it.
MERGED_MIN = 1.1
# So near to the plateau, the plateau is what bound.
_AT_PLATEAU = 0.97
_AT_REQUESTS = 0.03


def request_limit_of(
    sequential: Sequence[SweepPoint], strangers: Sequence[SweepPoint], ops: Estimate | None
) -> Estimate | None:
    """
    Return a limit that counts requests before merging, such as an instance's; it bounds sequential ones.

    Args:
        sequential: points of one phase and direction.
        strangers: those that no limit of the storage decided.
        ops: the limit on scattered requests.

    Returns:
        None where fewer than two sizes stop at one number above that limit.
    """
    points = [point for point in sequential if point not in strangers]
    # A knee needs a point on either side, and one more to exclude chance.
    if ops is None or len(points) < 3:
        return None
    levels = levels_of(points)
    found = levels.ops
    if found is None or int(levels.is_ops.sum()) < 2 or found.value < MERGED_MIN * ops.value:
        return None
    return found


def merges_of(
    sequential: Sequence[SweepPoint],
    strangers: Sequence[SweepPoint],
    ops: Estimate | None,
    plateau: Estimate | None,
    unit: Unit | None,
    requests: Estimate | None,
) -> tuple[Merge, ...]:
    """
    Return the merged size of sequential requests, for each I/O size.

    Args:
        sequential: points of one phase and direction.
        strangers: those that no limit of the storage decided; they still give a lower bound.
        ops: operations charged per second, as scattered requests show.
        plateau: most bytes per second.
        unit: the accounting unit, where the plateau may be its own.
        requests: the limit that `request_limit_of` found.
    """
    if ops is None:
        return ()
    # If the plateau is operations × unit, requests were merged to the unit; else the plateau bound first.
    is_whole = unit is not None and plateau is not None and plateau.value >= _AT_PLATEAU * ops.value * unit.size.value
    found = []
    for point in sorted(sequential, key=lambda p: p.io_size_bytes):
        size = point.effective_size_bytes
        whole = size if unit is None else min(size, unit.size.value)
        merged = point.bytes_per_s / ops.value
        is_plateau = plateau is not None and point.bytes_per_s >= _AT_PLATEAU * plateau.value
        if merged < MERGED_MIN * whole:
            # Where bytes bind, the number of operations shows nothing about merging.
            is_beyond = plateau is not None and size * ops.value >= _AT_PLATEAU * plateau.value
            if point in strangers or is_plateau or is_beyond:
                continue
            found.append(_merge(point, size, ops, is_at_least=False))
            continue
        is_stopped = requests is not None and abs(point.ops_per_s / requests.value - 1) < _AT_REQUESTS
        is_at_least = point in strangers or is_stopped or (is_plateau and not is_whole)
        found.append(_merge(point, merged, ops, is_at_least=is_at_least))
    return tuple(found)


def _merge(point: SweepPoint, merged: float, ops: Estimate, *, is_at_least: bool) -> Merge:
    # The merged size is bytes over operations, so its bounds are those of the operations in reverse.
    return Merge(
        io_size_bytes=point.io_size_bytes,
        merged_bytes=Estimate(
            value=merged,
            low=None if ops.high is None else merged * ops.value / ops.high,
            high=None if ops.low is None else merged * ops.value / ops.low,
        ),
        is_at_least=is_at_least,
    )
