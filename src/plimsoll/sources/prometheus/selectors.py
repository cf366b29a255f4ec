"""
Build selectors in PromQL for the series to read.

A user names an instance by the label of one exporter, but another exporter has its own label for the same
instance. So a match on such a label is queried under every exporter's label.
"""

import re
from collections.abc import Iterable, Sequence

from plimsoll.sources.prometheus.exporters import FAMILIES, IDENTITY, IDENTITY_LABELS, Exporter, KnownSeries, Subject
from plimsoll.sources.prometheus.server import PrometheusServer

DEVICE = "device"
"""A match on this label selects disks of a host; other series do not have it."""

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})

NAMING = ("dbidentifier", "dimension_DBInstanceIdentifier", "dbinstance_identifier", "instance")
"""Labels by which exporters name an instance or a host."""


def selector(names: str, matchers: Iterable[str]) -> str:
    """Return a selector of all series whose name matches a regular expression, with all matchers."""
    return "{" + ",".join([f'__name__=~"{names.translate(_ESCAPES)}"', *matchers]) + "}"


def equals(label: str, value: str) -> str:
    """Return a matcher for one value of a label."""
    return f'{label}="{value.translate(_ESCAPES)}"'


def devices_of(server: PrometheusServer) -> tuple[str, ...]:
    """Return the disks that the user named with `--match device=…`."""
    return tuple(v.removeprefix("/dev/") for label, v in server.match if label == DEVICE)


def plain_matchers(server: PrometheusServer) -> list[str]:
    """Return matchers for every series: all matches that name neither the subject nor a disk."""
    return [equals(label, value) for label, value in server.match if label not in IDENTITY_LABELS and label != DEVICE]


def discovery(server: PrometheusServer, identifier: str | None) -> list[str]:
    """
    Return selectors that together find every series of a known exporter with the given matches.

    Args:
        server: with the matches.
        identifier: name of the instance, compared without case, if given.
    """
    named = [(label, value) for label, value in server.match if label in IDENTITY_LABELS]
    plain = plain_matchers(server)
    literal = [equals(label, value) for label, value in named]
    found: dict[str, None] = {}
    for family, names in FAMILIES.items():
        if named or identifier is None:
            found[selector(names, [*plain, *literal])] = None
        if len(named) == 1:
            for label in IDENTITY[family]:
                found[selector(names, [*plain, equals(label, named[0][1])])] = None
        elif not named and identifier is not None:
            tail = "(:[0-9]+)?" if family is Exporter.NODE else ""
            pattern = f"(?i:{re.escape(identifier)}){tail}".translate(_ESCAPES)
            for label in IDENTITY[family]:
                found[selector(names, [*plain, f'{label}=~"{pattern}"'])] = None
    return list(found)


def samples(server: PrometheusServer, tracks: Sequence[KnownSeries]) -> list[tuple[str, int]]:
    """Return selectors for the samples of a subject, each with its number of series."""
    groups: dict[tuple[str, str, str], list[KnownSeries]] = {}
    for track in tracks:
        key = (_part(track), track.label, track.labels[track.label])
        groups.setdefault(key, []).append(track)
    plain = plain_matchers(server)
    found = []
    for (part, label, value), members in groups.items():
        names = "|".join(sorted({t.name for t in members}))
        matchers = [*plain, equals(label, value)]
        if part == _CPU:
            matchers.append('mode=~"idle|iowait"')
        elif part == _DISK:
            disks = "|".join(sorted({re.escape(t.labels[DEVICE]) for t in members}))
            matchers.append(f'device=~"{disks.translate(_ESCAPES)}"')
        found.append((selector(names, matchers), len(members)))
    return found


_CPU, _DISK = "node_cpu", "node_disk"


def _part(track: KnownSeries) -> str:
    """Return the group of series that share a selector; disks and processors need their own matcher."""
    if track.exporter is Exporter.NODE:
        for part in (_CPU, _DISK):
            if track.name.startswith(part):
                return part
    return track.exporter.value


def of_class(server: PrometheusServer, subject: Subject, db_class: str) -> str:
    """Return the selector of Qonto's facts about an instance class, which name no instance."""
    region = [] if subject.region is None else [equals("aws_region", subject.region)]
    names = "rds_instance_(vcpu_average|memory_bytes|(baseline|max)_(iops_average|throughput_bytes))"
    return selector(names, [*plain_matchers(server), equals("instance_class", db_class), *region])


def of_cluster(server: PrometheusServer, subject: Subject, cluster: str) -> str:
    """Return the selector of the largest capacity of an Aurora Serverless cluster."""
    region = [] if subject.region is None else [equals("aws_region", subject.region)]
    return selector(
        "rds_cluster_acu_max_average", [*plain_matchers(server), equals("cluster_identifier", cluster), *region]
    )


def everything() -> str:
    """Return the selector of all series of known exporters."""
    return selector("|".join(FAMILIES.values()), [])
