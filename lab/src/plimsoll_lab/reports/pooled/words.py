"""The measurements of a phase of the pooled cluster as short texts, by the names that published figures have too."""

from collections.abc import Iterator, Mapping

from plimsoll.units import format_ratio, number
from plimsoll_lab.model.pooled import PooledFigures

UNKNOWN = "–"
# Of all processors; less is not worth a word.
_SHOWN = 0.005


def figures_of(figures: PooledFigures) -> Iterator[tuple[str, str]]:
    """Yield every measurement of a phase with its name."""
    yield ("connections", f"{figures.connections_max:,} at most, {figures.connections_end:,} at the end")
    yield "by state", by_state(figures)
    yield "opened", f"{figures.opened:,}; the services closed {figures.closed:,}"
    yield "held", UNKNOWN if figures.held_s is None else f"{seconds(figures.held_s)} on average"
    yield "refused", f"{figures.refused:,} connections"
    yield "arrivals", f"{number(figures.arrivals_per_s, 3)} per second"
    yield "transactions", f"{number(figures.done_per_s, 3)} per second done, {given_up(figures)}"
    yield ("queries", f"{figures.queries_per_s:,.0f} per second, {figures.useful_per_s:,.0f} of them useful")
    yield ("latency", f"{seconds(figures.latency_s_p50)} (median), {seconds(figures.latency_s_p95)} (95 %)")
    yield "load", f"{number(figures.load_average_max, 3)}"
    yield "processors", processors(figures.processors)


def processors(shares: Mapping[str, float]) -> str:
    """Return which program took how much of all processors, the largest first."""
    shown = {name: share for name, share in shares.items() if share >= _SHOWN}
    if not shares:
        return UNKNOWN
    parts = [f"{name} {format_ratio(share)}" for name, share in shown.items()]
    return f"{format_ratio(sum(shares.values()))} busy: {', '.join(parts)}"


def by_state(figures: PooledFigures) -> str:
    """Return the most connections in each state."""
    return (
        f"at most {figures.active_max:,} active, {figures.idle_max:,} idle, "
        f"{figures.in_transaction_max:,} idle in transaction, {figures.aborted_max:,} aborted"
    )


def given_up(figures: PooledFigures) -> str:
    """Return how many business transactions were given up, and why."""
    lost = sorted(figures.given_up.items(), key=lambda one: -one[1])
    if not lost:
        return "none given up"
    reasons = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in lost)
    return f"{sum(figures.given_up.values()):,} given up ({reasons})"


def seconds(value_s: float | None) -> str:
    """Return a time; milliseconds below one second."""
    if value_s is None:
        return UNKNOWN
    return f"{number(value_s * 1e3, 2)} ms" if value_s < 1 else f"{number(value_s, 2)} s"
