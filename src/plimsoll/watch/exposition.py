"""Samples as text: OpenMetrics where it is asked for, or else Prometheus's older format."""

import gzip
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from plimsoll.model.visible import visible
from plimsoll.watch.law.metrics import METRIC_TABLE, ExposedMetric, MetricSample

# Of zlib: the fastest level makes a tenth of the text, and slower ones hardly less.
_LEVEL = 1


class _Samples(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def exposition(
    samples: Iterable[MetricSample], *, accept: str, accept_encoding: str = ""
) -> tuple[bytes, dict[str, str]]:
    """
    Return the text of samples and of this process's own resources, and its headers.

    Args:
        samples: of metrics of `METRIC_TABLE`.
        accept: header `Accept` of the request; empty for none.
        accept_encoding: header `Accept-Encoding`; empty for none.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Samples(list(_families(samples))))
    # Memory, processor time and open files, by the names that every exporter has.
    ProcessCollector(registry=registry)
    encode, content_type = choose_encoder(accept)
    body, headers = encode(registry), {"Content-Type": content_type}
    if any(part.partition(";")[0].strip() == "gzip" for part in accept_encoding.split(",")):
        return gzip.compress(body, _LEVEL), headers | {"Content-Encoding": "gzip"}
    return body, headers


def _families(samples: Iterable[MetricSample]) -> Iterator[Metric]:
    by_name: dict[str, list[MetricSample]] = {}
    for sample in samples:
        by_name.setdefault(sample.name, []).append(sample)
    for metric in METRIC_TABLE:
        if found := by_name.get(metric.name):
            yield _family(metric, found)


def _family(metric: ExposedMetric, samples: list[MetricSample]) -> Metric:
    if metric.kind == "info":
        info = InfoMetricFamily(metric.name.removesuffix("_info"), metric.meaning)
        for one in samples:
            labels = dict(zip(metric.labels, map(visible, one.labels), strict=True))
            info.add_metric([], labels)
        return info
    family = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    found = family(metric.name, metric.meaning, labels=metric.labels)
    for one in samples:
        found.add_metric(list(map(visible, one.labels)), one.value)
    return found
