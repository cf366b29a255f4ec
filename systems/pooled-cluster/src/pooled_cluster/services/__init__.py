"""The services of the cluster: what opens connections, and what becomes of its clients."""

from pooled_cluster.services.counts import Counts, Latency, Now
from pooled_cluster.services.data import fill
from pooled_cluster.services.services import Services

__all__ = ["Counts", "Latency", "Now", "Services", "fill"]
