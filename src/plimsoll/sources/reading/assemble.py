"""Assemble a reading into a snapshot of one instance."""

from dataclasses import dataclass, replace

import numpy as np
from msgspec.structs import replace as replace_field

from plimsoll.errors import DataError
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Gap, Snapshot
from plimsoll.sources.reading.choose_instance import choose, describe
from plimsoll.sources.reading.merge import longest_window_steps, merge
from plimsoll.sources.reading.plausible import in_their_units
from plimsoll.sources.reading.reading import Channel, Reading
from plimsoll.sources.reading.resolve import ResolvedSamples, metric_asked, resolve
from plimsoll.sources.values.shown import counted
from plimsoll.units import format_ratio

# A judgement: Enhanced Monitoring is finer, CloudWatch usually longer. The finer one replaces the other only
# if it covers nearly the same window; four fifths permits an hour of late documents in a working day. If it
# covers less, both are kept: an hour of seconds must not replace whole hours.
SHARE_TO_PREFER_FINER = 0.8

# CloudWatch has separate latencies of reads and writes; Enhanced Monitoring has one wait for both.
_ALWAYS_CLOUDWATCH = frozenset({Metric.READ_LATENCY_S, Metric.WRITE_LATENCY_S})

# Four months at one second, nineteen years at a minute: longer than AWS keeps either. A window
# beyond that is two exports in one folder or a stray sample, and every later stage would lay a
# grid over the empty years between them.
MOST_STEPS = 10_000_000


def assemble(reading: Reading, *, identifier: str | None, source: str, has_units: bool = False) -> Snapshot:
    """
    Return the snapshot of one instance.

    Args:
        reading: all files of the export.
        identifier: instance that the user named; None if there is only one.
        source: name of the source, for reports.
        has_units: whether the source states its units, so that they are not checked; a file may have been
            exported in others.

    Raises:
        UsageError: several instances and none selected, or the selected one is missing.
        DataError: no usable sample, or times too far apart.
    """
    resolved = resolve(reading)
    parts = _with_weak_labels_dropped(resolved.samples, reading, identifier)
    chosen = choose((p.instance for p in parts), reading.described, identifier)
    instance, gaps = describe(chosen, reading.described, reading.hints)
    gaps += [*reading.gaps, *_unanswered(reading), *resolved.gaps]
    if reading.bad_times:
        gaps.append(
            Gap(
                metric="timestamp",
                reason=(f"{counted(reading.bad_times, 'sample')} dropped: no readable time in 2000–2100, or no value"),
                remedy="Write times as ISO 8601 or as epoch seconds.",
            )
        )
    mine = [p for p in parts if p.instance is None or p.instance.lower() == chosen.lower()]
    series, fine, note, more = _series(mine, reading)
    gaps += more
    if not has_units:
        series, odd = in_their_units(series, instance)
        gaps += odd
    if not series and not _explains_emptiness(reading):
        raise _empty(source, resolved.unknown, gaps)
    # What lies beside the window at a finer step has a grid of its own.
    usual = [s for m, s in series.items() if m not in fine or s.step_s != fine[m].step_s]
    if longest_window_steps(usual) > MOST_STEPS:
        raise DataError(
            f"the times in {source} are too far apart to be one window",
            "Give one export of one window; a stray sample of another year may be in it.",
        )
    return Snapshot(
        instance=instance,
        series=series,
        source=source,
        is_simulated=reading.simulated is not None,
        note=" ".join(n for n in (reading.simulated, note) if n),
        gaps=tuple(dict.fromkeys(gaps)),
        fine=fine,
    )


def _unanswered(reading: Reading) -> list[Gap]:
    """Return gaps for incomplete answers of CloudWatch, under our name of the metric if there is one."""
    gaps: list[Gap] = []
    for (folder, query_id, label), gap in reading.pending.items():
        metric = metric_asked(folder, query_id, label, reading)
        gaps.append(gap if metric is None else replace_field(gap, metric=metric.value))
    return gaps


def _with_weak_labels_dropped(
    parts: list[ResolvedSamples], reading: Reading, wanted: str | None
) -> list[ResolvedSamples]:
    """
    Return samples without the instance in their label if it cannot be an identifier.

    People write `primary ReadIOPS` for an instance `orders-primary`. If labels give one name, no
    sample states another, and the user or a description names a single instance, that one is meant.
    """
    stated = {p.instance.lower() for p in parts if p.instance is not None and not p.is_labelled}
    labels = {p.instance.lower() for p in parts if p.instance is not None and p.is_labelled}
    described = {i.identifier.lower() for i in reading.described}
    is_one_meant = wanted is not None or len(described) == 1
    if stated or len(labels) != 1 or not is_one_meant or labels <= described:
        return parts
    return [replace(p, instance=None) for p in parts]


def _series(
    parts: list[ResolvedSamples], reading: Reading
) -> tuple[dict[Metric, Series], dict[Metric, Series], str, list[Gap]]:
    """Return every metric's series, the finer series, a note if two channels overlap, and gaps."""
    by_origin: dict[Channel, dict[Metric, list[ResolvedSamples]]] = {o: {} for o in Channel}
    for part in parts:
        by_origin[part.origin].setdefault(part.metric, []).append(part)
    merged = {
        origin: {metric: merge(metric, found) for metric, found in by_metric.items()}
        for origin, by_metric in by_origin.items()
    }
    enhanced = merged[Channel.ENHANCED_MONITORING]
    meeting = _Meeting.of(
        [s for s, _ in merged[Channel.CLOUDWATCH].values() if s], [s for s, _ in enhanced.values() if s]
    )
    series: dict[Metric, Series] = {}
    gaps: list[Gap] = []
    for metric in Metric:
        candidates = [merged[origin].get(metric) for origin in Channel]
        if meeting.is_finer_preferred and metric not in _ALWAYS_CLOUDWATCH:
            candidates[:2] = candidates[1::-1]
        for found in candidates:
            if found is None:
                continue
            gaps += found[1]
            if found[0] is not None:
                series[metric] = found[0]
                if found is enhanced.get(metric) and metric in reading.remarks:
                    gaps.append(reading.remarks[metric])
                break
    return series, meeting.finer_inside(enhanced), meeting.note, gaps


@dataclass(frozen=True, slots=True, kw_only=True)
class _Meeting:
    """How CloudWatch and Enhanced Monitoring overlap in the window."""

    is_finer_preferred: bool = False
    """Whether Enhanced Monitoring replaces CloudWatch."""
    part_s: tuple[int, int] | None = None
    """The window, if Enhanced Monitoring shows a part of it in more detail; else None."""
    note: str = ""

    @classmethod
    def of(cls, cloudwatch: list[Series], enhanced: list[Series]) -> "_Meeting":
        if not cloudwatch or not enhanced:
            return cls()
        fine_step_s = min(s.step_s for s in enhanced)
        step_s = min(s.step_s for s in cloudwatch)
        first = min(int(s.time_s[0]) for s in cloudwatch)
        last = max(int(s.time_s[-1]) + s.step_s for s in cloudwatch)
        longest = max(enhanced, key=lambda s: s.time_s.size)
        inside = (longest.time_s >= first) & (longest.time_s < last)
        covered = float(inside.sum()) * longest.step_s / (last - first)
        is_finer = fine_step_s < step_s
        if is_finer and covered >= SHARE_TO_PREFER_FINER:
            return cls(
                is_finer_preferred=True,
                note=(
                    f"Where Enhanced Monitoring ({fine_step_s} s) and CloudWatch ({step_s} s) "
                    "report the same metric, Enhanced Monitoring is used; latencies are "
                    "CloudWatch's."
                ),
            )
        share = format_ratio(min(covered, 1))
        has_part = is_finer and covered > 0
        return cls(
            part_s=(first, last) if has_part else None,
            note=(
                f"Where CloudWatch ({step_s} s) and Enhanced Monitoring ({fine_step_s} s) report "
                f"the same metric, CloudWatch is used; Enhanced Monitoring covers {share} of it"
                + (", which is also diagnosed at its own step." if has_part else ".")
            ),
        )

    def finer_inside(self, enhanced: dict[Metric, tuple[Series | None, list[Gap]]]) -> dict[Metric, Series]:
        """
        Return the finer series inside CloudWatch's window.

        Their latencies are means of reads and writes together. This needs no gap, because the report uses
        those of CloudWatch, which are separate.
        """
        if self.part_s is None:
            return {}
        found: dict[Metric, Series] = {}
        for metric in Metric:
            whole = enhanced.get(metric, (None, []))[0]
            if whole is None:
                continue
            first, last = np.searchsorted(whole.time_s, self.part_s)
            if first < last:
                found[metric] = replace(whole, time_s=whole.time_s[first:last], value=whole.value[first:last])
        return found


def _explains_emptiness(reading: Reading) -> bool:
    """Return whether an empty answer has a reason: the verdict is then unknown, not an error."""
    return bool(reading.pending)


def _empty(source: str, unknown: list[str], gaps: list[Gap]) -> DataError:
    if unknown:
        listed = ", ".join(f"'{name}'" for name in unknown[:3])
        more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
        return DataError(
            f"no known metric in {source}; its names are {listed}{more}",
            "Name metrics as CloudWatch does, for example ReadThroughput and WriteIOPS.",
        )
    if gaps:
        return DataError(f"no usable sample in {source}; {gaps[0].metric}: {gaps[0].reason}", gaps[0].remedy)
    return DataError(f"no sample in {source}", "Check the instance, the metrics and the window that were exported.")
