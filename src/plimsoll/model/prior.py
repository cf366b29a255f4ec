"""What is assumed of a load whose demand behind a ceiling was never seen; a user may know better."""

from msgspec import Struct


class Prior(Struct, frozen=True, kw_only=True):
    """
    The assumptions that no measurement of one window can replace, all in one place.

    `plan/demand/overload.py` gives the law and the evidence that sharpens it; `bench/prior.py` prints what
    other values would say, and docs/concepts/how-demand-is-recovered.md where these come from.
    """

    overload_median: float = 1.8
    """Demand over its ceiling, > 1: as many loads ask for more as for less. A load reaches a ceiling by
    growing and is noticed within weeks. The published search service asked for 1.53 times its ceiling;
    of three collections of simulated incidents half pass at 1.7, 1.9 and 2.1 times their limits."""
    overload_log_sd: float = 0.8
    """Spread of log(overload − 1), > 0: at 0.8 three loads in five ask for less than twice the ceiling,
    and seven in eight for less than three times."""
    lost: float = 0.27
    """Weight ≥ 0 of loads whose unserved requests are dropped, or give up."""
    job: float = 0.14
    """Weight ≥ 0 of work that queues: it came at a rate of its own and is done later. Half of all jobs
    are there at once; they take whatever they are given and count as greedy."""
    clients: float = 0.27
    """Weight ≥ 0 of clients that wait for an answer and then pause."""
    greedy: float = 0.32
    """Weight ≥ 0 of loads that take whatever they are given: vacuums, load jobs, clients without
    pauses. No size ends them, so they are left out of the chance that one is enough."""
