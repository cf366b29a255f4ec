"""
Read an instance or host from a Prometheus-compatible server into a snapshot.

`server.py` parses the target, `client.py` sends requests, `fetch.py` fetches series and samples,
`exporters.py` recognises series, and `gauges.py` and `node.py` convert them to the samples
that exports have. The rest is the same as for every export.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from msgspec.structs import replace

from plimsoll.errors import AccessDenied, DataError, PlimsollError, Throttled, Unreachable, UsageError
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.overview import UnreadInstance
from plimsoll.model.shell import shell_word
from plimsoll.model.snapshot import Annotation, Gap, Snapshot
from plimsoll.sources.prometheus import facts, node, remarks, selectors
from plimsoll.sources.prometheus.client import Allowance, Bounds, Client, Exhausted
from plimsoll.sources.prometheus.exporters import Exporter, KnownSeries, chosen, classify, subject_of
from plimsoll.sources.prometheus.fetch import label_values, list_series, read_samples
from plimsoll.sources.prometheus.gauges import Gauges, blocks_of, gauges_of, read_os_metrics
from plimsoll.sources.prometheus.node import Counted
from plimsoll.sources.prometheus.remarks import PERCONA_LAG_S, Used
from plimsoll.sources.prometheus.server import PrometheusServer, server_of
from plimsoll.sources.reading.assemble import assemble
from plimsoll.sources.reading.reading import Block, Reading
from plimsoll.sources.values.shown import counted, listed, shown

__all__ = ["PrometheusServer", "read_prometheus", "read_prometheus_fleet", "server_of"]

Window = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SubjectSeries:
    """All series of one subject, with their samples."""

    identifier: str
    region: str | None
    tracks: Sequence[tuple[KnownSeries, Counted]]
    of_class: Sequence[Counted]

    def of(self, *exporters: Exporter) -> list[Counted]:
        return [series for track, series in self.tracks if track.exporter in exporters]


def read_prometheus(
    server: PrometheusServer,
    window_s: Window,
    *,
    identifier: str | None = None,
    bounds: Bounds | None = None,
    allowance: Allowance | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Snapshot:
    """
    Return the snapshot of one instance or host.

    Args:
        server: the server, and the labels that series must have.
        window_s: epoch seconds, [start, end).
        identifier: the instance, if the matches leave several.
        bounds: bounds of time and size.
        allowance: what earlier readings left of the bounds.
        sleep: waits between attempts.

    Returns:
        Its series in our units; samples of scrapes are on the grid of minutes.

    Raises:
        UsageError: no series or several instances match.
        SourceError: no usable answer; subclasses are AccessDenied, Unreachable and Throttled.
        DataError: no usable sample.
    """
    with Client(server, bounds, allowance=allowance, sleep=sleep) as client:
        found = _search(client, window_s, identifier)
        warnings = list(client.warnings)
    return _snapshot(server, found, window_s, warnings)


def read_prometheus_fleet(
    server: PrometheusServer,
    window_s: Window,
    pattern: str,
    *,
    is_chosen: Callable[[str], bool] = lambda _name: True,
    bounds: Bounds | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Snapshot | UnreadInstance]:
    """
    Yield the snapshot of every instance and host whose name matches, in order of names.

    Args:
        server: the server, and the labels that series must have.
        window_s: epoch seconds, [start, end).
        pattern: shell pattern, upper and lower case equal: `*`, `orders-*`.
        is_chosen: takes the name of a matching instance; the samples of the others are not read.
        bounds, sleep: as for `read_prometheus`.

    Returns:
        A snapshot for each instance, or why it could not be read.

    Raises:
        UsageError: no name matches.
        SourceError: the server refuses, does not answer, or the bound of one reading is reached.
    """
    reach = (window_s[0], window_s[1] + PERCONA_LAG_S)
    allowance = Allowance(bounds or Bounds())
    with Client(server, bounds, allowance=allowance, sleep=sleep) as client:
        tracks = classify(list_series(client, selectors.discovery(server, None), reach))
        if not tracks:
            raise _nothing(client, reach, None)
    every = {t.subject.identifier.lower(): t.subject.identifier for t in tracks}
    fitting = sorted(n for n in every if fnmatchcase(n, pattern.strip().lower()))
    if not fitting:
        raise UsageError(
            f"none of the {counted(len(every), 'instance')} of {server.url} matches '{shown(pattern)}'",
            f"Check the pattern. Instances there: {listed([shown(every[n], 63) for n in sorted(every)])}.",
        )
    for name in (n for n in fitting if is_chosen(every[n])):
        try:
            found = read_prometheus(
                server, window_s, identifier=every[name], bounds=bounds, allowance=allowance, sleep=sleep
            )
            yield replace(found, asked_s=window_s)
        except (AccessDenied, Unreachable, Throttled, Exhausted):
            # The next instance would fail too; the report shows what was read.
            raise
        except PlimsollError as error:
            yield UnreadInstance(identifier=shown(every[name], 63), reason=error.message, remedy=error.hint)


def _search(client: Client, window_s: Window, identifier: str | None) -> _SubjectSeries:
    server = client.server
    # Samples of rds_exporter are ten minutes late, so read ten minutes more.
    reach = (window_s[0], window_s[1] + PERCONA_LAG_S)
    tracks = classify(list_series(client, selectors.discovery(server, identifier), reach))
    if not tracks:
        raise _nothing(client, reach, identifier)
    mine = chosen(tracks, identifier)
    subject = subject_of(mine)
    known = {frozenset(t.labels.items()): t for t in mine}
    pairs = [
        (known[key], series)
        for selector, count in selectors.samples(server, mine)
        for series in read_samples(client, selector, reach, count)
        if (key := frozenset(series.labels.items())) in known and series.time_ms.size
    ]
    if not pairs:
        raise DataError(
            f"{server.url} has no sample of '{shown(subject.identifier, 63)}' in this window",
            "Its series are older or newer; set the window with --from and --to.",
        )
    info = facts.last_info([s for _, s in pairs])
    of_class: list[Counted] = []
    if info is not None:
        last_day = (max(window_s[0], window_s[1] - 86_400), window_s[1])
        asked = [selectors.of_class(server, subject, info.labels.get("instance_class", ""))]
        if cluster := info.labels.get("cluster_identifier"):
            asked.append(selectors.of_cluster(server, subject, cluster))
        of_class = [s for q in asked for s in read_samples(client, q, last_day, 10)]
    return _SubjectSeries(identifier=subject.identifier, region=subject.region, tracks=pairs, of_class=of_class)


def _nothing(client: Client, window_s: Window, identifier: str | None) -> UsageError:
    """Return the error for no match, with the values that the matched labels have."""
    server = client.server
    named = [(label, value) for label, value in server.match if label != selectors.DEVICE]
    texts = _values(client, [label for label, _ in named], window_s) or _values(client, selectors.NAMING, window_s)
    if not texts:
        programs = ", ".join(e.value for e in Exporter if e is not Exporter.PERCONA_OS)
        return UsageError(
            f"{server.url} has no metrics of a known exporter in this window",
            f"Known exporters are {programs}. Check the address and the window.",
        )
    what = ", ".join(f"{label}={shown(value)}" for label, value in named)
    what = what or f"instance '{shown(identifier)}'"
    return UsageError(f"{server.url} has no series with {what}", f"On this server, {'; '.join(texts)}.")


def _values(client: Client, labels: Sequence[str], window_s: Window) -> list[str]:
    """List the values of labels, one text for each label that has any."""
    texts: list[str] = []
    for label in dict.fromkeys(labels):
        values = label_values(client, label, selectors.everything(), window_s)
        if values:
            texts.append(f"{label} has {listed([shown(v, 63) for v in values])}")
    return texts


def _snapshot(server: PrometheusServer, found: _SubjectSeries, window_s: Window, warnings: list[str]) -> Snapshot:
    reading = Reading()
    annotations: tuple[Annotation, ...] = ()
    used: list[Used] = []
    if counters := found.of(Exporter.NODE):
        used += _read_host(server, found.identifier, counters, reading, window_s)
    else:
        used += _read_rds(found, reading, window_s)
        own = found.of(Exporter.QONTO)
        instance = facts.described(found.identifier, own, found.of_class)
        if instance is not None:
            reading.described.append(instance)
            used = _describing(used)
        annotations = tuple(a for a in facts.changes(own) if window_s[0] <= a.time_s < window_s[1])
    if found.region is not None:
        reading.hints.append(Instance(identifier=found.identifier, region=shown(found.region, 63)))
    if warnings:
        reading.gaps.append(
            Gap(
                metric="answers of the server",
                reason="; ".join(warnings[:3]),
                remedy="Run the command again when all parts of the server answer.",
            )
        )
    snapshot = assemble(
        reading, identifier=found.identifier, source=remarks.source_of(server.url, used), has_units=True
    )
    have = [*snapshot.series, *(t.metric for t, _ in found.tracks if t.metric is not None)]
    missing = remarks.missing_on_server(have, snapshot.instance, [u.exporter for u in used])
    note = " ".join(n for n in (remarks.note_of(used), snapshot.note) if n)
    return replace(snapshot, note=note, gaps=(*snapshot.gaps, *missing), annotations=annotations)


def _describing(used: Sequence[Used]) -> list[Used]:
    """Mark the exporter whose description is used, with or without metrics of its own."""
    marked = [replace(u, has_described=True) if u.exporter is Exporter.QONTO else u for u in used]
    if not any(u.has_described for u in marked):
        marked.append(Used(exporter=Exporter.QONTO, names=(), has_described=True))
    return marked


def _read_rds(found: _SubjectSeries, reading: Reading, window_s: Window) -> list[Used]:
    gauges: list[Gauges] = []
    for exporter in (Exporter.QONTO, Exporter.YACE, Exporter.CLOUDWATCH, Exporter.PERCONA):
        pairs = [(t, s) for t, s in found.tracks if t.exporter is exporter and t.metric is not None]
        if pairs:
            gauges.append(gauges_of(exporter, pairs, window_s))
    blocks, used = blocks_of(gauges, found.identifier)
    reading.blocks += blocks
    if os_series := found.of(Exporter.PERCONA_OS):
        before = len(reading.blocks)
        read_os_metrics(found.identifier, os_series, reading, window_s)
        if len(reading.blocks) > before:
            names = tuple(s.name for s in os_series)
            used.append(Used(exporter=Exporter.PERCONA_OS, names=names))
    # If no exporter has samples in the window, list those that were found.
    others = dict.fromkeys(t.exporter for t, _ in found.tracks)
    return used or [Used(exporter=e, names=()) for e in others]


def _read_host(
    server: PrometheusServer, identifier: str, counters: Sequence[Counted], reading: Reading, window_s: Window
) -> list[Used]:
    if differing := node.differing_labels(counters):
        label, texts = next(iter(differing.items()))
        raise UsageError(
            f"two hosts have the name '{shown(identifier, 63)}'",
            f"Add --match {shell_word(f'{label}={shown(next(t for t in texts if t), 63)}')}, or another of "
            f"{', '.join(differing)}.",
        )
    disks = node.disks_of(counters)
    devices = _devices(server, disks, counters)
    for part in node.rates_of(counters, devices):
        inside = (part.time_s >= window_s[0]) & (part.time_s < window_s[1])
        for metric, values in part.columns.items():
            keep = inside & np.isfinite(values)
            if keep.any():
                reading.blocks.append(
                    Block(
                        name=metric.value,
                        metric=metric,
                        instance=identifier,
                        time_s=part.time_s[keep],
                        value=values[keep],
                        period_s=part.step_s,
                    )
                )
    memory = node.latest(counters, "node_memory_MemTotal_bytes")
    reading.described.append(
        Instance(
            identifier=shown(identifier, 63),
            vcpu_count=node.cpu_count(counters),
            memory_bytes=None if memory is None else int(memory),
            storage=Storage(volume_count=len(devices) or None),
        )
    )
    names = tuple(s.name for s in counters)
    return [Used(exporter=Exporter.NODE, names=names, devices=devices, disk_count=len(disks))]


def _devices(server: PrometheusServer, disks: Sequence[str], counters: Sequence[Counted]) -> tuple[str, ...]:
    named = selectors.devices_of(server)
    known = {s.device for s in counters if s.name.startswith("node_disk_")}
    for name in named:
        if name not in known:
            raise UsageError(
                f"the host has no disk '{shown(name)}' on this server",
                f"Choose one with --match device=…: {', '.join(disks) or 'there is none'}.",
            )
    if named or not disks:
        return named
    return (node.busiest(counters, disks),)
