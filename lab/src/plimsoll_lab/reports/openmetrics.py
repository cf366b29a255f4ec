"""
The last samples of a snapshot as OpenMetrics text, for the textfile collector of node_exporter.

Our own prefix, base units, and the three labels by which exporters of RDS metrics are joined
(`aws_account_id`, `aws_region`, `dbidentifier`). Every family is a gauge, and no sample has a time:
the textfile collector takes neither other types nor times. When a sample was taken is a gauge too.

Source:
    OpenMetrics 1.0 (text format, escaping, `# EOF`); node_exporter, README, "Textfile Collector".
"""

from collections.abc import Iterator, Mapping

import numpy as np

from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.visible import visible

PREFIX = "plimsoll_"

# Our own unit words, which end the name of a metric, and the base units of OpenMetrics.
_ENDINGS = (
    ("_ops_per_s", "_operations_per_second"),
    ("_bytes_per_s", "_bytes_per_second"),
    ("transactions_per_s", "transactions_per_second"),
    ("rollbacks_per_s", "rollbacks_per_second"),
    ("arrivals_per_s", "arrivals_per_second"),
    ("completions_per_s", "completions_per_second"),
    ("_latency_s", "_latency_seconds"),
)


def render_openmetrics(snapshot: Snapshot, *, account_id: str = "") -> str:
    """
    Return the snapshot's last samples.

    Args:
        snapshot: any; a series without samples is left out, since what is missing is not zero.
        account_id: number of the AWS account; empty where there is none.
    """
    instance = snapshot.instance
    identity = {"aws_account_id": account_id, "aws_region": instance.region or "", "dbidentifier": instance.identifier}
    facts = {
        "instance_class": instance.db_class or "",
        "storage_type": instance.storage.kind or "",
        "engine": instance.engine or "",
        "source": snapshot.source,
    }
    # Not a label: a note that changes would begin a new series each time.
    described = f"what the samples are of. {snapshot.note}".rstrip()
    lines = [*_family("instance_info", described), _sample("instance_info", {**identity, **facts}, 1.0)]
    times = []
    for metric, time_s, value in _last(snapshot):
        name = name_of(metric)
        lines += _family(name, METRICS[metric].meaning)
        lines.append(_sample(name, identity, value))
        times.append(time_s)
    if times:
        name = "sample_timestamp_seconds"
        lines += _family(name, "start of the last sample, in seconds since 1970")
        lines.append(_sample(name, identity, float(max(times))))
    return "\n".join([*lines, "# EOF"]) + "\n"


def name_of(metric: Metric) -> str:
    """Return a metric's name without prefix, with its unit spelled out: `read_bytes_per_second`."""
    name = metric.value
    for ours, theirs in _ENDINGS:
        if name.endswith(ours):
            return name.removesuffix(ours) + theirs
    return name


def _last(snapshot: Snapshot) -> Iterator[tuple[Metric, int, float]]:
    for metric in Metric:
        series = snapshot.series.get(metric)
        if series is None:
            continue
        known = np.flatnonzero(np.isfinite(series.value))
        if known.size:
            at = int(known[-1])
            yield metric, int(series.time_s[at]), float(series.value[at])


def _family(name: str, meaning: str) -> list[str]:
    return [f"# TYPE {PREFIX}{name} gauge", f"# HELP {PREFIX}{name} {_escaped(meaning)}"]


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{PREFIX}{name}{{{pairs}}} {value!r}"


def _escaped(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
