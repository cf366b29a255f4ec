"""How scattered rows are in the order of an index, from how many pages windows of consecutive rows touch."""

from math import log


def scatter_ratio(*, touched: float, rows: float, pages: float, per_page: float, switches: float = 0.0) -> float:
    """
    Return the share of rows that touch another page than those before them.

    Rows in order touch rows ÷ per_page pages, and one more where a window begins on a page. Of P pages, n random
    touches reach P·(1 − e^(−n/P)), so n follows from what was reached.

    Args:
        touched: pages that a window touches, on average, ≥ 0.
        rows: rows of a window, on average, ≥ 0.
        pages: of the index, > 0.
        per_page: rows on a page, > 0.
        switches: how often, on average, a window goes over to the rows of another worker, ≥ 0. Each worker stays on
            pages of its own, so that a page which another worker left is no new one.

    Returns:
        0 for rows in order, 1 for random order.

    >>> scatter_ratio(touched=2, rows=100, pages=400, per_page=100)
    0.0
    >>> scatter_ratio(touched=88.5, rows=100, pages=400, per_page=100) > 0.98
    True
    """
    in_order = rows / per_page + 1 + switches
    if rows <= in_order or touched <= in_order:
        return 0.0
    reached = min(touched / pages, 0.999)
    touches = -pages * log(1 - reached)
    return min(touches / rows, 1.0)
