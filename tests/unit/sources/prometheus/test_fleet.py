"""Many instances of one server: each is read by itself, and one never costs the others."""

import json

import numpy as np
import pytest

from fixtures.prometheus.expositions import QONTO, Series, history
from fixtures.prometheus.servers import Double, error
from plimsoll.app.options import ReadOptions
from plimsoll.app.read import read_prometheus_instances
from plimsoll.app.targets import Prometheus
from plimsoll.cli.commands import run
from plimsoll.errors import SourceError, Unreachable, UsageError
from plimsoll.model.metric import Metric
from plimsoll.model.overview import UnreadInstance
from plimsoll.sources.prometheus.client import Allowance, Bounds
from plimsoll.sources.prometheus.read import read_prometheus, read_prometheus_fleet, server_of
from plimsoll.units import format_time

START_S = 1_615_161_600
COUNT = 60
MINUTES_MS = 1000 * (START_S + 60 * np.arange(COUNT))
WINDOW = (START_S, START_S + 60 * COUNT)
NAMES = ("orders-replica", "billing", "orders-primary")


def series(*names: str) -> list[Series]:
    """An hour of every metric of each instance."""
    return [
        Series(labels={**one.labels, "dbidentifier": name}, time_ms=one.time_ms, value=one.value)
        for at, name in enumerate(names, start=1)
        for one in history("qonto", MINUTES_MS, {theirs: np.full(COUNT, float(at)) for theirs in QONTO.values()})
        if one.labels.get("dbidentifier") == "orders-primary"
    ]


def server_at(double: Double, *match: str):
    return server_of(double.url, match=match, headers=(), environment={})


def fleet(double: Double, pattern: str = "*", **options):
    """The instances of a server as they come."""
    return read_prometheus_fleet(server_at(double), WINDOW, pattern, sleep=lambda _: None, **options)


def test_every_instance_of_a_server_is_read_in_the_order_of_names():
    """
    Each with its own samples and the window that was asked for. A pattern names some of them, upper and
    lower case alike; none that fits is said with what there is.
    """
    with Double(series(*NAMES)) as double:
        found = list(fleet(double))
        some = list(fleet(double, "ORDERS-*"))
        with pytest.raises(UsageError, match="none of the 3 instances of") as caught:
            next(fleet(double, "shop-*"))

    assert sorted(NAMES) == [s.instance.identifier for s in found]
    assert [2.0, 3.0, 1.0] == [s.series[Metric.READ_OPS_PER_S].value[0] for s in found]
    assert {WINDOW} == {s.asked_s for s in found}
    assert 2 == len(some)
    assert "Instances there: billing, orders-primary, orders-replica." in caught.value.hint


def test_only_those_that_are_chosen_are_read():
    """Listing costs one request, and no samples of the others."""
    with Double(series(*NAMES)) as double:
        named: list[str] = []
        none = list(fleet(double, is_chosen=lambda name: bool(named.append(name))))
        listed = [request.path for request in double.requests]
        one = list(fleet(double, is_chosen="billing".__eq__))

    assert (none, named) == ([], sorted(NAMES))
    assert {path.partition("?")[0] for path in listed} == {"/api/v1/series"}
    assert [s.instance.identifier for s in one] == ["billing"]


def test_one_that_cannot_be_read_does_not_cost_the_others():
    """The same name in two regions is ambiguous; it is named, and the next one is read."""
    held = series("billing", "orders", "shop")
    twins = [s for s in held if s.labels["dbidentifier"] == "orders"]
    for place in ("eu-west-1", "us-east-1"):
        held += [Series(labels={**s.labels, "aws_region": place}, time_ms=s.time_ms, value=s.value) for s in twins]
    with Double(held) as double:
        found = list(fleet(double))

    assert ["Snapshot", "UnreadInstance", "Snapshot"] == [type(f).__name__ for f in found]
    assert isinstance(found[1], UnreadInstance)
    assert "'orders' is in 2 regions" in found[1].reason


def test_a_server_that_goes_away_ends_the_reading():
    """The next one would not be answered either."""
    with Double(series(*NAMES)) as double:
        stream = fleet(double)
        next(stream)
        double.wrong = [error(503, "gone")] * 9
        with pytest.raises(Unreachable):
            next(stream)


@pytest.mark.parametrize("unit", ["samples", "bytes"])
def test_a_reading_as_a_whole_is_bounded(unit):
    """Each answer is small and they are many: what was read is kept, and nothing more is asked for."""
    with Double(series(*NAMES)) as double:
        whole = Allowance(Bounds())
        read_prometheus(server_at(double), WINDOW, identifier="billing", allowance=whole)
        one = whole.taken[unit]
        asked = len(double.requests)
        found: list = []
        with pytest.raises(SourceError) as caught:
            found.extend(fleet(double, bounds=Bounds(**{f"read_{unit}_max": one * 5 // 2})))
        of_two = len(double.requests) - asked

    assert ["billing", "orders-primary"][: len(found)] == [s.instance.identifier for s in found]
    assert found
    assert f"{one * 5 // 2:,} {unit} from {double.url}" in caught.value.message
    assert of_two <= 3 * asked + 1


def test_a_command_keeps_what_was_read_before_the_bound(capsys, monkeypatch):
    """The rows that came are shown with the reason why there are no more, and the status says so."""
    options = ("--from", format_time(WINDOW[0]), "--to", format_time(WINDOW[1]))
    with Double(series(*NAMES)) as double:
        whole = Allowance(Bounds())
        read_prometheus(server_at(double), WINDOW, identifier="billing", allowance=whole)
        one = whole.taken["samples"]
        monkeypatch.setattr("plimsoll.sources.prometheus.read.Bounds", lambda: Bounds(read_samples_max=one))
        target = ["diagnose", f"prom:{double.url}", "--identifier", "*", "--format", "json"]
        status = run([*target, *options])
    document = json.loads(capsys.readouterr().out)

    assert 2 == status
    assert ["billing"] == [row["identifier"] for row in document["rows"]]
    assert f"one command reads at most {one:,} samples" in document["stopped"]


def test_the_table_names_the_server_without_its_password():
    """The address stands at the head of the table."""
    _, address = read_prometheus_instances(Prometheus("http://ann:hunter2@127.0.0.1:9"), "*", ReadOptions(), WINDOW)

    assert "prom:http://127.0.0.1:9" == address


def test_a_label_that_nothing_has_is_not_a_server_without_metrics():
    """The label of --match is misspelt: what the instances are called there is said."""
    cause = "has no series with dbident=orders"
    with Double(series(*NAMES)) as double, pytest.raises(UsageError, match=cause) as caught:
        read_prometheus(server_at(double, "dbident=orders"), WINDOW)

    assert "On this server, dbidentifier has billing, orders-primary, orders-replica" in caught.value.hint
