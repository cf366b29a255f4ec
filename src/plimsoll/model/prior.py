"""The assumptions about demand that a ceiling kept from being measured; a user can replace them."""

from msgspec import Struct


class Prior(Struct, frozen=True, kw_only=True):
    """
    All assumptions that no measurement of one window can replace.

    `plan/demand/overload.py` has the distribution and the evidence that narrows it. `bench/prior.py` prints
    the results of other values. docs/concepts/how-demand-is-recovered.md gives the origin of these.
    """

    overload_median: float = 1.8
    """Median of demand over its ceiling, > 1. A load reaches a ceiling by
    growing and is noticed within weeks. The published search service asked for 1.53 times its ceiling;
    of three collections of simulated incidents half pass at 1.7, 1.9 and 2.1 times their limits."""
    overload_log_sd: float = 0.8
    """Spread of log(overload − 1), > 0: at 0.8 three loads in five ask for less than twice the ceiling,
    and seven in eight for less than three times."""
    lost: float = 0.27
    """Weight ≥ 0 of loads whose unserved requests are dropped, or give up."""
    job: float = 0.14
    """Weight ≥ 0 of work that queues: it arrives at its own rate and is done later. Half of all jobs
    are there at once; they use any throughput they get and count as greedy."""
    clients: float = 0.27
    """Weight ≥ 0 of clients that wait for an answer and then pause."""
    greedy: float = 0.2
    """Weight ≥ 0 of loads that use any throughput they get: vacuums, load jobs, clients without
    pauses. Half of it counts where more requests are in flight than nearly all open loads ask for. Steps are
    chosen without those, because hardly any size is enough for them; their chances count them."""
