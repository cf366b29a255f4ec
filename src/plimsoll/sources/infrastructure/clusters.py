"""Give the instances of a cluster the monitoring that their cluster sets for all of them."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.model.infrastructure import Attribute, DeclaredDatabase, DeclaredState
from plimsoll.sources.infrastructure.values import UnknownValue

_NO_CLUSTER = "the cluster of this instance is not in the file"


class ClusterSettings(Struct, frozen=True, kw_only=True):
    """A cluster of a file."""

    name: Any
    """Identifier; an `UnknownValue` if it is not known."""
    state: DeclaredState


def with_cluster_settings(
    member: DeclaredDatabase, cluster: Any, clusters: Mapping[str, ClusterSettings]
) -> DeclaredDatabase:
    """
    Return an instance of a cluster with the settings of its cluster, in the state after the change.

    Args:
        member: an instance of a cluster.
        cluster: the address of its cluster, or its value of the cluster's identifier.
        clusters: those of the file, by address.
    """
    found = [c.state for address, c in clusters.items() if isinstance(cluster, str) and cluster in (address, c.name)]
    # A new cluster has no identifier yet, and its instances refer to it: with one cluster, it is that one.
    if not found and isinstance(cluster, UnknownValue) and len(clusters) == 1:
        found = [c.state for c in clusters.values()]
    # A cluster elsewhere may set the monitoring of its instances, too.
    if not found:
        return replace(member, after=_unsure(member.after))
    return replace(member, after=_joined(member.after, found[0]))


def _joined(member: DeclaredState, cluster: DeclaredState) -> DeclaredState:
    unknown = dict(member.unknown)
    if cluster.monitoring_interval_s:
        unknown.pop(Attribute.MONITORING, None)
    elif Attribute.MONITORING in cluster.unknown and not member.monitoring_interval_s:
        unknown[Attribute.MONITORING] = cluster.unknown[Attribute.MONITORING]
    if cluster.has_insights:
        unknown.pop(Attribute.INSIGHTS, None)
    elif Attribute.INSIGHTS in cluster.unknown and not member.has_insights:
        unknown[Attribute.INSIGHTS] = cluster.unknown[Attribute.INSIGHTS]
    return replace(
        member,
        monitoring_interval_s=cluster.monitoring_interval_s or member.monitoring_interval_s,
        has_insights=cluster.has_insights or member.has_insights,
        unknown=unknown,
    )


def _unsure(member: DeclaredState) -> DeclaredState:
    unknown = dict(member.unknown)
    if not member.monitoring_interval_s:
        unknown.setdefault(Attribute.MONITORING, _NO_CLUSTER)
    if not member.has_insights:
        unknown.setdefault(Attribute.INSIGHTS, _NO_CLUSTER)
    return replace(member, unknown=unknown)
