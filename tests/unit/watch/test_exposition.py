"""The text that a scrape gets, as Prometheus's own library reads it."""

import gzip

from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as old_text

from plimsoll.watch.exposition import exposition
from plimsoll.watch.law.metrics import ALERT, BUILD, OWNER, POLLS, MetricSample

SAMPLES = (
    MetricSample(name=BUILD.name, labels=("1.2",), value=1.0),
    MetricSample(name=OWNER.name, value=1.0),
    MetricSample(name=POLLS.name, labels=('rds:"*"\n',), value=3.0),
)
OPEN = "application/openmetrics-text;version=1.0.0;q=0.9,text/plain;version=0.0.4;q=0.5"


def test_openmetrics_is_negotiated():
    """A parser of OpenMetrics reads kinds, and a label of any text."""
    body, headers = exposition(SAMPLES, accept=OPEN)

    families = {one.name: one for one in open_metrics(body.decode())}
    assert headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert body.endswith(b"# EOF\n")
    assert ("info", "counter") == (families["plimsoll_build"].type, families["plimsoll_watch_polls"].type)
    (polls,) = families["plimsoll_watch_polls"].samples
    assert ({"target": 'rds:"*"\n'}, 3.0) == (polls.labels, polls.value)


def test_the_older_format_is_the_default():
    """The same names for everybody who asks for nothing."""
    body, headers = exposition(SAMPLES, accept="")

    names = {s.name for family in old_text(body.decode()) for s in family.samples}
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert {BUILD.name, OWNER.name, POLLS.name, "process_resident_memory_bytes"} <= names


def test_a_metric_without_a_sample_is_left_out():
    """Neither its name nor its help."""
    assert ALERT.name.encode() not in exposition(SAMPLES, accept="")[0]


def test_text_is_packed_for_those_who_take_it():
    """Prometheus asks for gzip."""
    body, headers = exposition(SAMPLES, accept="", accept_encoding="gzip, deflate")

    assert headers["Content-Encoding"] == "gzip"
    assert b"plimsoll_watch_lease_owner 1.0" in gzip.decompress(body)
