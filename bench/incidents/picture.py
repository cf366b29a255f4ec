"""Show an incident to people: a list of true and detected intervals, and a plot of the series."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from incidents.build import Incident
from plimsoll.model.metric import Metric
from plimsoll.units import format_bytes_per_s, format_clock, format_ops_per_s

PAIRS = {
    "throughput MB/s": (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S, 1e-6),
    "IOPS": (Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S, 1.0),
    "latency ms": (Metric.READ_LATENCY_S, Metric.WRITE_LATENCY_S, 1e3),
}
SINGLES = {
    "queue": (Metric.QUEUE_DEPTH, 1.0),
    "byte balance %": (Metric.BYTE_BALANCE_RATIO, 100.0),
    "IO balance %": (Metric.IO_BALANCE_RATIO, 100.0),
    "volume balance %": (Metric.VOLUME_BALANCE_RATIO, 100.0),
    "CPU %": (Metric.CPU_RATIO, 100.0),
}


def _line(interval: Any) -> str:
    rate = format_bytes_per_s if str(interval.dimension) == "throughput" else format_ops_per_s
    minutes = (interval.end_s - interval.start_s) / 60
    legacy = f" (was {interval.former_phase})" if interval.former_phase else ""
    return (
        f"  {format_clock(interval.start_s)} {minutes:6.0f} min  {rate(interval.level):>14s}"
        f"  {interval.family} {interval.phase}{legacy}"
    )


def text(incident: Incident, found: Sequence[Any], faults: Sequence[str]) -> str:
    """Format machine, truth and diagnosis as lines."""
    machine, truth = incident.machine, incident.truth
    lines = [
        f"simulated incident {incident.seed}, family {incident.family}, {truth.period_s}-s samples",
        f"  described: {machine.db_class} {machine.engine} launched {machine.launched}",
        f"             {machine.disk}",
        (f"  enforced:  {machine.row.db_class} ({machine.row.kind}) {machine.row.tput} {machine.row.iops}"),
        f"             {machine.real_disk}",
        f"             extra {machine.extra}, not enforced: {sorted(machine.replaced)}",
        f"  faults: {', '.join(faults) or 'none'}",
        "true intervals:",
        *(_line(i) for i in truth.intervals),
        "detected intervals:",
        *(_line(i) for i in found),
    ]
    return "\n".join(lines)


def _samples(incident: Incident) -> list[dict[str, Any]]:
    series = incident.snapshot.series
    rows: list[dict[str, Any]] = []

    def add(panel: str, part: str, metric: Metric, factor: float) -> None:
        if metric not in series:
            return
        s = series[metric]
        skip = max(s.time_s.size // 1500, 1)
        rows.extend(
            {"panel": panel, "part": part, "t": int(t) * 1000, "v": float(v)}
            for t, v in zip(s.time_s[::skip], s.value[::skip] * factor, strict=True)
        )

    for panel, (read, write, factor) in PAIRS.items():
        if panel.startswith("latency"):
            add(panel, "read", read, factor)
            add(panel, "write", write, factor)
        elif read in series and write in series:
            common, a, b = np.intersect1d(series[read].time_s, series[write].time_s, return_indices=True)
            total = (series[read].value[a] + series[write].value[b]) * factor
            skip = max(common.size // 1500, 1)
            rows.extend(
                {"panel": panel, "part": "sum", "t": int(t) * 1000, "v": float(v)}
                for t, v in zip(common[::skip], total[::skip], strict=True)
            )
    for panel, (metric, factor) in SINGLES.items():
        add(panel, "value", metric, factor)
    return rows


def draw(incident: Incident, found: Sequence[Any], faults: Sequence[str]) -> bytes:
    """Draw a PNG: one panel per quantity; true intervals green, detected ones red on the first panels."""
    import altair as alt
    import vl_convert

    spans = [
        {"t": i.start_s * 1000, "e": i.end_s * 1000, "kind": kind}
        for kind, many in (("true", incident.truth.intervals), ("detected", found))
        for i in many
    ]
    kinds = alt.Scale(domain=["true", "detected"], range=["#2a9d3a", "#d03030"])
    band = (
        alt.Chart(alt.Data(values=spans))
        .mark_bar(opacity=0.8, height=8)
        .encode(
            x=alt.X("t:T", title=None),
            x2="e:T",
            y=alt.Y("kind:N", title=None),
            color=alt.Color("kind:N", scale=kinds, legend=None),
        )
        .properties(width=1100, height=40)
    )
    rows = _samples(incident)
    panels = [band]
    for panel in (*PAIRS, *SINGLES):
        part = [r for r in rows if r["panel"] == panel]
        if part:
            kind = "log" if panel in ("latency ms", "queue") else "linear"
            shown = [r for r in part if kind == "linear" or r["v"] > 0]
            panels.append(
                alt.Chart(alt.Data(values=shown))
                .mark_line(strokeWidth=0.8)
                .encode(
                    x=alt.X("t:T", title=None),
                    y=alt.Y("v:Q", title=panel, scale=alt.Scale(type=kind)),
                    color=alt.Color("part:N", legend=None),
                )
                .properties(width=1100, height=110)
            )
    title = f"simulated {incident.family} {incident.seed}: {', '.join(faults) or 'as it happened'}"
    chart = alt.vconcat(*panels, title=title).resolve_scale(x="shared", color="independent")
    png: bytes = vl_convert.vegalite_to_png(chart.to_json())
    return png


def save(folder: Path, incident: Incident, found: Sequence[Any], faults: Sequence[str]) -> None:
    """Write `<family>-<seed>.png` and `.txt`."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{incident.family}-{incident.seed}"
    (folder / f"{name}.png").write_bytes(draw(incident, found, faults))
    (folder / f"{name}.txt").write_text(text(incident, found, faults) + "\n")
