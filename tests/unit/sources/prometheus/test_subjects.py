"""Which instance is meant: what is found is listed, nothing is guessed, no two are added up."""

import pytest

from fixtures.prometheus.expositions import Series, history
from plimsoll.errors import DataError, UsageError
from plimsoll.model.metric import Metric
from unit.sources.prometheus.test_read import MINUTES_MS, SCRAPES_MS, START_S, read

QONTO = history("qonto", SCRAPES_MS)


def test_two_hosts_of_one_name_are_not_added_up():
    """The label that tells them apart is named."""
    here = history("node_exporter", SCRAPES_MS, target={"instance": "10.0.0.1:9100", "site": "a"})
    there = [Series(labels={**s.labels, "site": "b"}, time_ms=s.time_ms, value=s.value + 5e6) for s in here]
    with pytest.raises(UsageError) as raised:
        read([*here, *there], "instance=10.0.0.1:9100")

    assert "two hosts have the name '10.0.0.1:9100'" == raised.value.message
    assert "--match site=a" in raised.value.hint
    assert read([*here, *there], "instance=10.0.0.1:9100", "site=b").series


def test_a_host_may_be_named_without_its_port():
    page = history("node_exporter", SCRAPES_MS, target={"job": "node", "instance": "db1:9100"})

    assert "db1:9100" == read(page, identifier="DB1").instance.identifier


def test_a_match_on_one_exporters_label_finds_the_instance_of_the_others():
    """Who writes dbidentifier=… means the instance, not the exporter."""
    series = history("qonto", SCRAPES_MS) + history("yace", SCRAPES_MS)
    snapshot = read(series, "dbidentifier=orders-primary")

    assert Metric.BYTE_BALANCE_RATIO in snapshot.series


@pytest.mark.parametrize(
    ("series", "match", "identifier", "cause", "hint"),
    [
        (
            *(QONTO, [], None, "the server has metrics of 2 instances"),
            "Choose one with --match: dbidentifier=orders-primary, dbidentifier=orders-replica.",
        ),
        (QONTO, ["dbidentifier=oders"], None, "series with dbidentifier=oders", "orders-primary"),
        (QONTO, ["team=x"], None, "no series with team=x", "orders-primary"),
        (QONTO, [], "oders", "series with instance 'oders'", "dbidentifier has orders-primary"),
        ([], [], None, "no metrics of a known exporter", "node_exporter"),
    ],
)
def test_nothing_that_fits_tells_what_there_is(series, match, identifier, cause, hint):
    with pytest.raises(UsageError) as raised:
        read(series, *match, identifier=identifier)

    assert cause in raised.value.message
    assert hint in raised.value.hint


def test_the_same_name_in_two_regions_is_two_instances():
    """They are told apart by the label that the exporter has for it."""
    here = history("qonto", SCRAPES_MS)
    there = [Series(labels={**s.labels, "aws_region": "us-east-1"}, time_ms=s.time_ms, value=s.value) for s in here]
    with pytest.raises(UsageError) as raised:
        read([*here, *there], "dbidentifier=orders-primary")
    snapshot = read([*here, *there], "dbidentifier=orders-primary", "aws_region=us-east-1")

    assert "is in 2 regions" in raised.value.message
    assert "aws_region=us-east-1" in raised.value.hint
    assert "us-east-1" == snapshot.instance.region


def test_series_without_samples_in_the_window_are_no_diagnosis():
    """A server lists series by block; this one has samples before and after only."""
    series = history("cloudwatch_exporter", MINUTES_MS[[0, -1]])
    inside = (START_S + 600, START_S + 1200)
    with pytest.raises((DataError, UsageError)) as raised:
        read(series, "dbinstance_identifier=orders-primary", window_s=inside)

    assert "this window" in raised.value.message
